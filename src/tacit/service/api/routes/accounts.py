"""Accounts, for operators."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from sqlalchemy.orm import Session

from tacit.service.access.invitations import invite
from tacit.service.access.tokens import accounts_that_joined, revoke_all
from tacit.service.api.errors import error_responses
from tacit.service.api.gate import ThePlatform, gated_router
from tacit.service.api.shapes.accounts import AccountAnswer, Invited, NewAccount
from tacit.service.api.terms import ParticipantName
from tacit.service.storage import Account, create_account, list_accounts
from tacit.service.storage.notices import forget_contacts

AccountName = Annotated[ParticipantName, Path()]


def _add(session: Session, name: str, role: str, hours: float) -> tuple[Account, str, float]:
    account = create_account(session, name, role)
    return account, *invite(session, name, hours=hours)


def _invite_again(session: Session, name: str, hours: float) -> tuple[Account, str, float]:
    code = invite(session, name, hours=hours)
    return session.get_one(Account, name), *code


def _all(session: Session) -> list[AccountAnswer]:
    joined = accounts_that_joined(session)
    return [
        AccountAnswer.model_validate(
            {
                "name": each.name,
                "role": each.role,
                "joined": each.name in joined,
                "signing_key": each.signing_key,
                "created": each.created,
            }
        )
        for each in list_accounts(session)
    ]


def _shut_out(session: Session, name: str) -> None:
    revoke_all(session, name)
    forget_contacts(session, name)


def _invited(account: Account, code: str, expires: float) -> Invited:
    return Invited.model_validate(
        {"name": account.name, "role": account.role, "invitation": code, "expires": expires}
    )


def accounts_router() -> APIRouter:
    """The routes of accounts."""
    router = gated_router("accounts")

    @router.get("/accounts")
    async def accounts(platform: ThePlatform) -> list[AccountAnswer]:
        """All accounts."""
        return await platform.database.read(_all)

    @router.post("/accounts", status_code=201, responses=error_responses(409))
    async def add_account(body: NewAccount, platform: ThePlatform) -> Invited:
        """Add an account; the code of its invitation is shown here and never again."""
        hours = platform.settings.invitation_hours
        return _invited(*await platform.database.write(_add, body.name, body.role, hours))

    @router.post("/accounts/{name}/invitation", status_code=201, responses=error_responses(404))
    async def invite_account(name: AccountName, platform: ThePlatform) -> Invited:
        """Invite an account again, say after it has lost its token; earlier codes end."""
        hours = platform.settings.invitation_hours
        return _invited(*await platform.database.write(_invite_again, name, hours))

    @router.delete("/accounts/{name}", status_code=204, responses=error_responses(404))
    async def shut_out(name: AccountName, platform: ThePlatform) -> None:
        """Revoke all tokens and codes of an account and tell it nothing more; what it did stays."""
        await platform.database.write(_shut_out, name)

    return router
