"""The dashboard is a client of the API, in the same process and with its visitor's own token.

So there is one place that says who may do what, and it is not here.
"""

from __future__ import annotations

from typing import Any

import httpx
from fastapi import FastAPI

from tacit.errors import TacitError
from tacit.service.dashboard.sessions import Session

ANSWER_SECONDS = 30.0
PLAIN = {"malformed": "something that was filled in does not fit; check the fields"}


class RefusedError(TacitError):
    """What the API answered instead of doing it, in its words."""

    def __init__(self, status: int, code: str, message: str, /) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


class ApiClient:
    """Calls the API for a session, for as long as that lasts."""

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

    async def get(self, path: str, /) -> Any:  # noqa: ANN401 - as JSON has it
        """The JSON at a path."""
        return (await self._call("GET", path)).json()

    async def fetch(self, path: str, /) -> httpx.Response:
        """Whatever is at a path, such as a CSV."""
        return await self._call("GET", path)

    async def post(self, path: str, body: object = None, /) -> Any:  # noqa: ANN401
        """Ask for something to be done."""
        return (await self._call("POST", path, body)).json()

    async def put(self, path: str, body: object, /) -> Any:  # noqa: ANN401
        """Ask for something to be changed."""
        return (await self._call("PUT", path, body)).json()

    async def delete(self, path: str, /) -> None:
        """Ask for something to be removed."""
        await self._call("DELETE", path)

    async def _call(self, method: str, path: str, body: object = None) -> httpx.Response:
        headers = {}
        if self._session is not None:
            if self._session.token is None:
                raise RefusedError(401, "unauthorized", "you have signed out; sign in again")
            headers["Authorization"] = f"Bearer {self._session.token}"
        response = await self._client.request(method, path, json=body, headers=headers)
        if response.is_success:
            return response
        raise refusal(response)


def refusal(response: httpx.Response, /) -> RefusedError:
    """The error in an answer.

    >>> refusal(httpx.Response(409, json={"error": "state", "message": "it runs already"})).message
    'it runs already'
    >>> raw = {"error": "malformed", "message": "body.name: String should match pattern '^x'"}
    >>> refusal(httpx.Response(400, json=raw)).message
    'something that was filled in does not fit; check the fields'
    >>> refusal(httpx.Response(500)).code
    'unknown'
    """
    try:
        said = response.json()
        code, message = str(said["error"]), str(said["message"])
        # What a validator says of a request's fields is for those who write requests.
        return RefusedError(response.status_code, code, PLAIN.get(code, message))
    except (ValueError, KeyError, TypeError):
        message = f"the platform answered {response.status_code}; try again, or look at its log"
        return RefusedError(response.status_code, "unknown", message)
