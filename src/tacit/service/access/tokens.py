"""Tokens: what an account shows with every request."""

from __future__ import annotations

import time
from dataclasses import dataclass

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from tacit.client import Role
from tacit.errors import CredentialError
from tacit.service.access.credentials import TOKEN_PREFIX, new_secret, secret_hash
from tacit.service.access.invitations import check_account, end_invitations
from tacit.service.storage import Account, Token

DAY_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class Who:
    """Whose request it is."""

    account: str
    role: Role
    signing_key: str | None
    expires: float
    token_hash: str


def issue_token(
    session: Session, account: str, /, *, days: float, label: str = ""
) -> tuple[str, float]:
    """A new token, to be shown once, and when it expires."""
    token, now = new_secret(TOKEN_PREFIX), time.time()
    expires = now + days * DAY_SECONDS
    row = Token(hash=secret_hash(token), account=account, created=now, expires=expires, label=label)
    session.add(row)
    return token, expires


def who_has(session: Session, token: str, /) -> Who:
    """Whose token this is, or a `CredentialError` that does not say why it does not count."""
    row = session.get(Token, secret_hash(token))
    if row is None or not _counts(row):
        raise CredentialError(
            "the token does not count: it is unknown, revoked or has expired; join again"
        )
    account = session.get_one(Account, row.account)
    return Who(account.name, account.role, account.signing_key, row.expires, row.hash)


def still_counts(session: Session, who: Who, /) -> bool:
    """Whether a token that counted before counts still."""
    row = session.get(Token, who.token_hash)
    return row is not None and _counts(row)


def _counts(row: Token) -> bool:
    return row.revoked is None and row.expires > time.time()


def accounts_that_joined(session: Session, /) -> set[str]:
    """The accounts that have ever had a token."""
    return set(session.scalars(select(Token.account).distinct()))


def revoke_token(session: Session, token_hash: str, /) -> None:
    """End a token."""
    row = session.get(Token, token_hash)
    if row is not None and row.revoked is None:
        row.revoked = time.time()


def revoke_all(session: Session, account: str, /) -> None:
    """End all tokens and open invitations of an account."""
    check_account(session, account)
    mine = Token.account == account, Token.revoked.is_(None)
    session.execute(update(Token).where(*mine).values(revoked=time.time()))
    end_invitations(session, account)
