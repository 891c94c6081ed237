"""Messages of every type with changes, as a node, a platform and a peer read them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from hypothesis import strategies as st

from tacit.records.messages import AnyRequest, Reply, decode_reply, decode_request, encode_message
from tacit.records.peer_messages import PeerMessage, decode_peer_message, encode_peer_message
from tacit.records.requests import Attempt
from tests.fuzz.harness import FindingError, Target, Trial
from tests.fuzz.mutations import as_msgpack, mutated, sometimes_mangled

Read = Callable[..., Any]
Write = Callable[[Any], bytes]
KINDS: list[tuple[Any, Read, Write]] = [
    (AnyRequest, decode_request, encode_message),
    (Reply, decode_reply, encode_message),
    (PeerMessage, decode_peer_message, encode_peer_message),
]


def sample(kind: Any) -> Any:
    """A value of the type of a field."""
    origin, within = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return sample(within[0])
    if origin is Literal:
        return within[0]
    if origin in (Union, UnionType):
        return sample(within[0])
    if origin is list:
        return [sample(within[0])] * 2
    if origin is tuple:
        return tuple(sample(each) for each in within if each is not ...)
    if origin is dict:
        return {sample(within[0]): sample(within[1])}
    if issubclass(kind, msgspec.Struct):
        return made(kind)
    if issubclass(kind, Enum):
        return next(iter(kind))
    plain = {
        int: 3, float: 1.5, str: "word", bytes: b"\x01" * 32, bool: True, type(None): None,
        Attempt: Attempt("1:2:3"),
    }  # fmt: skip
    return plain[kind]


def made(kind: type[msgspec.Struct]) -> Any:
    """A message of a type, all of whose fields are filled in."""
    return kind(**{field.name: sample(field.type) for field in msgspec.structs.fields(kind)})


def samples(union: Any) -> list[Any]:
    """A message of each type."""
    return [made(kind) for kind in get_args(union)]


@contextmanager
def messages() -> Iterator[Trial]:
    """Anything is read as a message that comes back as it was, or it is a `FrameError`."""
    sources = [
        (msgspec.msgpack.decode(write(message)), read, write)
        for union, read, write in KINDS
        for message in samples(union)
    ]

    @st.composite
    def examples(draw: st.DrawFn) -> tuple[bytes, Read, Write]:
        tree, read, write = draw(st.sampled_from(sources))
        return draw(sometimes_mangled(as_msgpack(draw(mutated(tree))))), read, write

    def run(example: tuple[bytes, Read, Write]) -> int:
        data, read, write = example
        message = read(data, peer="node 1")
        if read(write(message), peer="node 1") != message:
            raise FindingError(f"{message} does not come back")
        return 1

    yield Trial(examples(), run)


TARGETS = [Target("messages", 100_000, messages)]
