"""Invitations at the command line: as one file, or as an address and a code."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import typer

from tacit.client import SUFFIX, certificate_fingerprint, read_invitation
from tacit.errors import InputError
from tacit.plain_text import plain_line


@dataclass(frozen=True)
class Invitation:
    """Where to join, with which code, and whose certificate to pin."""

    url: str
    code: str
    certificate: str | None
    account: str | None = None


def opened_invitation(given: str, code: str | None, ca: Path | None, /) -> Invitation:
    """What somebody was invited with; shows the fingerprint of a certificate that is pinned."""
    if code is not None or given.startswith(("https://", "http://")):
        if code is None:
            raise InputError(f"give the code after the address, or an invitation file ({SUFFIX})")
        made = Invitation(given, code, None if ca is None else _pem(ca))
    else:
        if ca is not None:
            raise InputError("an invitation file has the certificate in it; leave --ca out")
        file = read_invitation(Path(given))
        made = Invitation(file.url, file.code, file.certificate, file.account)
    if made.certificate is not None:
        shown = certificate_fingerprint(made.certificate)
        typer.echo(plain_line(f"certificate to pin for {made.url}: {shown}"), err=True)
        typer.echo("compare it with the operator by phone before you sign anything", err=True)
    return made


def _pem(path: Path) -> str:
    from tacit.identity import read_certificate

    return read_certificate(path)
