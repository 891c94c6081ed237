"""What clients read when something fails: a code and a sentence, never a stack trace."""

from __future__ import annotations

import logging
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from tacit.errors import (
    EngineError,
    FileError,
    InputError,
    MpcError,
    NodesError,
    OverloadedError,
    RefusedError,
    ServiceError,
    StorageError,
    TacitError,
)
from tacit.service.api.typed_routes import error_schema

log = logging.getLogger("tacit.service")

HTTP_ERRORS = {
    400: ("malformed", "the body cannot be read as JSON; correct it"),
    404: ("not_found", "there is nothing at this address; see the API's document"),
    405: ("wrong_method", "this method is not for this address; see the API's document"),
    408: ("too_slow", "the body did not arrive in time; send it again"),
    413: ("too_large", "the request is too large; send less"),
}
"""What the framework refuses, as clients read it."""
LONGEST_MESSAGE = 500

MEANINGS = {
    400: "The request is malformed.",
    401: "No token, or one that does not count.",
    403: "This role may not do that.",
    404: "It is not there, or not yours.",
    409: "The run's state does not allow it.",
    413: "The request is too large.",
    422: "Well-formed, but refused.",
    429: "Too many requests; see Retry-After.",
    503: "The nodes cannot be reached, or there is too much to do; retry later.",
}


def error_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """How the OpenAPI document describes errors."""
    return {
        status: {"description": MEANINGS[status], "content": error_schema()} for status in statuses
    }


def error_answer(
    status: int, code: str, message: str, /, *, headers: dict[str, str] | None = None
) -> JSONResponse:
    """An error in its one form."""
    content = {"error": code, "message": message[:LONGEST_MESSAGE]}
    return JSONResponse(content, status_code=status, headers=headers)


def add_error_handlers(app: FastAPI, /) -> None:
    """Have all errors answered in their one form."""
    app.add_exception_handler(TacitError, _tacit_error)
    app.add_exception_handler(RequestValidationError, _malformed)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Exception, _internal_error)


async def _tacit_error(request: Request, error: Exception) -> Response:
    message = str(error)
    if isinstance(error, ServiceError):
        headers = {}
        if isinstance(error, OverloadedError) and error.retry_after is not None:
            headers["Retry-After"] = str(error.retry_after)
        if error.status == 401:
            headers["WWW-Authenticate"] = "Bearer"
        if isinstance(error, StorageError):
            log.error("the database is away", extra={"fields": {"what": message}})
            # The driver's words name hosts and users, which are the operators' affair.
            message = "the database cannot be used right now; try again in a minute"
        return error_answer(error.status, error.code, message, headers=headers)
    if isinstance(error, (MpcError, RefusedError)):
        return error_answer(NodesError.status, NodesError.code, message)
    # A file's error names a path on the platform's disk, which clients must not see.
    if isinstance(error, (InputError, EngineError)) and not isinstance(error, FileError):
        return error_answer(ServiceError.status, ServiceError.code, message)
    return await _internal_error(request, error)


async def _malformed(_request: Request, error: Exception) -> Response:
    """The first thing that is wrong, without repeating what was sent: it may be a secret."""
    found = error.errors() if isinstance(error, RequestValidationError) else []
    first = found[0] if found else {"loc": (), "msg": "malformed"}
    place = ".".join(str(part) for part in first["loc"])[:100]
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return error_answer(400, "malformed", f"{place}: {first['msg']}{more}; see the API's document")


async def _http_error(_request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    headers = dict(error.headers or {}) if isinstance(error, HTTPException) else {}
    other = ("malformed", "the request is malformed; see the API's document")
    return error_answer(status, *HTTP_ERRORS.get(status, other), headers=headers)


async def _internal_error(request: Request, error: Exception) -> Response:
    number = request.scope.get("tacit_request", "-")
    log.error("internal error", exc_info=error, extra={"fields": {"request": number}})
    return error_answer(500, "internal", f"internal error; give the operator the number {number}")
