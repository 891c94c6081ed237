"""Accounts: joining, inviting and revoking, and how an account is notified."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated

import msgspec
from fastapi import APIRouter, Path
from sqlalchemy.orm import Session

import tacit
from tacit.client import (
    AccountView,
    DeliveryTest,
    Health,
    InvitedAccount,
    Join,
    JoinAnswer,
    MailChange,
    Me,
    NewAccount,
    NewWebhook,
    NotificationsView,
    Page,
    WebhookView,
)
from tacit.errors import TacitError, TooManyError, WrongStateError
from tacit.service.access.credentials import (
    JoiningKey,
    accounts_that_joined,
    accounts_with_open_invitation,
    check_account,
    has_valid_token,
    invite,
    revoke_all,
    revoke_token,
)
from tacit.service.api.encoding import error_responses
from tacit.service.api.gate import AccountName, Asker, Platform, ThePlatform, gated_router
from tacit.service.api.paging import USUALLY_LISTED, After, Limit, key_of, page_of
from tacit.service.notices.delivery import (
    NOT_DELIVERED,
    checked_webhook_url,
    webhook_key,
    webhook_secret,
)
from tacit.service.storage import Account, Notice, Webhook, create_account
from tacit.service.storage.accounts import (
    TEST,
    add_notice,
    add_webhook,
    contact_of,
    forget_contacts,
    last_test,
    remove_webhook,
    set_contact,
    webhooks_of,
)
from tacit.service.storage.pages import page_of_accounts
from tacit.service.workflow.inviting import join, undrafted_runs
from tacit.service.workflow.series import draw_up_series, undrafted_series

TEST_SECONDS = 60.0
"""Between two tests of an account."""
NameInCursor = Annotated[str, msgspec.Meta(max_length=63, pattern=r"^[^\x00]*\Z")]
WebhookId = Annotated[str, Path(pattern=r"^w-[a-z2-7]{10}$")]


def joining_router() -> list[APIRouter]:
    """The routes of joining."""
    anonymous = gated_router("joining", anonymous=True)
    known = gated_router("joining")

    @anonymous.get("/health")
    async def health() -> Health:
        """Whether the platform works."""
        return Health(status="ok", version=tacit.__version__)

    @anonymous.post("/join", responses=error_responses(401, 409, 422))
    async def join_with_code(body: Join, platform: ThePlatform) -> JoinAnswer:
        """Turn a one-time code into a token; a participant brings its signing key, and proof."""
        token, expires, account = await platform.database.write(
            join,
            platform.settings,
            body.code,
            key=None
            if body.signing_key is None
            else JoiningKey(
                body.signing_key,
                bytes.fromhex(body.signature or ""),
                account=body.account or "",
                platform=body.platform or "",
            ),
            label=body.label,
        )
        # The code is used up and the token must be answered, so nothing below may fail the request.
        # The schedule tries series again, and logs what is wrong with them.
        for series_id in await platform.database.read(undrafted_series, account.name):
            with suppress(TacitError):
                await platform.database.write(draw_up_series, platform.settings, series_id)
        for run_id in await platform.database.read(undrafted_runs, account.name):
            await platform.execution.changed(run_id)
        return JoinAnswer(token, account.name, account.role, expires)

    @known.get("/me")
    async def me(who: Asker) -> Me:
        """The account that the token belongs to."""
        return Me(who.account, who.role, who.signing_key, who.expires)

    @known.delete("/me/token", status_code=204)
    async def give_back(who: Asker, platform: ThePlatform) -> None:
        """Revoke the token that this request shows."""
        await platform.database.write(revoke_token, who.token_hash)

    return [anonymous, known]


def _add(session: Session, name: str, role: str, hours: float) -> tuple[Account, str, float]:
    account = create_account(session, name, role)
    return account, *invite(session, name, hours=hours)


def _invite_again(session: Session, name: str, hours: float) -> tuple[Account, str, float]:
    code = invite(session, name, hours=hours)
    return session.get_one(Account, name), *code


def _page(session: Session, after: str | None, limit: int) -> Page[AccountView]:
    found = page_of_accounts(session, after=after, limit=limit + 1)
    joined = accounts_that_joined(session, [each.name for each in found])
    return page_of(
        found,
        limit,
        shown=lambda accounts: [
            AccountView(each.name, each.role, each.name in joined, each.signing_key, each.created)
            for each in accounts
        ],
        key=lambda last: last.name,
    )


def _shut_out(session: Session, name: str) -> None:
    # Without its contacts as well, mail and webhooks would go on naming the runs that it is a
    # member of.
    revoke_all(session, name)
    forget_contacts(session, name)


def _invited(account: Account, code: str, expires: float) -> InvitedAccount:
    return InvitedAccount(account.name, account.role, code, expires)


def accounts_router() -> APIRouter:
    """The routes of accounts."""
    router = gated_router("accounts")

    @router.get("/accounts")
    async def accounts(
        platform: ThePlatform, after: After = None, limit: Limit = USUALLY_LISTED
    ) -> Page[AccountView]:
        """A page of all accounts, by name."""
        return await platform.database.read(_page, key_of(after, NameInCursor), limit)

    @router.post("/accounts", status_code=201, responses=error_responses(409))
    async def add_account(body: NewAccount, platform: ThePlatform) -> InvitedAccount:
        """Add an account; the code of its invitation is shown here and never again."""
        hours = platform.settings.invitation_hours
        return _invited(*await platform.database.write(_add, body.name, body.role, hours))

    @router.post("/accounts/{name}/invitation", status_code=201, responses=error_responses(404))
    async def invite_account(name: AccountName, platform: ThePlatform) -> InvitedAccount:
        """Invite an account again, say after it has lost its token; earlier codes end."""
        hours = platform.settings.invitation_hours
        return _invited(*await platform.database.write(_invite_again, name, hours))

    @router.delete("/accounts/{name}", status_code=204, responses=error_responses(404))
    async def shut_out(name: AccountName, platform: ThePlatform) -> None:
        """Revoke all tokens and codes of an account and tell it nothing more; what it did stays."""
        await platform.database.write(_shut_out, name)

    return router


def _shown(session: Session, account: str, sends_mail: bool) -> NotificationsView:
    hooks = webhooks_of(session, account)
    return NotificationsView(
        mail=contact_of(session, account),
        sends_mail=sends_mail,
        webhooks=[_webhook(each) for each in hooks],
        tests=[_tested(each, hooks) for each in last_test(session, account)],
    )


def _tested(notice: Notice, hooks: Sequence[Webhook]) -> DeliveryTest:
    # The reason itself is for operators of the platform alone; see `UndeliveredError`.
    shown = next((each.error for each in hooks if each.id == notice.webhook), None)
    error = None if notice.error is None else shown or NOT_DELIVERED
    return DeliveryTest(notice.webhook, notice.at, notice.sent, error)


def _send_test(session: Session, account: str) -> None:
    now = time.time()
    # Nobody shows that a mail address is its own, so that tests could fill the box of another.
    if any(each.at > now - TEST_SECONDS for each in last_test(session, account)):
        raise TooManyError(
            f"you have tested within {TEST_SECONDS:.0f} s; wait", retry_after=int(TEST_SECONDS)
        )
    if not add_notice(session, account, TEST, now, {}):
        raise WrongStateError("you have no mail address and no webhook to test; set one")


def _webhook(hook: Webhook, *, secret: str | None = None) -> WebhookView:
    return WebhookView(hook.id, hook.url, hook.created, hook.error, secret)


def _check_sends_mail(platform: Platform, mail: str | None) -> None:
    if mail is not None and platform.settings.mail is None:
        raise WrongStateError("this platform sends no mail; its operator sets it up in [mail]")


def _set_others(session: Session, name: str, mail: str | None) -> None:
    check_account(session, name)
    # Whoever has joined says by itself where it wants its mail; whoever was shut out gets none.
    if name not in accounts_with_open_invitation(session) or has_valid_token(session, name):
        raise WrongStateError(
            f"{name!r} does not wait for an invitation; it sets its own address once it has "
            "joined, or invite it again"
        )
    set_contact(session, name, mail)


def notifications_router() -> APIRouter:
    """The routes of notifications."""
    router = gated_router("notifications")

    @router.get("/me/notifications")
    async def notifications(who: Asker, platform: ThePlatform) -> NotificationsView:
        """The mail address and webhooks at which one is notified."""
        sends = platform.settings.mail is not None
        return await platform.database.read(_shown, who.account, sends)

    @router.put("/me/notifications", responses=error_responses(409))
    async def change(body: MailChange, who: Asker, platform: ThePlatform) -> NotificationsView:
        """Set or forget one's mail address."""
        _check_sends_mail(platform, body.mail)
        await platform.database.write(set_contact, who.account, body.mail)
        sends = platform.settings.mail is not None
        return await platform.database.read(_shown, who.account, sends)

    @router.post("/me/notifications/test", status_code=201, responses=error_responses(409))
    async def test(who: Asker, platform: ThePlatform) -> NotificationsView:
        """Send a message to oneself in every way that is set; `tests` tells how it went."""
        await platform.database.write(_send_test, who.account)
        sends = platform.settings.mail is not None
        return await platform.database.read(_shown, who.account, sends)

    @router.post("/me/webhooks", status_code=201, responses=error_responses(409, 422))
    async def add(body: NewWebhook, who: Asker, platform: ThePlatform) -> WebhookView:
        """Have an address called; the secret that signs the calls is shown here and never again."""
        over_http = platform.settings.webhooks_over_http
        # Only the form is checked here. A name can be moved to a private address later (DNS
        # rebinding), so where it leads is checked at every call.
        url = checked_webhook_url(body.url, over_http=over_http)
        hook = await platform.database.write(add_webhook, who.account, url)
        # In a thread, since reading the key's file would hold up the event loop.
        key = await asyncio.to_thread(webhook_key, platform.settings)
        return _webhook(hook, secret=webhook_secret(key, hook.id))

    @router.delete("/me/webhooks/{webhook}", status_code=204, responses=error_responses(404))
    async def remove(webhook: WebhookId, who: Asker, platform: ThePlatform) -> None:
        """Remove a webhook, with what was still to be delivered to it."""
        await platform.database.write(remove_webhook, who.account, webhook)

    @router.put("/accounts/{name}/mail", status_code=204, responses=error_responses(404, 409))
    async def others_mail(name: AccountName, body: MailChange, platform: ThePlatform) -> None:
        """Set the mail address of somebody who has not joined yet, to mail invitations to."""
        _check_sends_mail(platform, body.mail)
        await platform.database.write(_set_others, name, body.mail)

    return router
