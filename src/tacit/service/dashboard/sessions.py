"""Keep the sessions of browsers, and call the API for the visitor behind each.

A browser holds a random number. The database has its hash, and the visitor's token encrypted under
the number: neither a copy of the database nor a stolen hash lets anybody in, and a session goes on
after a restart and in any process of the platform. All pages read and change data through the API
with the visitor's own token, so permissions are decided in one place.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

import httpx
import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from fastapi import FastAPI, Response
from sqlalchemy import delete, select
from sqlalchemy.orm import Session
from starlette.requests import cookie_parser

from tacit.client import refusal
from tacit.errors import CredentialError, MalformedError, StorageError
from tacit.service.access.credentials import revoke_token, secret_hash
from tacit.service.storage import AccessToken, Database
from tacit.service.storage.models import StoredSession

# Of more sessions than that the oldest end.
MOST_PER_ACCOUNT = 20
MOST_REMEMBERED = 10_000
CHECK_SECONDS = 5.0
"""So long a session that was ended in another process may go on in this one."""
_NUMBER = re.compile(r"[A-Za-z0-9_-]{43}")
_NONCE = bytes(12)  # each number encrypts one token, once


@dataclass(eq=False)
class BrowserSession:
    """One browser of somebody who is signed in."""

    token: str | None
    """What it shows the API; none once it has ended."""
    is_kept: bool
    """Whether the visitor has the token too: brought it, or was shown it. If not, it ends here."""
    account: str = ""
    expires: float = 0.0
    digest: str = ""
    """The hash of the number in its browser."""
    sessions: Sessions | None = field(default=None, repr=False)
    checked: float = float("-inf")
    """When it was last seen in the database."""

    async def keep(self) -> str | None:
        """Return the token for the visitor to keep, once."""
        if self.is_kept or self.sessions is None:
            return None
        token, was_mine = self.token, await self.sessions.keep(self)
        self.is_kept = True
        return token if was_mine else None

    async def check(self) -> None:
        """End here if it was ended elsewhere."""
        if self.sessions is not None:
            await self.sessions.check(self)

    def __repr__(self) -> str:
        """Without the token, which would be in every log of an error."""
        return f"BrowserSession({self.account!r})"


class _KnownSession(NamedTuple):
    sealed_token: bytes
    is_kept: bool
    account: str
    expires: float


class Sessions:
    """All sessions, by the number in the browser's cookie."""

    def __init__(
        self, database: Database, /, *, https: bool, clock: Callable[[], float] = time.time
    ) -> None:
        """Under HTTPS the cookie's name keeps other hosts of the domain from setting it."""
        self._database, self._https, self._clock = database, https, clock
        self.cookie = "__Host-tacit" if https else "tacit"
        # Pages of a session belong to one object, so there is one per process.
        self._remembered: OrderedDict[str, BrowserSession] = OrderedDict()

    async def find(self, cookies: str, /) -> BrowserSession | None:
        number = cookie_parser(cookies).get(self.cookie, "")
        if _NUMBER.fullmatch(number) is None:
            return None
        digest = secret_hash(number)
        session = self._remembered.get(digest)
        if session is None:
            restored = await self._restored(number, digest)
            if restored is None:
                return None
            # Another request of the same page may have been quicker.
            session = self._remember(restored)
        await self.check(session)
        return session if self._is_valid(session) else None

    async def _restored(self, number: str, digest: str) -> BrowserSession | None:
        known = await self._database.read(_known_session, digest, self._clock())
        if known is None:
            return None
        try:
            token = _cipher(number).decrypt(_NONCE, known.sealed_token, None).decode()
        except InvalidTag:
            return None
        _, is_kept, account, expires = known
        return BrowserSession(token, is_kept, account, expires, digest, self, self._clock())

    def _remember(self, session: BrowserSession) -> BrowserSession:
        session = self._remembered.setdefault(session.digest, session)
        self._remembered.move_to_end(session.digest)
        while len(self._remembered) > MOST_REMEMBERED:
            self._remembered.popitem(last=False)
        return session

    async def check(self, session: BrowserSession, /) -> None:
        """Look a session up again if that is some time ago, and end it here if it is gone."""
        if session.token is None or self._clock() - session.checked < CHECK_SECONDS:
            return
        try:
            known = await self._database.read(_known_session, session.digest, self._clock())
        except StorageError:
            return  # a database that restarts signs nobody out
        session.checked = self._clock()
        if known is None:
            self._forget(session.digest)
        else:
            session.is_kept = known.is_kept

    async def begin(self, session: BrowserSession, response: Response, /) -> None:
        """Give a browser its session; of too many of an account the oldest end."""
        # A new number at each sign-in: one that was planted before cannot be used afterwards.
        number = secrets.token_urlsafe(32)
        token = session.token or ""
        now = self._clock()
        session.digest, session.sessions, session.checked = secret_hash(number), self, now
        stored = StoredSession(
            number_hash=session.digest,
            token_hash=secret_hash(token),
            sealed_token=_cipher(number).encrypt(_NONCE, token.encode(), None),
            is_kept=session.is_kept,
            created=now,
        )
        for digest in await self._database.write(_begin, stored, session.account, now):
            self._forget(digest)
        self._remember(session)
        response.set_cookie(
            self.cookie,
            number,
            max_age=max(0, int(session.expires - now)),
            httponly=True,
            secure=self._https,
            # Lax, not strict: a link in a message leads to the page and not to the sign-in.
            # Nothing changes by GET, and the gate looks at the origin of everything else.
            samesite="lax",
        )

    async def keep(self, session: BrowserSession, /) -> bool:
        """Store that the visitor has the token; False if it was shown before, elsewhere."""
        return await self._database.write(_keep, session.digest)

    async def end(self, session: BrowserSession, /) -> None:
        """End a session, and its token if nobody else has that."""
        await self._database.write(_end, session.digest)
        self._forget(session.digest)
        session.token = None

    def take_cookie(self, response: Response, /) -> None:
        response.delete_cookie(self.cookie, httponly=True, secure=self._https, samesite="lax")

    def _is_valid(self, session: BrowserSession) -> bool:
        return session.token is not None and session.expires > self._clock()

    def _forget(self, digest: str) -> None:
        session = self._remembered.pop(digest, None)
        if session is not None:
            # What still holds it cannot call the API any more.
            session.token = None


def _cipher(number: str) -> ChaCha20Poly1305:
    # Of 256 random bits, which need no stretching. The hash is another one than that of the table.
    return ChaCha20Poly1305(hashlib.sha256(b"tacit session\0" + number.encode()).digest())


def _known_session(session: Session, digest: str, now: float) -> _KnownSession | None:
    query = (
        select(
            StoredSession.sealed_token,
            StoredSession.is_kept,
            AccessToken.account,
            AccessToken.expires,
        )
        .join(AccessToken, AccessToken.hash == StoredSession.token_hash)
        .where(
            StoredSession.number_hash == digest,
            AccessToken.revoked.is_(None),
            AccessToken.expires > now,
        )
    )
    found = session.execute(query).one_or_none()
    return None if found is None else _KnownSession(*found)


def _begin(session: Session, stored: StoredSession, account: str, now: float) -> list[str]:
    """Store a session; return the hashes of those that have ended with that."""
    over = AccessToken.revoked.is_not(None) | (AccessToken.expires <= now)
    without_token = select(AccessToken.hash).where(over)
    session.execute(delete(StoredSession).where(StoredSession.token_hash.in_(without_token)))
    mine = (
        select(StoredSession.number_hash)
        .join(AccessToken, AccessToken.hash == StoredSession.token_hash)
        .where(AccessToken.account == account)
        .order_by(StoredSession.created.desc(), StoredSession.number_hash)
        .offset(MOST_PER_ACCOUNT - 1)
    )
    ended = list(session.scalars(mine))
    for digest in ended:
        _end(session, digest)
    session.add(stored)
    return ended


def _keep(session: Session, digest: str) -> bool:
    stored = session.get(StoredSession, digest, with_for_update=True)
    if stored is None or stored.is_kept:
        return False
    stored.is_kept = True
    return True


def _end(session: Session, digest: str) -> None:
    stored = session.get(StoredSession, digest)
    if stored is None:
        return
    session.delete(stored)
    if not stored.is_kept:
        revoke_token(session, stored.token_hash)


T = TypeVar("T")
ANSWER_SECONDS = 30.0


class ApiClient:
    """Calls the API for a session, for as long as that lasts; it raises what the API raised."""

    def __init__(
        self, app: FastAPI, session: BrowserSession | None, /, *, address: str = "127.0.0.1"
    ) -> None:
        """`address` is where the visitor comes from, for the limit on guesses."""
        self._session = session
        self._client = httpx.AsyncClient(
            # In this process, and yet through every check of the API: no second set of permissions.
            transport=httpx.ASGITransport(app=app, raise_app_exceptions=False, client=(address, 0)),
            base_url="http://dashboard/api/v1",
            timeout=ANSWER_SECONDS,
        )

    async def get(self, path: str, kind: type[T], /) -> T:
        return msgspec.json.decode((await self._call("GET", path)).content, type=kind)

    async def fetch(self, path: str, /) -> httpx.Response:
        """Return the answer itself, such as a CSV."""
        return await self._call("GET", path)

    async def post(self, path: str, body: object, kind: type[T], /) -> T:
        return msgspec.json.decode((await self._call("POST", path, body)).content, type=kind)

    async def put(self, path: str, body: object, kind: type[T], /) -> T:
        return msgspec.json.decode((await self._call("PUT", path, body)).content, type=kind)

    async def delete(self, path: str, /) -> None:
        await self._call("DELETE", path)

    async def _call(self, method: str, path: str, body: object = None) -> httpx.Response:
        headers = {"Content-Type": "application/json"}
        if self._session is not None:
            await self._session.check()
            # The session ended while a page of it was still open.
            if self._session.token is None:
                raise CredentialError("you have signed out; sign in again")
            headers["Authorization"] = f"Bearer {self._session.token}"
        content = None if body is None else msgspec.json.encode(body)
        response = await self._client.request(method, path, content=content, headers=headers)
        if response.is_success:
            return response
        error = refusal(response, response.content)
        if isinstance(error, MalformedError):
            # What a validator says of a request's fields is for those who write requests.
            raise MalformedError("something that was filled in does not fit; check the fields")
        raise error
