"""Routes whose bodies and answers are the client's records, decoded and encoded by msgspec.

An endpoint names records in its signature as FastAPI's endpoints name their models: a parameter
that is a record is the request's body, and the record that it returns is the answer. Bodies are
validated here, once; answers are written as they are.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from functools import cache, wraps
from types import NoneType, UnionType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec
from fastapi import APIRouter, Depends, Request, Response
from fastapi.routing import APIRoute
from starlette.requests import ClientDisconnect

from tacit.client import ErrorAnswer, plain_trouble, read_request
from tacit.errors import MalformedError

JSON = "application/json"
REFERENCE = "#/components/schemas/{name}"
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
        options["response_model"] = None
        super().add_api_route(path, _adapted(endpoint, kinds, bodies, status), **options)


def _record_in(kind: object) -> type[msgspec.Struct] | None:
    """The record that a parameter is, or may be."""
    for each in (kind, *(get_args(kind) if get_origin(kind) is UnionType else ())):
        if isinstance(each, type) and issubclass(each, msgspec.Struct):
            return each
    return None


def _is_answer(kind: object) -> bool:
    return _record_in(kind) is not None or get_origin(kind) is list


def _adapted(
    endpoint: Endpoint, kinds: dict[str, Any], bodies: dict[str, Any], status: int
) -> Endpoint:
    """The endpoint as FastAPI calls it: a dependency reads its body, and records leave as JSON."""

    @wraps(endpoint)
    async def answered(**given: Any) -> Any:  # noqa: ANN401 - FastAPI's own
        found = await endpoint(**given)
        if found is None or isinstance(found, Response):
            return found
        return Response(msgspec.json.encode(found), status_code=status, media_type=JSON)

    parameters = [
        each.replace(annotation=Annotated[Any, Depends(_reader(bodies[name]))], default=each.empty)
        if name in bodies
        else each.replace(annotation=kinds[name])
        for name, each in inspect.signature(endpoint).parameters.items()
    ]
    signature = inspect.Signature(parameters)
    answered.__signature__ = signature  # type: ignore[attr-defined]
    return answered


@cache
def _reader(kind: Any) -> Callable[[Request], Awaitable[msgspec.Struct | None]]:  # noqa: ANN401 - a type
    record = _record_in(kind)
    assert record is not None

    async def read(request: Request) -> msgspec.Struct | None:
        try:
            content = await request.body()
        except ClientDisconnect:
            raise MalformedError("the body did not come whole; send it again") from None
        if not content and NoneType in get_args(kind):
            return None
        try:
            return read_request(content, record)
        except msgspec.ValidationError as error:
            raise MalformedError(f"{plain_trouble(error)}; see the API's document") from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise MalformedError("the body cannot be read as JSON; correct it") from None

    return read


def schema_of(kind: Any) -> dict[str, Any]:  # noqa: ANN401 - a type
    """How the API's document refers to a type."""
    (schema,), _ = msgspec.json.schema_components([kind], ref_template=REFERENCE)
    return schema


def error_schema() -> dict[str, Any]:
    """How it refers to errors."""
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
