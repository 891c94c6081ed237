"""Read and check input that may be large, in a form that `Background` can run: bytes to bytes."""

from __future__ import annotations

from functools import partial
from typing import TypeVar

import msgspec

from tacit.client import RunTerms, plain_trouble, read_request
from tacit.errors import MalformedError, TacitError
from tacit.service.background import Background
from tacit.service.workflow.drafting import checked_terms
from tacit.verify import Finding, Verdict, check_bundle, read_bundle

T = TypeVar("T")
_READ_TERMS = msgspec.msgpack.Decoder(RunTerms)
READ_SECONDS, CHECK_SECONDS = 10.0, 60.0


def decoded(content: bytes, kind: type[T], /) -> T:
    """Decode a request's body, or raise the error that refuses it; the first trouble ends it."""
    try:
        return read_request(content, kind)
    except msgspec.ValidationError as error:
        raise MalformedError(f"{plain_trouble(error)}; see the API's document") from None
    # Deeply nested JSON exceeds the recursion limit, which is a fault of the request and not of
    # ours.
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise MalformedError("the body cannot be read as JSON; correct it") from None


async def decoded_apart(background: Background, content: bytes, kind: type[T], /) -> T:
    """Decode a large body in another process; what comes back holds nothing unknown."""
    packed = await background.compute(partial(_decode, kind), content, within=READ_SECONDS)
    return msgspec.msgpack.decode(packed, type=kind)


def _decode(kind: type[object], content: bytes) -> bytes:
    return msgspec.msgpack.encode(decoded(content, kind))


async def checked_apart(background: Background, terms: RunTerms, /) -> RunTerms:
    """`checked_terms` in another process: with large matrices it takes seconds."""
    packed = msgspec.msgpack.encode(terms)
    found = await background.compute(_check, packed, within=CHECK_SECONDS)
    return _READ_TERMS.decode(found)


def _check(packed: bytes) -> bytes:
    return msgspec.msgpack.encode(checked_terms(_READ_TERMS.decode(packed)))


def verdict_of(packed: bytes, /) -> bytes:
    """Check an audit bundle, and return the verdict as JSON."""
    # A file that is no bundle is a finding like any other, and no error of the platform.
    verdict = Verdict("", "")
    try:
        verdict = check_bundle(read_bundle(packed))
    except TacitError as error:
        verdict.findings.append(Finding("bundle", False, str(error)))
    return msgspec.json.encode(verdict)
