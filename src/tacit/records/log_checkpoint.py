"""What a node has to know of a log when it starts again, without reading all of it.

A node's state follows from the last few lines of each kind. A checkpoint says where those stand,
and up to where the log was read: the line that ends there must have the hash that the checkpoint
names, so that the log up to it is the one that was read. The lines themselves are in the log alone.
In doubt the checkpoint does not count, and the log is read from its first line.
"""

from __future__ import annotations

from collections import defaultdict, deque
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec

from tacit.files import replace_secret
from tacit.records.events import Event, RequestFailed, RequestRefused
from tacit.records.log_chain import FIRST, LONGEST_LINE, decode_line, line_hash
from tacit.records.node_events import NodeEvent

KEPT_LINES = 16
"""Of each kind of event and disclosure, for each objective, search and participant."""
_WITHOUT_STATE = (RequestRefused, RequestFailed, NodeEvent)
"""Nothing that a node does depends on these."""


class Kept(NamedTuple):
    """An event, and where its line stands in the log."""

    offset: int
    length: int
    event: Event


class RecentEvents:
    """The last events of each kind: what is folded into the state when a node starts."""

    def __init__(self) -> None:
        self._kept: defaultdict[tuple[object, ...], deque[Kept]] = defaultdict(
            lambda: deque(maxlen=KEPT_LINES)
        )

    def add(self, kept: Kept, /) -> None:
        """Remember an event, and forget the oldest of its kind above the limit."""
        event = kept.event
        if not isinstance(event, _WITHOUT_STATE):
            # What was sent is kept apart by what it was: many evaluations push no plan out.
            names = ("objective", "search", "participant", "kind", "about")
            about = (getattr(event, name, None) for name in names)
            self._kept[type(event), *about].append(kept)

    def in_order(self) -> list[Kept]:
        """What is remembered, as it stands in the log."""
        return sorted((each for kept in self._kept.values() for each in kept), key=lambda k: k[0])


class Checkpoint(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="log checkpoint/1"):
    """How far a log was read, and which of its lines still count."""

    offset: int = 0
    lines: int = 0
    head: str = FIRST
    """The hash of the last line before the offset."""
    kept: list[tuple[int, int]] = []
    """Offset and length of each line that counts."""


_READ = msgspec.msgpack.Decoder(Checkpoint)


def save_checkpoint(path: Path, checkpoint: Checkpoint, /) -> None:
    """Keep a checkpoint beside its log."""
    replace_secret(path, msgspec.msgpack.encode(checkpoint))


def load_checkpoint(path: Path, log: BinaryIO, /) -> tuple[Checkpoint, RecentEvents]:
    """The checkpoint, if the log bears it out; otherwise one at the log's beginning."""
    try:
        checkpoint = _READ.decode(path.read_bytes())
        recent = RecentEvents()
        if line_hash(_line_before(log, checkpoint.offset)) != checkpoint.head:
            return Checkpoint(), RecentEvents()
        for offset, length in checkpoint.kept:
            event = decode_line(_read(log, offset, length))
            recent.add(Kept(offset, length, event))
    except (OSError, ValueError, msgspec.DecodeError, RecursionError):
        return Checkpoint(), RecentEvents()
    return checkpoint, recent


def _read(log: BinaryIO, offset: int, length: int) -> bytes:
    if not 0 <= length <= LONGEST_LINE:
        raise ValueError("no line is so long")
    log.seek(offset)
    return log.read(length)


def _line_before(log: BinaryIO, end: int) -> bytes:
    """The line that ends just before an offset."""
    begin = max(0, end - LONGEST_LINE)
    data = _read(log, begin, end - begin)
    if len(data) < end - begin or not data.endswith(b"\n"):
        raise ValueError("no line ends there")
    return data[data.rfind(b"\n", 0, len(data) - 1) + 1 : -1]
