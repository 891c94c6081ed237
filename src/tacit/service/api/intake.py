"""Take request bodies: count their bytes, and decode large ones in another process."""

from __future__ import annotations

import asyncio
import re
from contextlib import AsyncExitStack
from typing import TypeVar

from fastapi import Request
from starlette.requests import ClientDisconnect

from tacit.client import RunTerms
from tacit.errors import MalformedError
from tacit.service.access.limits import ConcurrencyLimit, RateLimit
from tacit.service.access.permissions import LARGE_BODIES
from tacit.service.background import Background
from tacit.service.workflow.drafting import checked_terms
from tacit.service.workflow.large_input import checked_apart, decoded, decoded_apart

T = TypeVar("T")
SMALL_BYTES = 64 * 1024
"""Most of what is sent is a few lines. What is larger is decoded in another process."""
LARGE_AT_ONCE, LARGE_EACH, LARGE_WAIT_SECONDS = 16, 2, 30.0
"""So many large bodies have room in the platform's memory, and so many of them of one account."""
MANY_CELLS = 10_000
"""Public matrices of more are checked in another process."""
UPLOADS = re.compile(r"/_nicegui/client/[^/]+/upload/[0-9]+")
"""Where the forms of the dashboard take files."""
PREFIX = "/api/v1"
_LARGE = [
    (method, re.compile(PREFIX + re.sub(r"\{\w+\}", "[^/]+", path)))
    for method, path in LARGE_BODIES
]


def may_be_large(method: str, path: str, /) -> bool:
    """Whether a request may have more than `SMALL_BYTES`: drafts, submissions and uploads.

    >>> may_be_large("POST", "/api/v1/runs"), may_be_large("POST", "/api/v1/join")
    (True, False)
    """
    if method == "POST" and UPLOADS.fullmatch(path) is not None:
        return True
    return any(method == each and pattern.fullmatch(path) for each, pattern in _LARGE)


class Intake:
    """Reads the bodies of admitted requests; one per service."""

    def __init__(self, background: Background, *, bytes_per_minute: int) -> None:
        self._background = background
        self.by_account = RateLimit(bytes_per_minute, what="bytes")
        self._large = ConcurrencyLimit(
            "large requests", at_once=LARGE_AT_ONCE, each=LARGE_EACH, within=LARGE_WAIT_SECONDS
        )

    async def record(self, request: Request, kind: type[T], /) -> T | None:
        """Return the body as a record of this kind, or None if it is empty."""
        async with AsyncExitStack() as held:
            content = await self._content(request, held)
            if not content:
                return None
            if len(content) <= SMALL_BYTES:
                return decoded(content, kind)
            return await decoded_apart(self._background, content, kind)

    async def _content(self, request: Request, held: AsyncExitStack) -> bytes:
        who = getattr(request.state, "who", None)
        # The server itself refuses a body that is longer than it announced.
        counted = int(request.headers.get("content-length", "0"))
        if who is not None:
            self.by_account.take(who.account, counted)
        chunks: list[bytes] = []
        size, is_large = 0, False
        try:
            async for chunk in request.stream():
                size += len(chunk)
                if size > counted and who is not None:
                    self.by_account.take(who.account, size - counted)
                    counted = size
                if size > SMALL_BYTES and who is not None and not is_large:
                    await held.enter_async_context(self._large.slot(who.account))
                    is_large = True
                chunks.append(chunk)
        except ClientDisconnect:
            raise MalformedError("the body did not come whole; send it again") from None
        return b"".join(chunks)

    async def checked(self, terms: RunTerms, /) -> RunTerms:
        """`checked_terms`, where it disturbs nobody."""
        given = (each.weights for each in terms.objectives if each.weights is not None)
        if sum(len(rows) * len(rows[0]) for rows in given if rows) > MANY_CELLS:
            return await checked_apart(self._background, terms)
        return await asyncio.to_thread(checked_terms, terms)
