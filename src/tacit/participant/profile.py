"""A participant's folder: join a platform, and keep what this machine signs, seals and shows.

::

    profile.json            the platform's address, the account and its token
    ca.pem                  the platform's certificate, if it was pinned
    NAME.key                the secret keys
    trust.toml              keys of nodes and participants that came over another channel
    runs/RUN/agreement.json     what this machine signed
    runs/RUN/manifest-0-1.json  what it sealed: objective 0, first time; never a weight or a share
    runs/RUN/sealed-0.json      keyed hashes of these rows, to notice when they are sealed again
    runs/RUN/reviewed           the hash of the agreement that it showed last for a review
    runs/RUN/shown.json         the result that it showed last: plans, values, what is proved
    runs/RUN/parts.json         what binds the nodes to one's part of a plan for its owners
    runs/RUN/receipts.jsonl     heads of the nodes' logs, signed by them

All files can be read by their owner alone. `series_records` has what is kept of series.
"""

from __future__ import annotations

import fcntl
import os
import re
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from tacit.agreement import Agreement, Joining, canonical, read_agreement, sign_joining
from tacit.client import (
    InvitationFile,
    PlatformClient,
    checked_url,
    pinned_if_accepted,
    read_pem,
)
from tacit.errors import (
    AgreementError,
    CredentialError,
    FileError,
    ForbiddenError,
    InputError,
    NotThereError,
    TrustError,
)
from tacit.files import check_secret, other_version, read_bytes, replace_secret, writing
from tacit.identity import Keys, load_keys, save_keys
from tacit.plain_text import decoders_words


def replace_private(path: Path, data: bytes, /) -> None:
    """Write a file that only its owner can read, whole or not at all."""
    with writing(path, remedy="make room, or choose another --profile"):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_secret(path, data)


@contextmanager
def changing(path: Path, /) -> Iterator[None]:
    """Lock a file between reading and writing it: `follow` and `log` may run at the same time."""
    # A file of its own: `replace_private` renames, so a lock on the old file would hold nobody.
    lock = path.with_name(f".{path.name}.lock")
    with writing(lock, remedy="make room, or choose another --profile"):
        lock.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        held = lock.open("wb")
    with held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


FORMAT: Literal["tacit-profile/1"] = "tacit-profile/1"
_RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", re.ASCII)


class _ProfileFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    format: Literal["tacit-profile/1"]
    url: str
    account: str
    token: str
    expires: float
    key: str


def default_folder() -> Path:
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "tacit"


@dataclass(frozen=True, repr=False)
class Profile:
    """An account at a platform, and what this machine has signed and sealed for it."""

    folder: Path
    url: str
    account: str
    token: str
    expires: float
    key_file: Path

    @property
    def ca(self) -> Path | None:
        path = self.folder / "ca.pem"
        return path if path.exists() else None

    @property
    def trust_file(self) -> Path:
        return self.folder / "trust.toml"

    def __repr__(self) -> str:
        return f"Profile({self.account!r} at {self.url}, {self.folder})"

    def keys(self) -> Keys:
        return load_keys(self.key_file)

    def connect(self) -> PlatformClient:
        return PlatformClient(self.url, token=self.token, ca=self.ca)

    def save(self) -> None:
        # By its bare name, so that the folder can be moved as a whole.
        inside = self.key_file.resolve().parent == self.folder.resolve()
        key = self.key_file.name if inside else str(self.key_file.resolve())
        stored = _ProfileFile(FORMAT, self.url, self.account, self.token, self.expires, key)
        data = msgspec.json.format(msgspec.json.encode(stored), indent=2) + b"\n"
        replace_private(self.folder / "profile.json", data)

    def run_folder(self, run: str, /) -> Path:
        """The folder of a run's files; refuses a name that could lead out of the profile."""
        if not _RUN.fullmatch(run):
            raise InputError(f"{run[:70]!r} is not a run; tacit participant runs lists yours")
        return self.folder / "runs" / run

    def signed_agreement(self, run: str, /) -> Agreement | None:
        """The agreement that this machine signed for a run, or None."""
        path = self.run_folder(run) / "agreement.json"
        if not path.exists():
            return None
        # Whoever can write this file decides under which terms this machine seals costs.
        check_secret(path, remedy="chmod 600 it")
        try:
            return read_agreement(path.read_bytes())
        except AgreementError as error:
            raise FileError(path, None, "was changed", f"restore it: {error}") from None

    def need_signed_agreement(self, run: str, /) -> Agreement:
        """The agreement that this machine signed for a run; without one nothing is sealed."""
        signed = self.signed_agreement(run)
        if signed is None:
            raise TrustError(
                f"this machine has signed nothing for {run}; run tacit participant review {run}, "
                f"then tacit participant sign {run}"
            )
        return signed

    def keep_agreement(self, run: str, agreement: Agreement, /) -> None:
        """Remember what is about to be signed."""
        self.keep(run, "agreement.json", canonical(agreement))

    def read(self, run: str, name: str, /) -> bytes | None:
        """A file that was kept of a run, or None."""
        path = self.run_folder(run) / name
        return path.read_bytes() if path.exists() else None

    def keep(self, run: str, name: str, data: bytes, /) -> None:
        """Write a file of a run; the table of the module has their names."""
        replace_private(self.run_folder(run) / name, data)

    def manifests(self, run: str, objective: int, /) -> list[bytes]:
        """The manifests of what this machine sealed for an objective, the latest last."""
        return [path.read_bytes() for _, path in self._manifests(run, objective)]

    def _manifests(self, run: str, objective: int) -> list[tuple[int, Path]]:
        paths = self.run_folder(run).glob(f"manifest-{objective}-*.json")
        return sorted((int(path.stem.split("-")[2]), path) for path in paths)

    def keep_manifest(self, run: str, objective: int, manifest: bytes, /) -> None:
        """Remember what is about to be uploaded."""
        # Never over an earlier one: rows that the nodes refused have left this machine all the
        # same.
        version = self.next_version(run, objective)
        self.keep(run, f"manifest-{objective}-{version}.json", manifest)

    def next_version(self, run: str, objective: int, /) -> int:
        """The version to seal an objective's rows under: it voids all that left this machine."""
        return max((version for version, _ in self._manifests(run, objective)), default=0) + 1


def load_profile(folder: Path | None = None, /) -> Profile:
    folder = folder or default_folder()
    path = folder / "profile.json"
    if not path.exists():
        remedy = "run tacit participant join with your invitation"
        raise FileError(folder, None, "there is no profile in it", remedy)
    check_secret(path, remedy="join again")  # it holds the token
    data = read_bytes(path, remedy="join again")
    try:
        stored = msgspec.json.decode(data, type=_ProfileFile)
    except msgspec.DecodeError as error:
        what = other_version(data, FORMAT) or f"is not a profile ({decoders_words(error)})"
        raise FileError(path, None, what, "join again") from None
    return Profile(
        folder, stored.url, stored.account, stored.token, stored.expires, folder / stored.key
    )


def new_key_file(name: str, folder: Path, /) -> Path:
    """Draw keys into NAME.key in a profile's folder, readable by its owner alone."""
    # The name may come from an invitation, and must not lead out of the folder.
    if not name or Path(name).name != name:
        raise InputError(f"{name!r} is not a name for a key; use letters and digits")
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / f"{name}.key"
    save_keys(Keys.new(name), path)
    return path


def find_key_file(folder: Path, /) -> Path:
    """The only key in a profile's folder."""
    found = sorted(folder.glob("*.key"))
    if not found:
        remedy = "run tacit participant keys new NAME first"
        raise FileError(folder, None, "there is no key in it", remedy)
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        raise FileError(folder, None, f"there are several keys ({names})", "choose one with --key")
    return found[0]


def join(
    url: str,
    code: str,
    /,
    *,
    profile: Path | None = None,
    key: Path | None = None,
    ca: Path | None = None,
    certificate: str | None = None,
    account: str | None = None,
) -> Profile:
    """Hand in an invitation; the token comes into the profile's folder and is shown nowhere.

    The platform's certificate is pinned: from the file `ca`, or as the text `certificate`.

    What is handed in counts at this address and for this account alone: the one that is named, or
    that of the profile, or the one that the key is called after.

    Whoever has joined before, and whose token has expired, joins again with a new code.
    """
    folder, url = profile or default_folder(), checked_url(url)
    old = load_profile(folder) if (folder / "profile.json").exists() else None
    # Records of another platform's runs would be compared with this one's.
    if old is not None and old.url != url:
        raise FileError(
            folder, None, f"has the profile of {old.account!r} at {old.url}", "give --profile DIR"
        )
    key_file = key or find_key_file(folder)
    keys = load_keys(key_file)
    name = unicodedata.normalize("NFC", account or (keys.name if old is None else old.account))
    if ca is not None:
        certificate = read_pem(ca)

    # The signature names code, account and platform: a platform in the middle that passes it on
    # to another gains nothing.
    def signed(platform: str) -> bytes:
        return sign_joining(Joining(code, name, platform), keys.signing)

    with pinned_if_accepted(folder, certificate) as seen, PlatformClient(url, ca=seen) as client:
        try:
            joined = client.join(code, signing_key=keys.signing_public, sign=signed, account=name)
        except (CredentialError, ForbiddenError, NotThereError):
            raise CredentialError(
                "the platform does not take this invitation: it was used, has expired or was "
                "mistyped; ask the operator for a new one"
            ) from None
        if joined.account != name:
            raise TrustError(
                f"the platform says that you are {joined.account!r}, and you joined as {name!r}; "
                "ask its operator over another channel"
            )
    joined_as = Profile(folder, url, joined.account, joined.token, joined.expires, key_file)
    joined_as.save()
    return joined_as


def accept(
    invitation: InvitationFile,
    /,
    *,
    profile: Path | None = None,
    key: Path | None = None,
    account: str | None = None,
) -> tuple[Profile, Path | None]:
    """Join with an invitation. Draws keys if the folder has none, and returns their file."""
    folder, named, new_key = profile or default_folder(), invitation.account, None
    if named and account not in (None, named):
        raise InputError(f"the invitation is for {named!r}; leave --as out")
    if named and key is None and not list(folder.glob("*.key")):
        key = new_key = new_key_file(named, folder)
    joined_as = join(
        invitation.url,
        invitation.code,
        profile=folder,
        key=key,
        certificate=invitation.certificate,
        account=named or account,
    )
    return joined_as, new_key
