"""Hold the sessions of browsers, and call the API for the visitor behind each.

Browsers hold a random number. The tokens stay here, in memory alone: after a restart of the
platform everybody signs in again. All pages read and change data through the API with the visitor's
own token, so permissions are decided in one place.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import httpx
import msgspec
from fastapi import FastAPI, Response
from starlette.requests import cookie_parser

from tacit.client import refusal
from tacit.errors import CredentialError, MalformedError

# Of more sessions than that the oldest end, so that they cannot fill the memory.
MOST_PER_ACCOUNT = 20


@dataclass(eq=False)
class BrowserSession:
    """One browser of somebody who is signed in."""

    token: str | None
    """What it shows the API; none once it has ended."""
    is_kept: bool
    """Whether the visitor has the token too: brought it, or was shown it. If not, it ends here."""
    account: str = ""
    expires: float = 0.0

    def keep(self) -> str | None:
        """Return the token for the visitor to keep, once."""
        if self.is_kept:
            return None
        self.is_kept = True
        return self.token

    def __repr__(self) -> str:
        """Without the token, which would be in every log of an error."""
        return f"BrowserSession({self.account!r})"


class Sessions:
    """All sessions, by the number in the browser's cookie."""

    def __init__(self, *, https: bool, clock: Callable[[], float] = time.time) -> None:
        """Under HTTPS the cookie's name keeps other hosts of the domain from setting it."""
        self._https, self._clock = https, clock
        self.cookie = "__Host-tacit" if https else "tacit"
        self._sessions: dict[str, BrowserSession] = {}

    def find(self, cookies: str, /) -> BrowserSession | None:
        session = self._sessions.get(cookie_parser(cookies).get(self.cookie, ""))
        return session if session is not None and self._is_valid(session) else None

    def begin(self, session: BrowserSession, response: Response, /) -> list[BrowserSession]:
        """Give a browser its session, and return the sessions that had to make room."""
        now = self._clock()
        ended = [each for each in self._sessions.values() if not self._is_valid(each)]
        mine = [each for each in self._sessions.values() if each.account == session.account]
        ended += [each for each in mine if each not in ended][: -(MOST_PER_ACCOUNT - 1)]
        for each in ended:
            self._forget(each)
        # A new number at each sign-in: one that was planted before cannot be used afterwards.
        number = secrets.token_urlsafe(32)
        self._sessions[number] = session
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
        return ended

    def end(self, session: BrowserSession, /) -> None:
        """Forget a session; what still holds it cannot call the API any more."""
        self._forget(session)
        session.token = None

    def take_cookie(self, response: Response, /) -> None:
        response.delete_cookie(self.cookie, httponly=True, secure=self._https, samesite="lax")

    def _is_valid(self, session: BrowserSession) -> bool:
        return session.token is not None and session.expires > self._clock()

    def _forget(self, session: BrowserSession) -> None:
        self._sessions = {n: each for n, each in self._sessions.items() if each is not session}


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
