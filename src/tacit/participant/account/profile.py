"""A participant's folder: where the platform is, the token, the keys, and what was signed.

::

    profile.json            the platform's address, the account and its token
    ca.pem                  the platform's certificate, if it was pinned
    NAME.key                the secret keys
    trust.toml              keys of nodes and participants that came over another channel
    runs/RUN/agreement.json     what this machine signed
    runs/RUN/manifest-0-1.json  what it sealed: objective 0, first time; never a weight or a share
    runs/RUN/sealed-0.json      keyed hashes of these rows, to notice when they are sealed again
    runs/RUN/reviewed           the hash of the agreement that it showed last for a review
    runs/RUN/plan.json          the plan that it showed last
    runs/RUN/shown.json         what it showed with it: other plans, values, what is proved
    runs/RUN/parts.json         what binds the nodes to one's part of a plan for its owners
    runs/RUN/receipts.jsonl     heads of the nodes' logs, signed by them

All files can be read by their owner alone.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from tacit.agreement import Agreement, canonical, read_agreement
from tacit.client import PlatformClient
from tacit.errors import AgreementError, FileError, InputError, TrustError
from tacit.files import check_secret, other_version, read_bytes
from tacit.identity import Keys, load_keys
from tacit.participant.account.private_files import replace_private
from tacit.plain_text import decoders_words

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
    """Where the profile lies if nobody says otherwise."""
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
        """The pinned certificate of the platform, if there is one."""
        path = self.folder / "ca.pem"
        return path if path.exists() else None

    @property
    def trust_file(self) -> Path:
        """Where the pinned keys are kept, once there are some."""
        return self.folder / "trust.toml"

    def __repr__(self) -> str:
        return f"Profile({self.account!r} at {self.url}, {self.folder})"

    def keys(self) -> Keys:
        """The secret keys."""
        return load_keys(self.key_file)

    def connect(self) -> PlatformClient:
        """A connection with this account's token."""
        return PlatformClient(self.url, token=self.token, ca=self.ca)

    def save(self) -> None:
        """Write profile.json."""
        inside = self.key_file.resolve().parent == self.folder.resolve()
        key = self.key_file.name if inside else str(self.key_file.resolve())
        stored = _ProfileFile(FORMAT, self.url, self.account, self.token, self.expires, key)
        data = msgspec.json.format(msgspec.json.encode(stored), indent=2) + b"\n"
        replace_private(self.folder / "profile.json", data)

    # What was signed and sealed.

    def _run_folder(self, run: str) -> Path:
        if not _RUN.fullmatch(run):
            raise InputError(f"{run[:70]!r} is not a run; tacit participant runs lists yours")
        return self.folder / "runs" / run

    def signed_agreement(self, run: str, /) -> Agreement | None:
        """The agreement that this machine signed for a run, or None."""
        path = self._run_folder(run) / "agreement.json"
        if not path.exists():
            return None
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
        replace_private(self._run_folder(run) / "agreement.json", canonical(agreement))

    def reviewed_hash(self, run: str, /) -> str | None:
        """The hash of the agreement that this machine has shown last, before anything is signed."""
        path = self._run_folder(run) / "reviewed"
        return path.read_text().strip() if path.exists() else None

    def keep_reviewed(self, run: str, agreement_hash: str, /) -> None:
        """Remember which agreement somebody has read."""
        replace_private(self._run_folder(run) / "reviewed", f"{agreement_hash}\n".encode())

    def shown_plan(self, run: str, /) -> list[int] | None:
        """The plan that this machine has shown last for a run, or None."""
        path = self._run_folder(run) / "plan.json"
        try:
            return msgspec.json.decode(path.read_bytes(), type=list[int])
        except FileNotFoundError:
            return None
        except msgspec.DecodeError as error:
            raise FileError(
                path, None, f"was changed ({decoders_words(error)})", "remove it"
            ) from None

    def keep_shown_plan(self, run: str, items: list[int], /) -> None:
        """Remember which plan somebody has seen, to compare it with the one that is checked."""
        replace_private(self._run_folder(run) / "plan.json", msgspec.json.encode(items))

    def shown_result(self, run: str, /) -> bytes | None:
        """All that this machine has shown last of a result, or None."""
        path = self._run_folder(run) / "shown.json"
        return path.read_bytes() if path.exists() else None

    def keep_shown_result(self, run: str, data: bytes, /) -> None:
        """Remember what somebody was told with a plan, to hold it against the ledger."""
        replace_private(self._run_folder(run) / "shown.json", data)

    def own_heads(self, run: str, /) -> bytes | None:
        """What bound the nodes to the boxes with one's part of the plan, or None."""
        path = self._run_folder(run) / "parts.json"
        return path.read_bytes() if path.exists() else None

    def keep_own_heads(self, run: str, data: bytes, /) -> None:
        """Remember what bound the nodes to these boxes, to compare it with their logs."""
        replace_private(self._run_folder(run) / "parts.json", data)

    def receipt_lines(self, run: str, /) -> list[bytes]:
        """The receipts of the nodes that were kept for a run."""
        path = self._run_folder(run) / "receipts.jsonl"
        return path.read_bytes().splitlines() if path.exists() else []

    def keep_receipt_lines(self, run: str, lines: list[bytes], /) -> None:
        """Remember what the nodes said of their logs."""
        data = b"".join(line + b"\n" for line in lines)
        replace_private(self._run_folder(run) / "receipts.jsonl", data)

    def manifests(self, run: str, objective: int, /) -> list[bytes]:
        """What this machine sealed for an objective, the latest last."""
        paths = self._run_folder(run).glob(f"manifest-{objective}-*.json")
        return [p.read_bytes() for p in sorted(paths, key=lambda p: int(p.stem.split("-")[2]))]

    def hashes_file(self, run: str, objective: int, /) -> Path:
        """Where the hashes of the rows are that this machine sealed for an objective."""
        return self._run_folder(run) / f"sealed-{objective}.json"

    def keep_manifest(self, run: str, objective: int, manifest: bytes, /) -> None:
        """Remember what is about to be uploaded."""
        count = len(self.manifests(run, objective)) + 1
        replace_private(self._run_folder(run) / f"manifest-{objective}-{count}.json", manifest)


def load_profile(folder: Path | None = None, /) -> Profile:
    """Read the profile in a folder."""
    folder = folder or default_folder()
    path = folder / "profile.json"
    if not path.exists():
        remedy = "run tacit participant join with your invitation"
        raise FileError(folder, None, "there is no profile in it", remedy)
    check_secret(path, remedy="join again")
    data = read_bytes(path, remedy="join again")
    try:
        stored = msgspec.json.decode(data, type=_ProfileFile)
    except msgspec.DecodeError as error:
        what = other_version(data, FORMAT) or f"is not a profile ({decoders_words(error)})"
        raise FileError(path, None, what, "join again") from None
    return Profile(
        folder, stored.url, stored.account, stored.token, stored.expires, folder / stored.key
    )
