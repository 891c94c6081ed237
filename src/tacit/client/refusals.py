"""What a platform answers in place of what was asked, as an error that says what to do."""

from __future__ import annotations

from typing import Any

import httpx
import msgspec

from tacit.errors import (
    ConflictError,
    FaultError,
    NotAllowedError,
    OverloadedError,
    PlatformError,
    RejectedError,
    TokenError,
    UnknownError,
)
from tacit.plain_text import plain_line

_KINDS: dict[int, type[PlatformError]] = {
    403: NotAllowedError,
    404: UnknownError,
    409: ConflictError,
}


def refusal(answer: httpx.Response, content: bytes, url: str, /) -> PlatformError:
    """The error in an answer; its sentence is the platform's where that has one.

    >>> body = b'{"error": "wrong_state", "message": "the run is running; wait"}'
    >>> refusal(httpx.Response(409), body, "https://platform.example")
    ConflictError('the run is running; wait')
    """
    status = answer.status_code
    try:
        answered = msgspec.json.decode(content, type=dict[str, Any])
        message = plain_line(answered.get("message", ""))
    except msgspec.DecodeError:
        message = ""
    if status == 401:
        return TokenError(
            "the platform does not know your token: it has expired or was revoked; ask the "
            f"operator for a new invitation, then run tacit participant join {url} CODE",
            status=status,
        )
    if status in (429, 503):
        return _later(answer, message)
    if status >= 500:
        said = f"{status}: {message}" if message else f"{status}"
        text = f"the platform failed ({said}); tell its operator, and try again later"
        return FaultError(text, status=status)
    text = message or f"the platform refuses ({status}); ask its operator why"
    return _KINDS.get(status, RejectedError)(text, status=status)


def _later(answer: httpx.Response, message: str) -> OverloadedError:
    status, given = answer.status_code, plain_line(answer.headers.get("Retry-After", ""))
    wait = float(given) if given.isdecimal() and len(given) < 6 else None
    if status == 503 and message:
        text = f"the platform cannot do that now: {message}; try again later"
    else:
        text = f"the platform has too much to do; try again in {given or 60} s"
    return OverloadedError(text, status=status, retry_after=wait)
