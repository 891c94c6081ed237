"""How an account is told of what needs it: its mail address and its webhooks."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Path
from sqlalchemy.orm import Session

from tacit.errors import WrongStateError
from tacit.service.access.invitations import check_account
from tacit.service.api.errors import error_responses
from tacit.service.api.gate import Asker, ThePlatform, gated_router
from tacit.service.api.shapes.notifications import (
    MailChange,
    NewWebhook,
    NotificationsAnswer,
    WebhookAdded,
    WebhookAnswer,
)
from tacit.service.api.terms import ParticipantName
from tacit.service.notices.webhooks import checked_webhook_url, webhook_key, webhook_secret
from tacit.service.server.context import Platform
from tacit.service.storage.notices import (
    add_webhook,
    contact_of,
    remove_webhook,
    set_contact,
    webhooks_of,
)

WebhookId = Annotated[str, Path(pattern=r"^w-[a-z2-7]{10}$")]


def _shown(session: Session, account: str, sends_mail: bool) -> NotificationsAnswer:
    hooks = webhooks_of(session, account)
    return NotificationsAnswer(
        mail=contact_of(session, account),
        sends_mail=sends_mail,
        webhooks=[WebhookAnswer.model_validate(each, from_attributes=True) for each in hooks],
    )


def _check_sends_mail(platform: Platform, mail: str | None) -> None:
    if mail is not None and platform.settings.mail is None:
        raise WrongStateError("this platform sends no mail; its operator sets it up in [mail]")


def _set_others(session: Session, name: str, mail: str | None) -> None:
    check_account(session, name)
    set_contact(session, name, mail)


def notifications_router() -> APIRouter:
    """The routes of notifications."""
    router = gated_router("notifications")

    @router.get("/me/notifications")
    async def notifications(who: Asker, platform: ThePlatform) -> NotificationsAnswer:
        """How one is told of what needs one."""
        sends = platform.settings.mail is not None
        return await platform.database.read(_shown, who.account, sends)

    @router.put("/me/notifications", responses=error_responses(409))
    async def change(body: MailChange, who: Asker, platform: ThePlatform) -> NotificationsAnswer:
        """Set or forget one's mail address."""
        _check_sends_mail(platform, body.mail)
        await platform.database.write(set_contact, who.account, body.mail)
        sends = platform.settings.mail is not None
        return await platform.database.read(_shown, who.account, sends)

    @router.post("/me/webhooks", status_code=201, responses=error_responses(409, 422))
    async def add(body: NewWebhook, who: Asker, platform: ThePlatform) -> WebhookAdded:
        """Have an address called; the secret that signs the calls is shown here and never again."""
        over_http = platform.settings.webhooks_over_http
        url = checked_webhook_url(body.url, over_http=over_http)
        made = await platform.database.write(add_webhook, who.account, url)
        key = await asyncio.to_thread(webhook_key, platform.settings.data_folder)
        shown = WebhookAnswer.model_validate(made, from_attributes=True).model_dump()
        return WebhookAdded(**shown, secret=webhook_secret(key, made.id))

    @router.delete("/me/webhooks/{webhook}", status_code=204, responses=error_responses(404))
    async def remove(webhook: WebhookId, who: Asker, platform: ThePlatform) -> None:
        """Remove a webhook, with what was still to be delivered to it."""
        await platform.database.write(remove_webhook, who.account, webhook)

    @router.put("/accounts/{name}/mail", status_code=204, responses=error_responses(404, 409))
    async def others_mail(
        name: Annotated[ParticipantName, Path()], body: MailChange, platform: ThePlatform
    ) -> None:
        """Set the mail address of somebody who has not joined yet, to be told of invitations."""
        _check_sends_mail(platform, body.mail)
        await platform.database.write(_set_others, name, body.mail)

    return router
