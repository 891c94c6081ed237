"""An invitation as one file: where the platform is, its certificate, and the one-time code.

Whoever has the file can join in the account's place, so it goes over a channel that is private.
The certificate in it is only as good as that channel: the two of them compare its fingerprint.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

import msgspec

from tacit.client.certificates import certificate_fingerprint, checked_url, one_certificate
from tacit.errors import FileError, InputError
from tacit.files import other_version, read_bytes, replace_secret, writing
from tacit.plain_text import decoders_words, plain_line

FORMAT: Literal["tacit-invitation/1"] = "tacit-invitation/1"
SUFFIX = ".tacit"
_ACCOUNT = re.compile(r"[^\W_][\w.-]{0,62}")
_REMEDY = "ask the operator for a new one"


class InvitationFile(msgspec.Struct, frozen=True, kw_only=True):
    """What a newcomer needs, and nothing else."""

    format: Literal["tacit-invitation/1"] = FORMAT
    url: str
    account: str
    role: str
    code: str
    expires: float
    certificate: str | None = None
    """The platform's, in PEM; None where computers trust its authority anyway."""
    run: str | None = None
    """What it is invited to."""

    @property
    def fingerprint(self) -> str | None:
        """Of the certificate, to compare by phone."""
        return None if self.certificate is None else certificate_fingerprint(self.certificate)

    def save(self, path: Path, /) -> None:
        """Write it to a file that its owner alone can read."""
        with writing(path):
            replace_secret(path, self.as_file())

    def as_file(self) -> bytes:
        """What is in the file."""
        return msgspec.json.format(msgspec.json.encode(self), indent=2) + b"\n"


def _check_plain(found: InvitationFile) -> None:
    """Nothing in it moves a terminal's cursor, or leads out of a folder."""
    if not _ACCOUNT.fullmatch(found.account):
        raise ValueError("its account is not a name")
    if any(text != plain_line(text) for text in (found.url, found.code, found.role)):
        raise ValueError("there are signs in it that nobody sees")


def read_invitation(path: Path, /) -> InvitationFile:
    """Read an invitation file."""
    raw = read_bytes(path, remedy="check the path, or ask the operator for the file")
    try:
        found = msgspec.json.decode(raw, type=InvitationFile)
        checked_url(found.url)
        _check_plain(found)
        if found.certificate is not None:
            found = msgspec.structs.replace(found, certificate=one_certificate(found.certificate))
    except (msgspec.DecodeError, ValueError) as error:
        what = other_version(raw, FORMAT) or f"is not an invitation ({decoders_words(error)})"
        raise FileError(path, None, what, _REMEDY) from None
    except InputError as error:
        raise FileError(path, "url", str(error), _REMEDY) from None
    return found
