"""The chain of a log, read line by line: a log may be longer than the memory."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeVar

import msgspec

from tacit.errors import LogError
from tacit.files import other_version, reading
from tacit.records.events import FORMAT, AgreementAccepted, Event
from tacit.records.node_events import AnyEvent
from tacit.wire.attempt import decode_attempt

Log = Sequence[Event]
E = TypeVar("E", bound=Event)
FIRST = "0" * 64
LONGEST_LINE = 2 << 20
"""Bytes; what nodes write is a thousandth of that."""
_READ = msgspec.json.Decoder(AnyEvent, dec_hook=decode_attempt)


def events_of(kind: type[E], log: Log, /) -> list[E]:
    """The events of one kind, in their order."""
    return [event for event in log if isinstance(event, kind)]


class Line(NamedTuple):
    """A line of an unbroken chain."""

    event: Event
    hash: str
    """What the next line calls this one."""
    end: int
    """Where the next line begins, in bytes."""


class _Chained(msgspec.Struct):
    """Of any line, what it follows."""

    previous: str


_READ_CHAINED = msgspec.json.Decoder(_Chained)


def line_hash(line: bytes, /) -> str:
    """What the next line calls this one."""
    return hashlib.sha256(line).hexdigest()


def read_chain(
    file: BinaryIO, /, *, offset: int = 0, previous: str = FIRST, lines: int = 0
) -> Iterator[Line]:
    """The lines of an unbroken chain, or a `LogError` at the first broken one.

    One that does not begin at the first line begins at an offset, after so many `lines`, of which
    the last has the hash `previous`.
    """
    file.seek(offset)
    for number, written in enumerate(iter(lambda: file.readline(LONGEST_LINE), b""), lines + 1):
        if not written.endswith(b"\n"):
            raise LogError(f"line {number} is cut off; the log was damaged")
        line = written[:-1]
        event = _event(number, line, previous)
        previous, offset = line_hash(line), offset + len(written)
        yield Line(event, previous, offset)


def verify_log(data: bytes, /) -> list[Event]:
    """All events of an unbroken chain, or a `LogError` with the first broken line."""
    return [line.event for line in read_chain(io.BytesIO(data))]


def read_log(path: Path, /) -> Iterator[Line]:
    """The lines of a log in a file, or a `LogError` at the first broken one."""
    with reading(path), path.open("rb") as file:
        yield from read_chain(file)


def decode_line(line: bytes, /) -> Event:
    """The event of a line whose place in the chain is known."""
    event: Event = _READ.decode(line)
    return event


def _event(number: int, line: bytes, previous: str) -> Event:
    try:
        event = decode_line(line)
    except (msgspec.ValidationError, UnicodeDecodeError) as error:
        # Whoever changed a line is found out first, whatever it says now.
        _check_follows(number, line, previous)
        raise LogError(
            f"line {number} is not an event of this version ({error}); the log was changed, or "
            "another version of tacit wrote it"
        ) from None
    except (msgspec.DecodeError, RecursionError):
        raise LogError(f"line {number} is not an event; the log was changed") from None
    if event.previous != previous:
        raise LogError(f"line {number} does not follow line {number - 1}; the log was changed")
    if isinstance(event, AgreementAccepted) and event.format != FORMAT:
        raise LogError(f"the log {other_version(msgspec.structs.asdict(event), FORMAT)}")
    return event


def _check_follows(number: int, line: bytes, previous: str) -> None:
    try:
        follows = _READ_CHAINED.decode(line).previous
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise LogError(f"line {number} is not an event; the log was changed") from None
    if follows != previous:
        raise LogError(f"line {number} does not follow line {number - 1}; the log was changed")
