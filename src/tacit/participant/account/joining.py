"""Becoming a participant: an invitation is handed in once, and a profile remains."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import NamedTuple

from tacit.agreement import Joining, sign_joining
from tacit.client import JoinAnswer, PlatformClient, checked_url
from tacit.errors import (
    CredentialError,
    FileError,
    ForbiddenError,
    InputError,
    NotThereError,
    TrustError,
)
from tacit.identity import Keys, load_keys, read_certificate, save_keys
from tacit.participant.account.private_files import replace_private
from tacit.participant.account.profile import Profile, default_folder, load_profile


def new_key_file(name: str, folder: Path, /) -> Path:
    """Draw keys into NAME.key in a profile's folder, readable by its owner alone."""
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
    folder = profile or default_folder()
    url = checked_url(url)
    old = load_profile(folder) if (folder / "profile.json").exists() else None
    if old is not None and old.url != url:
        raise FileError(
            folder, None, f"has the profile of {old.account!r} at {old.url}", "give --profile DIR"
        )
    key_file = key or find_key_file(folder)
    keys = load_keys(key_file)
    named = account or (keys.name if old is None else old.account)
    named = unicodedata.normalize("NFC", named)
    pinned = folder / "ca.pem"
    if ca is not None:
        certificate = read_certificate(ca)
    # What was pinned before stays so until the platform has taken the invitation.
    new = pinned.with_suffix(".new")
    try:
        if certificate is not None:
            replace_private(new, certificate.encode())
        seen = (ca or new) if certificate is not None else pinned if pinned.exists() else None
        joined = _hand_in(url, Invited(code, named), keys, seen)
        if certificate is not None:
            new.replace(pinned)
    finally:
        new.unlink(missing_ok=True)
    made = Profile(folder, url, joined.account, joined.token, joined.expires, key_file)
    made.save()
    return made


class Invited(NamedTuple):
    """A code, and for whom it is."""

    code: str
    account: str


def _hand_in(url: str, given: Invited, keys: Keys, ca: Path | None) -> JoinAnswer:
    def signed(platform: str) -> bytes:
        return sign_joining(Joining(given.code, given.account, platform), keys.signing)

    with PlatformClient(url, ca=ca) as client:
        try:
            joined = client.join(
                given.code,
                signing_key=keys.signing_public,
                sign=signed,
                account=given.account,
            )
        except (CredentialError, ForbiddenError, NotThereError):
            raise CredentialError(
                "the platform does not take this invitation: it was used, has expired or was "
                "mistyped; ask the operator for a new one"
            ) from None
    if joined.account != given.account:
        raise TrustError(
            f"the platform says that you are {joined.account!r}, and you joined as "
            f"{given.account!r}; ask its operator over another channel"
        )
    return joined
