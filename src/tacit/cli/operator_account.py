"""An operator's account on this machine: sign in, connect, and choose how to be notified."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli.printing import echo, echo_json
from tacit.errors import CredentialError, FileError, InputError
from tacit.plain_text import decoders_words

if TYPE_CHECKING:
    from tacit.client import InvitationFile, PlatformClient

ENVIRONMENT = ("TACIT_URL", "TACIT_TOKEN", "TACIT_CA")

Given = Annotated[str, typer.Argument(help="An invitation file, or the platform's address.")]
Code = Annotated[
    str | None, typer.Argument(help="With an address: the one-time code of the invitation.")
]
Ca = Annotated[
    Path | None, typer.Option(help="With an address: the platform's certificate, to pin it.")
]
Mail = Annotated[str | None, typer.Option(help="Your mail address; '' removes it.")]
Test = Annotated[
    bool, typer.Option("--test", help="Send a test message, and wait until it has arrived.")
]
TEST_SECONDS = 60.0
AddWebhook = Annotated[str | None, typer.Option("--webhook", help="An https:// address to call.")]
RemoveWebhook = Annotated[str | None, typer.Option("--remove", help="A webhook, by its id.")]


def operators_folder() -> Path:
    from tacit.participant import default_folder

    return default_folder() / "operator"


def operators_client() -> PlatformClient:
    """A connection with the operator's token, from the environment or from `sign-in`."""
    import msgspec

    from tacit.client import PlatformClient
    from tacit.files import check_secret

    # The environment counts first, so that a scheduled job needs no sign-in on its machine.
    url, token, ca = (os.environ.get(name) for name in ENVIRONMENT)
    if url and token:
        return PlatformClient(url, token=token, ca=Path(ca) if ca else None)
    path, pinned = operators_folder() / "account.json", operators_folder() / "ca.pem"
    if not path.exists():
        raise InputError(
            "nobody has signed in on this machine; run tacit run sign-in with your invitation file"
        )
    # Whoever can read the token can act as the operator.
    check_secret(path, remedy="sign in again")
    try:
        kept = msgspec.json.decode(path.read_bytes(), type=dict[str, str])
        url, token = kept["url"], kept["token"]
    except (msgspec.DecodeError, KeyError) as error:
        raise FileError(
            path, None, f"was changed ({decoders_words(error)})", "sign in again"
        ) from None
    return PlatformClient(url, token=token, ca=pinned if pinned.exists() else None)


def opened_invitation(given: str, code: str | None, ca: Path | None, /) -> InvitationFile:
    """An invitation; shows the fingerprint of the certificate that will be pinned."""
    from tacit.client import given_invitation

    invitation = given_invitation(given, code, ca=ca)
    if invitation.fingerprint is not None:
        echo(f"certificate to pin for {invitation.url}: {invitation.fingerprint}", err=True)
        typer.echo("compare it with the operator by phone before you sign anything", err=True)
    return invitation


def sign_in(invitation: Given, code: Code = None, ca: Ca = None) -> None:
    """Sign in with an operator's invitation. The token is stored for you alone and never shown."""
    import msgspec

    from tacit.client import PlatformClient, pinned_if_accepted
    from tacit.files import replace_secret

    folder, given = operators_folder(), opened_invitation(invitation, code, ca)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with pinned_if_accepted(folder, given.certificate) as new:
        # Without a certificate of its own the platform is one that computers trust anyway: what
        # was pinned before may be that of another platform.
        seen = None if given.certificate is None else new
        with PlatformClient(given.url, ca=seen) as client:
            try:
                joined = client.join(given.code, label="tacit run")
            except CredentialError:
                raise CredentialError(
                    "the platform does not take this invitation: it was used, has expired or was "
                    "mistyped; make a new one with tacit service invite"
                ) from None
        if joined.role == "participant":
            raise InputError("this is the invitation of a participant; take an operator's")
        (folder / "ca.pem").unlink(missing_ok=True)
        account = {"url": client.url, "account": joined.account, "token": joined.token}
        replace_secret(folder / "account.json", msgspec.json.encode(account))
    echo(f"you are {joined.account!r} ({joined.role}) at {client.url}")


def change_notifications(
    client: PlatformClient,
    /,
    *,
    mail: str | None,
    webhook: str | None,
    remove: str | None,
    test: bool,
    as_json: bool,
) -> None:
    """Change how an account is notified, then show it; the exit code is 1 if a test fails."""
    if mail is not None:
        client.notifications.set_mail(mail or None)
    if remove is not None:
        client.notifications.remove_webhook(remove)
    # Last, so that --remove makes room for it below the limit per account.
    added = None if webhook is None else client.notifications.add_webhook(webhook)
    seen = client.notifications.test(within=TEST_SECONDS) if test else client.notifications.show()
    failed = test and any(each.error is not None for each in seen.tests)
    if as_json:
        shown = {"mail": seen.mail, "webhooks": seen.webhooks, "sends_mail": seen.sends_mail}
        more = {"tests": seen.tests} if test else {}
        echo_json({**shown, **more, **({} if added is None else {"added": added})})
        raise typer.Exit(int(failed))
    nothing = "none" if seen.sends_mail else "none, since this platform sends no mail"
    echo(f"mail     {seen.mail or nothing}")
    for each in seen.webhooks:
        trouble = f"  (not delivered: {each.error})" if each.error else ""
        echo(f"webhook  {each.id}  {each.url}{trouble}")
    if added is not None:
        echo(f"its calls are signed with (shown once): {added.secret}")
    for test_message in seen.tests if test else ():
        way = "mail" if test_message.webhook is None else f"webhook  {test_message.webhook}"
        echo(f"test of {way}: {test_message.error or 'it arrived'}")
    raise typer.Exit(int(failed))
