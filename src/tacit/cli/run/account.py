"""An operator's account on this machine, for `tacit run` and `tacit series`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.errors import FileError, InputError
from tacit.plain_text import decoders_words, plain_line

if TYPE_CHECKING:
    from tacit.client import JoinAnswer, PlatformClient

ENVIRONMENT = ("TACIT_URL", "TACIT_TOKEN", "TACIT_CA")


def operators_folder() -> Path:
    """Where the account is kept."""
    from tacit.participant import default_folder

    return default_folder() / "operator"


def operators_client() -> PlatformClient:
    """A connection with the operator's token, from the environment or from `sign-in`."""
    import msgspec

    from tacit.client import PlatformClient
    from tacit.files import check_secret

    url, token, ca = (os.environ.get(name) for name in ENVIRONMENT)
    if url and token:
        return PlatformClient(url, token=token, ca=Path(ca) if ca else None)
    path = operators_folder() / "account.json"
    if not path.exists():
        raise InputError(
            "nobody has signed in on this machine; run tacit run sign-in with your invitation file"
        )
    check_secret(path, remedy="sign in again")
    try:
        kept = msgspec.json.decode(path.read_bytes(), type=dict[str, str])
        url, token = kept["url"], kept["token"]
    except (msgspec.DecodeError, KeyError) as error:
        raise FileError(
            path, None, f"was changed ({decoders_words(error)})", "sign in again"
        ) from None
    pinned = operators_folder() / "ca.pem"
    return PlatformClient(url, token=token, ca=pinned if pinned.exists() else None)


def sign_in(
    invitation: Annotated[
        str, typer.Argument(help="An invitation file, or the platform's address.")
    ],
    code: Annotated[
        str | None, typer.Argument(help="With an address: an operator's code; it works once.")
    ] = None,
    ca: Annotated[
        Path | None, typer.Option(help="With an address: the platform's certificate, to pin it.")
    ] = None,
) -> None:
    """Hand in an operator's invitation; the token is kept for you alone and shown nowhere."""
    import msgspec

    from tacit.cli.run.invitations import opened_invitation
    from tacit.client import PlatformClient
    from tacit.files import replace_secret

    folder = operators_folder()
    given = opened_invitation(invitation, code, ca)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    # What was pinned before stays so until the platform has taken the invitation.
    pinned, new = folder / "ca.pem", folder / "ca.new"
    try:
        if given.certificate is not None:
            replace_secret(new, given.certificate.encode())
        seen = new if given.certificate is not None else None
        with PlatformClient(given.url, ca=seen) as client:
            joined = _joined(client, given.code)
        pinned.unlink(missing_ok=True)
        kept = {"url": client.url, "account": joined.account, "token": joined.token}
        replace_secret(folder / "account.json", msgspec.json.encode(kept))
        if seen is not None:
            new.replace(pinned)
    finally:
        new.unlink(missing_ok=True)
    typer.echo(plain_line(f"you are {joined.account!r} ({joined.role}) at {client.url}"))


def _joined(client: PlatformClient, code: str) -> JoinAnswer:
    from tacit.errors import CredentialError

    try:
        joined = client.join(code, label="tacit run")
    except CredentialError:
        raise CredentialError(
            "the platform does not take this invitation: it was used, has expired or was "
            "mistyped; make a new one with tacit service invite"
        ) from None
    if joined.role == "participant":
        raise InputError("this is the invitation of a participant; take an operator's")
    return joined


def json_file(path: Path, /) -> Any:  # noqa: ANN401 - whatever the platform then refuses
    """What a file with JSON has in it."""
    import json

    from tacit.files import read_text

    try:
        return json.loads(read_text(path))
    except ValueError as error:
        raise FileError(path, None, f"is not JSON ({error})", "correct it") from None


def json_object(path: Path, /) -> dict[str, Any]:
    """A JSON object from a file."""
    found = json_file(path)
    if not isinstance(found, dict):
        raise FileError(path, None, "is not a JSON object", "write its fields in { }")
    return found
