"""Invitations: a code that makes one token, once."""

from __future__ import annotations

import time
from dataclasses import dataclass

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from tacit.agreement import Joining, is_joining_signed
from tacit.errors import CredentialError, NotThereError, ServiceError
from tacit.service.access.credentials import CODE_PREFIX, new_secret, secret_hash
from tacit.service.storage import Account, Invitation

HOUR_SECONDS = 3600


@dataclass(frozen=True)
class JoiningKey:
    """The key that a participant joins with, and its signature for the invitation."""

    public: str
    signature: bytes
    account: str
    """As whom it joins."""
    platform: str
    """Where it joins."""


def invite(session: Session, account: str, /, *, hours: float) -> tuple[str, float]:
    """A new code, to be shown once, and when it expires; earlier open ones end."""
    check_account(session, account)
    end_invitations(session, account)
    return new_invitation(session, account, hours=hours)


def check_account(session: Session, account: str, /) -> None:
    """Refuse an account that does not exist."""
    if session.get(Account, account) is None:
        raise NotThereError(f"there is no account {account!r}; see the list of accounts")


def end_invitations(session: Session, account: str, /) -> None:
    """End an account's open codes."""
    is_open = Invitation.account == account, Invitation.used.is_(None)
    session.execute(update(Invitation).where(*is_open).values(used=time.time()))


def new_invitation(session: Session, account: str, /, *, hours: float) -> tuple[str, float]:
    """A new code for an account that has no open one, and when it expires."""
    code, now = new_secret(CODE_PREFIX), time.time()
    expires = now + hours * HOUR_SECONDS
    session.add(
        Invitation(code_hash=secret_hash(code), account=account, created=now, expires=expires)
    )
    return code, expires


def accounts_with_open_invitation(session: Session, /) -> set[str]:
    """The accounts that have a code which could still be used."""
    is_open = Invitation.used.is_(None) & (Invitation.expires > time.time())
    return set(session.scalars(select(Invitation.account).where(is_open)))


def redeem(
    session: Session, code: str, /, *, key: JoiningKey | None, here: frozenset[str]
) -> tuple[Account, bool]:
    """The account that a code invites, which then is used up; a participant brings its key.

    It also shows that the key is its own: else somebody could join with another's, and keep it out.
    It says as whom it joins, and which platform: one of `here`, the addresses of this one.

    The answer also says whether that key is new here. A code that was used, has expired or
    never was gets one and the same answer.
    """
    now, code_hash = time.time(), secret_hash(code)
    used_up = session.execute(
        update(Invitation)
        .where(
            Invitation.code_hash == code_hash,
            Invitation.used.is_(None),
            Invitation.expires > now,
        )
        .values(used=now)
    )
    invitation = session.get(Invitation, code_hash)
    # One statement finds and marks it, so that of two who come at once one alone gets through.
    if used_up.rowcount != 1 or invitation is None:  # type: ignore[attr-defined]
        raise CredentialError(
            "the code does not count: it is unknown, was used or has expired; ask for a new one"
        )
    account = session.get_one(Account, invitation.account)
    has_new_key = False
    if account.role == "participant":
        if key is None:
            raise ServiceError("a participant joins with its signing key; give signing_key")
        _check_joining(account.name, code, key, here)
        has_new_key = _take_key(session, account, key.public)
    return account, has_new_key


def _check_joining(account: str, code: str, key: JoiningKey, here: frozenset[str]) -> None:
    """Refuse what somebody signed for another account or platform, or for none."""
    if not key.account or not key.platform:
        raise ServiceError("a joining is signed for one account at one platform; give both")
    if key.account != account:
        raise ServiceError(
            f"this invitation is for the account {account!r}, and you join as {key.account!r}; if "
            f"that is you, join with --as {account}, and if not, ask whoever sent it to you"
        )
    if key.platform not in here:
        raise ServiceError(
            f"you joined {key.platform!r}, and this platform is {', '.join(sorted(here))}: "
            "somebody is in the middle, or you typed another name of it; join it under this address"
        )
    joining = Joining(code, key.account, key.platform)
    if not is_joining_signed(key.public, joining, key.signature):
        raise ServiceError("the key is not shown to be yours; sign the joining with it: signature")


def _take_key(session: Session, account: Account, signing_key: str) -> bool:
    other = session.scalar(
        select(Account).where(Account.signing_key == signing_key, Account.name != account.name)
    )
    if other is not None:
        raise ServiceError("another account has this signing key; make keys of your own")
    is_new = account.signing_key != signing_key
    account.signing_key = signing_key
    session.flush()
    return is_new
