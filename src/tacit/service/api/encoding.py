"""Decode request bodies into records, and encode answers and errors as JSON.

An endpoint names records in its signature as FastAPI's endpoints name their models: a parameter
that is a record is the request's body, which `Intake` decodes and validates, and the record that it
returns is the answer. An error is a code and a sentence, never a stack trace.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import cache, wraps
from types import NoneType, UnionType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec
from fastapi import APIRouter, Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from tacit.client import (
    CarriedLogs,
    ErrorAnswer,
    Page,
    Parts,
    PublicWeights,
    RunResult,
    read_request,
)
from tacit.errors import (
    EngineError,
    FileError,
    InputError,
    MalformedError,
    MpcError,
    NodesError,
    OverloadedError,
    RefusedError,
    ServiceError,
    StorageError,
    TacitError,
)

JSON = "application/json"
REFERENCE = "#/components/schemas/{name}"
LARGE_ANSWERS = (Page, CarriedLogs, Parts, PublicWeights, RunResult)
"""Answers that can have megabytes; a thread encodes them."""
Endpoint = Callable[..., Awaitable[Any]]


class TypedRouter(APIRouter):
    """A router that takes and answers records."""

    def add_api_route(self, path: str, endpoint: Endpoint, **options: Any) -> None:  # noqa: ANN401 - FastAPI's own
        """Add a route, and say in the API's document what it takes and answers."""
        kinds = get_type_hints(endpoint, include_extras=True)
        bodies = {name: kind for name, kind in kinds.items() if _record_in(kind) is not None}
        answer = kinds.pop("return", None)
        bodies.pop("return", None)
        status = options.get("status_code") or 200
        for kind in bodies.values():
            content = {JSON: {"schema": schema_of(kind)}}
            required = NoneType not in get_args(kind)
            options["openapi_extra"] = {"requestBody": {"required": required, "content": content}}
        if _is_answer(answer):
            content = {JSON: {"schema": schema_of(answer)}}
            shown = {status: {"description": "As asked.", "content": content}}
            options["responses"] = {**shown, **(options.get("responses") or {})}
        # FastAPI would build a Pydantic model of each record. msgspec writes and describes them.
        options["response_model"] = None
        super().add_api_route(path, _adapted(endpoint, kinds, bodies, status), **options)


def _record_in(kind: object) -> type[msgspec.Struct] | None:
    """The record that a parameter is, or may be."""
    for each in (kind, *(get_args(kind) if get_origin(kind) is UnionType else ())):
        if isinstance(each, type) and issubclass(each, msgspec.Struct):
            return each
    return None


def _is_answer(kind: object) -> bool:
    return _record_in(kind) is not None or get_origin(kind) in (list, Page)


def _adapted(
    endpoint: Endpoint, kinds: dict[str, Any], bodies: dict[str, Any], status: int
) -> Endpoint:
    """Wrap an endpoint for FastAPI: a dependency reads its body, its answer leaves as JSON."""

    @wraps(endpoint)
    async def answered(**given: Any) -> Any:  # noqa: ANN401 - FastAPI's own
        found = await endpoint(**given)
        if found is None or isinstance(found, Response):
            return found
        content = await _encoded(found)
        return Response(content, status_code=status, media_type=JSON)

    parameters = [
        each.replace(annotation=Annotated[Any, Depends(_reader(bodies[name]))], default=each.empty)
        if name in bodies
        else each.replace(annotation=kinds[name])
        for name, each in inspect.signature(endpoint).parameters.items()
    ]
    signature = inspect.Signature(parameters)
    answered.__signature__ = signature  # type: ignore[attr-defined]
    return answered


async def _encoded(answer: object) -> bytes:
    if isinstance(answer, LARGE_ANSWERS):
        return await asyncio.to_thread(msgspec.json.encode, answer)
    return msgspec.json.encode(answer)


@cache
def _reader(kind: Any) -> Callable[[Request], Awaitable[msgspec.Struct | None]]:  # noqa: ANN401 - a type
    record = _record_in(kind)
    assert record is not None
    # msgspec describes a type at its first use, and two threads that did so at once would crash
    # the process. Routes are made before there are any.
    with suppress(msgspec.DecodeError):
        read_request(b"", record)

    async def read(request: Request) -> msgspec.Struct | None:
        found: msgspec.Struct | None = await request.app.state.platform.intake.record(
            request, record
        )
        if found is None and NoneType not in get_args(kind):
            raise MalformedError("the request has no body; see the API's document")
        return found

    return read


def schema_of(kind: Any) -> dict[str, Any]:  # noqa: ANN401 - a type
    (schema,), _ = msgspec.json.schema_components([kind], ref_template=REFERENCE)
    return schema


def error_schema() -> dict[str, Any]:
    return {JSON: {"schema": schema_of(ErrorAnswer)}}


def add_schemas(document: dict[str, Any], routes: list[Any], /) -> dict[str, Any]:
    """Add the schemas of all records that routes take and answer to the API's document."""
    kinds: list[Any] = [ErrorAnswer]
    for route in routes:
        if isinstance(route, APIRoute):
            named = get_type_hints(inspect.unwrap(route.endpoint))
            kinds += [kind for kind in named.values() if _is_answer(kind)]
    _, found = msgspec.json.schema_components(kinds, ref_template=REFERENCE)
    # Python ends a pattern by \Z, since its $ leaves room for a line break; elsewhere it is $.
    plain = msgspec.json.encode(found).replace(rb"\\Z", b"$")
    document.setdefault("components", {}).setdefault("schemas", {}).update(
        msgspec.json.decode(plain)
    )
    return document


log = logging.getLogger("tacit.service")

HTTP_ERRORS = {
    400: ("malformed", "the body cannot be read as JSON; correct it"),
    404: ("not_found", "there is nothing at this address; see the API's document"),
    405: ("wrong_method", "this method is not for this address; see the API's document"),
    408: ("too_slow", "the body did not arrive in time; send it again"),
    413: ("too_large", "the request is too large; send less"),
}
"""The errors of the framework, as clients read them."""
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
    """Describe errors in the OpenAPI document."""
    return {
        status: {"description": MEANINGS[status], "content": error_schema()} for status in statuses
    }


def error_answer(
    status: int, code: str, message: str, /, *, headers: dict[str, str] | None = None
) -> JSONResponse:
    # Messages may quote names from the request, which can be long.
    content = {"error": code, "message": message[:LONGEST_MESSAGE]}
    return JSONResponse(content, status_code=status, headers=headers)


def add_error_handlers(app: FastAPI, /) -> None:
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
            # HTTP requires this header in an answer 401 (RFC 9110, section 11.6.1).
            headers["WWW-Authenticate"] = "Bearer"
        if isinstance(error, StorageError):
            log.error("the database is away", extra={"fields": {"what": message}})
            # The driver's message names hosts and users, which only operators may see.
            message = "the database cannot be used right now; try again in a minute"
        return error_answer(error.status, error.code, message, headers=headers)
    # What nodes refuse or cannot do now, they may do later: the client is told to retry.
    if isinstance(error, (MpcError, RefusedError)):
        return error_answer(NodesError.status, NodesError.code, message)
    # A file's error names a path on the platform's disk, which clients must not see.
    if isinstance(error, (InputError, EngineError)) and not isinstance(error, FileError):
        return error_answer(ServiceError.status, ServiceError.code, message)
    return await _internal_error(request, error)


async def _malformed(_request: Request, error: Exception) -> Response:
    """Name the first thing that is wrong, without repeating what was sent: it may be a secret."""
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
    # The stack trace stays in the log. The number lets the operator find it there.
    number = request.scope.get("tacit_request", "-")
    log.error("internal error", exc_info=error, extra={"fields": {"request": number}})
    return error_answer(500, "internal", f"internal error; give the operator the number {number}")
