"""The dashboard is a client of the API, in the same process and with its visitor's own token.

So there is one place that says who may do what, and it is not here.
"""

from __future__ import annotations

from typing import TypeVar

import httpx
import msgspec
from fastapi import FastAPI

from tacit.client import refusal
from tacit.errors import CredentialError, MalformedError
from tacit.service.dashboard.sessions import Session

T = TypeVar("T")
ANSWER_SECONDS = 30.0


class ApiClient:
    """Calls the API for a session, for as long as that lasts; it raises what the API raised."""

    def __init__(
        self, app: FastAPI, session: Session | None, /, *, address: str = "127.0.0.1"
    ) -> None:
        """`address` is where the visitor comes from, for the limit on guesses."""
        self._session = session
        self._client = httpx.AsyncClient(
            transport=httpx.ASGITransport(app=app, raise_app_exceptions=False, client=(address, 0)),
            base_url="http://dashboard/api/v1",
            timeout=ANSWER_SECONDS,
        )

    async def get(self, path: str, kind: type[T], /) -> T:
        """The record at a path."""
        return msgspec.json.decode((await self._call("GET", path)).content, type=kind)

    async def fetch(self, path: str, /) -> httpx.Response:
        """Whatever is at a path, such as a CSV."""
        return await self._call("GET", path)

    async def post(self, path: str, body: object, kind: type[T], /) -> T:
        """Ask for something to be done."""
        return msgspec.json.decode((await self._call("POST", path, body)).content, type=kind)

    async def put(self, path: str, body: object, kind: type[T], /) -> T:
        """Ask for something to be changed."""
        return msgspec.json.decode((await self._call("PUT", path, body)).content, type=kind)

    async def delete(self, path: str, /) -> None:
        """Ask for something to be removed."""
        await self._call("DELETE", path)

    async def _call(self, method: str, path: str, body: object = None) -> httpx.Response:
        headers = {"Content-Type": "application/json"}
        if self._session is not None:
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
