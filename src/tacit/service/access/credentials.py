"""Issue and check invitations and tokens; the database keeps their hashes alone.

Both are 256 random bits, so they need no salt and no slow hash. Their prefixes let anybody find one
that has strayed into a log or a repository, and let our own logs leave them out.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from sqlalchemy import ColumnElement, select, update
from sqlalchemy.orm import Session

from tacit.agreement import Joining, is_joining_signed
from tacit.client import Role, platform_address
from tacit.errors import CredentialError, NotThereError, ServiceError
from tacit.identity import parse_address, read_certificate
from tacit.mpc.transport import certificate_hosts
from tacit.service.server.settings import Settings
from tacit.service.storage import AccessToken, Account, Invitation

TOKEN_PREFIX = "tct_"
CODE_PREFIX = "tci_"
SECRET_PATTERN = re.compile(r"\btc[ti]_[A-Za-z0-9_-]+")


def new_secret(prefix: str, /) -> str:
    return prefix + secrets.token_urlsafe(32)


def secret_hash(secret: str, /) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def without_secrets(text: str, /) -> str:
    """Return a text without the tokens and codes in it.

    >>> without_secrets("Bearer tct_abc-1 and tci_z")
    'Bearer [secret] and [secret]'
    """
    return SECRET_PATTERN.sub("[secret]", text)


def own_addresses(settings: Settings, /) -> frozenset[str]:
    """Return the address in `service.toml`, and all others that the certificate is for.

    A participant signs the address that it joins. So somebody in the middle, who has another
    address, cannot hand the signature on.
    """
    own = platform_address(settings.url)
    if settings.tls_certificate is None:
        return frozenset({own})
    # With port 0 the system chooses a port, and nobody knows the platform by that 0.
    ports = {urlsplit(own).port, parse_address(settings.listen)[1]} - {0}
    hosts = certificate_hosts(read_certificate(settings.place(settings.tls_certificate)))
    # Every computer calls itself localhost, so that name says nothing about which one it is.
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
    """The key that a participant joins with, and its signature for code, account and platform."""

    public: str
    signature: bytes
    account: str
    platform: str


def invite(session: Session, account: str, /, *, hours: float) -> tuple[str, float]:
    """Return a new code, to be shown once, and when it expires; earlier open ones end."""
    check_account(session, account)
    end_invitations(session, account)
    return new_invitation(session, account, hours=hours)


def check_account(session: Session, account: str, /) -> None:
    if session.get(Account, account) is None:
        raise NotThereError(f"there is no account {account!r}; see the list of accounts")


def end_invitations(session: Session, account: str, /) -> None:
    is_open = Invitation.account == account, Invitation.used.is_(None)
    session.execute(update(Invitation).where(*is_open).values(used=time.time()))


def new_invitation(session: Session, account: str, /, *, hours: float) -> tuple[str, float]:
    code, now = new_secret(CODE_PREFIX), time.time()
    expires = now + hours * HOUR_SECONDS
    session.add(
        Invitation(code_hash=secret_hash(code), account=account, created=now, expires=expires)
    )
    return code, expires


def accounts_with_open_invitation(session: Session, /) -> set[str]:
    is_open = Invitation.used.is_(None) & (Invitation.expires > time.time())
    return set(session.scalars(select(Invitation.account).where(is_open)))


def redeem(
    session: Session, code: str, /, *, key: JoiningKey | None, here: frozenset[str]
) -> tuple[Account, bool]:
    """Use up a code; return the account that it invites, and whether its key is new here.

    A participant brings its key and shows that it is its own. Otherwise somebody could join with
    the key of another, and keep that one out. Its signature names the account and the platform,
    which must be one of `here`, the addresses of this one.
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
    # One statement finds the code and marks it as used, so that of two who come at once one alone
    # gets through. The error does not say why a code is not valid: guesses learn nothing.
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
    # With one key for two accounts either could sign for the other.
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
class Requester:
    """The account that makes a request, as its token shows."""

    account: str
    role: Role
    signing_key: str | None
    expires: float
    token_hash: str


def issue_token(
    session: Session, account: str, /, *, days: float, label: str = ""
) -> tuple[str, float]:
    """Return a new token, to be shown once, and when it expires."""
    token, now = new_secret(TOKEN_PREFIX), time.time()
    expires = now + days * DAY_SECONDS
    row = AccessToken(
        hash=secret_hash(token), account=account, created=now, expires=expires, label=label
    )
    session.add(row)
    return token, expires


def requester_of(session: Session, token: str, /) -> Requester:
    """Return whose token this is; the error does not say why one is not valid."""
    # The index is searched by the hash, so the time that takes says nothing about the token itself.
    row = session.get(AccessToken, secret_hash(token))
    if row is None or not _is_valid(row):
        raise CredentialError(
            "the token does not count: it is unknown, revoked or has expired; join again"
        )
    account = session.get_one(Account, row.account)
    return Requester(account.name, account.role, account.signing_key, row.expires, row.hash)


def valid_tokens(session: Session, /) -> dict[str, str]:
    """Return the accounts of all valid tokens, by the tokens' hashes."""
    query = select(AccessToken.hash, AccessToken.account).where(*_valid_now())
    rows = session.execute(query)
    return {digest: account for digest, account in rows}  # noqa: C416 - rows are not tuples


def is_still_valid(session: Session, who: Requester, /) -> bool:
    """Return whether a token that was valid still is."""
    row = session.get(AccessToken, who.token_hash)
    return row is not None and _is_valid(row)


def _is_valid(row: AccessToken) -> bool:
    return row.revoked is None and row.expires > time.time()


def accounts_that_joined(session: Session, names: Sequence[str], /) -> set[str]:
    """Those of these accounts that have, or had, a token."""
    query = select(AccessToken.account).where(AccessToken.account.in_(names)).distinct()
    return set(session.scalars(query))


def has_valid_token(session: Session, account: str, /) -> bool:
    query = select(AccessToken.hash).where(AccessToken.account == account, *_valid_now()).limit(1)
    return session.scalar(query) is not None


def _valid_now() -> tuple[ColumnElement[bool], ...]:
    return AccessToken.revoked.is_(None), AccessToken.expires > time.time()


def revoke_token(session: Session, token_hash: str, /) -> None:
    row = session.get(AccessToken, token_hash)
    # The first revocation stands: its time says until when the token was valid.
    if row is not None and row.revoked is None:
        row.revoked = time.time()


def revoke_all(session: Session, account: str, /) -> None:
    check_account(session, account)
    mine = AccessToken.account == account, AccessToken.revoked.is_(None)
    # Marked, not deleted: when a token was valid can still be looked up afterwards.
    session.execute(update(AccessToken).where(*mine).values(revoked=time.time()))
    end_invitations(session, account)
