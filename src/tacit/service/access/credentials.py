"""Issue and check invitations and tokens; the database keeps their hashes alone."""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from tacit.agreement import Joining, is_joining_signed
from tacit.client import Role, platform_address
from tacit.errors import CredentialError, NotThereError, ServiceError
from tacit.identity import parse_address, read_certificate
from tacit.mpc.transport import certificate_hosts
from tacit.service.server.settings import Settings
from tacit.service.storage import Account, Invitation, Token

TOKEN_PREFIX = "tct_"
CODE_PREFIX = "tci_"
SECRET_PATTERN = re.compile(r"\btc[ti]_[A-Za-z0-9_-]+")


def new_secret(prefix: str, /) -> str:
    """Draw a token or a code."""
    return prefix + secrets.token_urlsafe(32)


def secret_hash(secret: str, /) -> str:
    """How the database knows it."""
    return hashlib.sha256(secret.encode()).hexdigest()


def without_secrets(text: str, /) -> str:
    """A text without the tokens and codes in it.

    >>> without_secrets("Bearer tct_abc-1 and tci_z")
    'Bearer [secret] and [secret]'
    """
    return SECRET_PATTERN.sub("[secret]", text)


def own_addresses(settings: Settings, /) -> frozenset[str]:
    """The address in `service.toml`, and other names that the platform's certificate is for.

    Every computer calls itself `localhost`, so that counts only where the address is such a one.
    """
    own = platform_address(settings.url)
    if settings.tls_certificate is None:
        return frozenset({own})
    # Where it listens at port 0, the system chooses one, which nobody knows it by.
    ports = {urlsplit(own).port, parse_address(settings.listen)[1]} - {0}
    hosts = certificate_hosts(read_certificate(settings.place(settings.tls_certificate)))
    if not _is_loopback(urlsplit(own).hostname or ""):
        hosts = [host for host in hosts if not _is_loopback(host)]
    shown = [f"[{host}]" if ":" in host else host for host in hosts if "*" not in host]
    others = {platform_address(f"https://{host}:{port}") for host in shown for port in ports}
    return frozenset({own, *others})


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


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
