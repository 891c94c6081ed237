"""`notify`, for operators and participants: by mail or webhook, when somebody is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli.printing import echo_json
from tacit.plain_text import plain_line

if TYPE_CHECKING:
    from tacit.client import PlatformClient

Mail = Annotated[str | None, typer.Option(help="Your mail address; '' forgets it.")]
AddWebhook = Annotated[str | None, typer.Option("--webhook", help="An https:// address to call.")]
RemoveWebhook = Annotated[str | None, typer.Option("--remove", help="A webhook, by its id.")]


def change_notifications(
    client: PlatformClient,
    /,
    *,
    mail: str | None,
    webhook: str | None,
    remove: str | None,
    as_json: bool,
) -> None:
    """Do what was asked, then show how the account is told."""
    if mail is not None:
        client.notifications.set_mail(mail or None)
    if remove is not None:
        client.notifications.remove_webhook(remove)
    added = None if webhook is None else client.notifications.add_webhook(webhook)
    seen = client.notifications.show()
    if as_json:
        shown = {"mail": seen.mail, "webhooks": seen.webhooks, "sends_mail": seen.sends_mail}
        echo_json(shown if added is None else {**shown, "added": added})
        return
    nothing = "none" if seen.sends_mail else "none, since this platform sends no mail"
    typer.echo(plain_line(f"mail     {seen.mail or nothing}"))
    for each in seen.webhooks:
        trouble = f"  (not delivered: {each.error})" if each.error else ""
        typer.echo(plain_line(f"webhook  {each.id}  {each.url}{trouble}"))
    if added is not None:
        typer.echo(plain_line(f"its calls are signed with (shown once): {added.secret}"))
