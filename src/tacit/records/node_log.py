"""Write a node's log, and find its end again after a restart or a crash.

Lines are appended and never changed. A node's state follows from the first and the last few lines
of each kind. A checkpoint says where those stand, and up to where the log was read: the line that
ends there must have the hash that the checkpoint names, so that the log up to it is the one that
was read. The lines themselves are in the log alone. In doubt the checkpoint does not count, and the
log is read from its first line.
"""

from __future__ import annotations

import errno
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import BinaryIO, NamedTuple

import msgspec

from tacit.errors import LogError, UnwrittenError
from tacit.files import replace_secret
from tacit.records.events import LogEvent, StateEvent
from tacit.records.log import FIRST, LONGEST_LINE, LogHead, decode_line, line_hash, read_chain
from tacit.records.requests import encode_attempt


class LineLimit:
    """A supply of lines that fills up again with time."""

    def __init__(
        self,
        *,
        burst: int,
        per_minute: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._burst, self._rate, self._clock = burst, per_minute / 60, clock
        self._left, self._at = float(burst), clock()
        self._left_out = 0

    def admit(self) -> int | None:
        """Return how many lines were left out before this one; None leaves this one out as well."""
        now = self._clock()
        self._left = min(self._burst, self._left + (now - self._at) * self._rate)
        self._at = now
        if self._left < 1:
            self._left_out += 1
            return None
        self._left -= 1
        left_out, self._left_out = self._left_out, 0
        return left_out


KEPT_LINES = 16
"""The last of each kind of event and disclosure, for each objective, search and participant."""


class Kept(NamedTuple):
    """An event, and where its line stands in the log."""

    offset: int
    length: int
    event: StateEvent


class RecentEvents:
    """The first and the last events of each kind: a node restores its state from them."""

    def __init__(self) -> None:
        self._kept: defaultdict[tuple[object, ...], list[Kept]] = defaultdict(list)

    def add(self, offset: int, length: int, event: LogEvent, /) -> None:
        """Remember an event and where its line stands; forget one of its kind above the limit."""
        # A platform can cause any number of others, which must not push out what counts.
        if not isinstance(event, StateEvent):
            return
        # What was sent is kept apart by what it was: many evaluations push no plan out. So are the
        # phases of ballots: however many ballots a platform begins, the last lock stays.
        names = ("objective", "search", "participant", "kind", "about", "phase")
        about = (getattr(event, name, None) for name in names)
        alike = self._kept[type(event), *about]
        alike.append(Kept(offset, length, event))
        # The first one stays, since a clock may have begun with it. Otherwise whoever makes starts
        # fail until it is pushed out would set the clock of the search forward.
        if len(alike) > 1 + KEPT_LINES:
            del alike[1]

    def in_order(self) -> list[Kept]:
        return sorted((each for kept in self._kept.values() for each in kept), key=lambda k: k[0])


class Checkpoint(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="log checkpoint/1"):
    """How far a log was read, and which of its lines still count."""

    offset: int = 0
    lines: int = 0
    head: str = FIRST
    """The hash of the last line before the offset."""
    kept: list[tuple[int, int]] = []
    """Offset and length of each line that counts."""


_READ_CHECKPOINT = msgspec.msgpack.Decoder(Checkpoint)


def save_checkpoint(path: Path, checkpoint: Checkpoint, /) -> None:
    replace_secret(path, msgspec.msgpack.encode(checkpoint))


def load_checkpoint(path: Path, log: BinaryIO, /) -> tuple[Checkpoint, RecentEvents]:
    """Return the checkpoint if the log bears it out, else one at the log's beginning."""
    try:
        checkpoint = _READ_CHECKPOINT.decode(path.read_bytes())
        recent = RecentEvents()
        # The checkpoint may be of another log, or of one that was replaced by an old copy.
        if line_hash(_line_before(log, checkpoint.offset)) != checkpoint.head:
            return Checkpoint(), RecentEvents()
        for offset, length in checkpoint.kept:
            recent.add(offset, length, decode_line(_read(log, offset, length)))
    except (OSError, ValueError, msgspec.DecodeError, RecursionError):
        return Checkpoint(), RecentEvents()
    return checkpoint, recent


def _read(log: BinaryIO, offset: int, length: int) -> bytes:
    if not 0 <= length <= LONGEST_LINE:
        raise ValueError("no line is so long")
    log.seek(offset)
    return log.read(length)


def _line_before(log: BinaryIO, end: int) -> bytes:
    begin = max(0, end - LONGEST_LINE)
    data = _read(log, begin, end - begin)
    if len(data) < end - begin or not data.endswith(b"\n"):
        raise ValueError("no line ends there")
    return data[data.rfind(b"\n", 0, len(data) - 1) + 1 : -1]


_ENCODER = msgspec.json.Encoder(order="sorted", enc_hook=encode_attempt)
PAGE_BYTES = 1 << 20
"""So much of a log travels in one reply; a platform may ask for many at once and read none."""
CHECKPOINT_BYTES = 1 << 20
"""So much of a log is read at most when a node starts, if it ended well or not."""


class NodeLog:
    """The log of a node about one agreement, or about itself.

    Its file is open while something is written and no longer: a node keeps a thousand logs and
    more, and a process may not have that many files open.
    """

    def __init__(self, path: Path, /) -> None:
        self.path = path
        self.heard: Callable[[LogEvent], None] | None = None
        """Called with each event, once its line is written."""
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
        self._appending, self._syncing = Lock(), Lock()
        """Lines and syncs come from threads, too."""
        self._drop_torn_line()
        self._read()
        self._torn = False
        self._keep_up()

    @contextmanager
    def _opened(self, *, append: bool = False) -> Iterator[int]:
        file = os.open(self.path, os.O_RDWR | (os.O_APPEND if append else 0))
        try:
            yield file
        finally:
            os.close(file)

    def _drop_torn_line(self) -> None:
        # A crash in mid-append leaves half a line. Its event never began: nothing leaves a node
        # before the whole line is written.
        with self._opened() as file:
            size = os.fstat(file).st_size
            begin = max(0, size - LONGEST_LINE)
            end = os.pread(file, size - begin, begin)
            keep = begin + end.rfind(b"\n") + 1
            if keep < size and (keep > begin or begin == 0):
                os.ftruncate(file, keep)
                os.fsync(file)

    def _read(self) -> None:
        """Verify the chain from the last checkpoint on, a line at a time."""
        with self.path.open("rb") as file:
            last, self._recent = load_checkpoint(self._checkpoint_path, file)
            self.lines, end = last.lines, LogHead(last.offset, last.head)
            self._checkpoint_at = last.offset
            # A checkpoint is written after a sync. What follows may be in memory alone.
            self._synced, self._in_doubt = end, True
            for line in read_chain(file, offset=last.offset, previous=last.head, lines=last.lines):
                # What was read before the checkpoint is trusted: the node wrote it. Whoever
                # verifies the log reads all of it.
                self._recent.add(end.size, line.end - end.size - 1, line.event)
                end = LogHead(line.end, line.hash)
                self.lines += 1
        self._end = end

    @property
    def _checkpoint_path(self) -> Path:
        return self.path.with_suffix(".checkpoint")

    def recent(self) -> list[StateEvent]:
        """Return the first and last events of each kind that state follows from, in order."""
        return [kept.event for kept in self._recent.in_order()]

    def append(self, event: LogEvent, /) -> None:
        """Write an event; it survives the end of this process, and after `sync` a power cut."""
        with self._appending:
            event = msgspec.structs.replace(event, at=int(time.time()), previous=self.head)
            # In one canonical form, since the hash is of the bytes.
            line = _ENCODER.encode(event)
            self._write(line + b"\n")
            # The head moves only when the whole line is written: after an error the chain is as it
            # was.
            begin, self._end = self.size, LogHead(self.size + len(line) + 1, line_hash(line))
            self.lines += 1
            self._recent.add(begin, len(line), event)
            self._keep_up()
        if self.heard is not None:
            self.heard(event)

    def _keep_up(self) -> None:
        """Write a checkpoint, if the last one lies far behind."""
        if self.size - self._checkpoint_at < CHECKPOINT_BYTES:
            return
        self._checkpoint_at = self.size
        kept = [(each.offset, each.length) for each in self._recent.in_order()]
        try:
            self.sync()
            save_checkpoint(
                self._checkpoint_path, Checkpoint(self.size, self.lines, self.head, kept)
            )
        except (OSError, UnwrittenError):
            return  # without it the next start takes longer, and that is all

    def _write(self, data: bytes) -> None:
        # All of it or nothing: half a line would break the chain for good.
        if self._torn:
            raise UnwrittenError("the log ends in half a line; make room and start the node again")
        began = False
        try:
            with self._opened(append=True) as file:
                began = True
                written = os.write(file, data)
            if written < len(data):
                raise OSError(errno.ENOSPC, f"{written} of {len(data)} bytes were written")
        except OSError as error:
            if began:
                self._take_back()
            raise UnwrittenError(
                f"the log cannot be written ({error.strerror}); check the node's disk"
            ) from error

    def _take_back(self) -> None:
        try:
            # If not even this works, nothing may be appended after half a line: the log stays
            # closed until a start drops it.
            os.truncate(self.path, self.size)
        except OSError:
            self._torn = True

    def page(self, offset: int, /) -> tuple[bytes, bool]:
        """Return the log's bytes from an offset on, and whether there are more after them."""
        with self.path.open("rb") as file:
            file.seek(min(offset, self.size))
            data = file.read(min(PAGE_BYTES, max(0, self.size - offset)))
        return data, offset + len(data) < self.size

    @property
    def size(self) -> int:
        return self._end.size

    @property
    def head(self) -> str:
        """The hash of the last line."""
        return self._end.head

    @property
    def is_synced(self) -> bool:
        return self._synced == self._end

    def sync(self) -> None:
        """Return when all lines are on the disk.

        After a sync that failed, the system may call the lines on their way written, and the next
        one succeeds without them. So they are written once more then, and also at the first sync of
        a process: the one before may have ended with such a failure.
        """
        with self._syncing:
            # Lines that are appended from here on are not covered.
            end = self._end
            if self._synced == end:
                return
            try:
                with self._opened() as file:
                    if self._in_doubt:
                        self._write_again(file, end)
                    os.fsync(file)
            except OSError as error:
                self._in_doubt = True
                raise UnwrittenError(
                    f"the log cannot be synced ({error.strerror}); check the node's disk"
                ) from error
            self._synced, self._in_doubt = end, False

    def _write_again(self, file: int, end: LogHead) -> None:
        """Write all lines after the last sync once more, in place."""
        begin, head = self._synced, ""
        # Read back from memory, or from a disk that never got it: then the lines are lost, and
        # nothing may be told that rests on them.
        try:
            with self.path.open("rb") as reading:
                for line in read_chain(reading, offset=begin.size, previous=begin.head):
                    if line.end == end.size:
                        head = line.hash
                        break
        except LogError:
            pass  # it is not what was written
        if head != end.head:
            raise OSError(errno.EIO, "its last lines are lost")
        for at in range(begin.size, end.size, PAGE_BYTES):
            data = os.pread(file, min(PAGE_BYTES, end.size - at), at)
            if os.pwrite(file, data, at) < len(data):
                raise OSError(errno.ENOSPC, "its last lines cannot be written once more")


def head_of(log: NodeLog, /) -> LogHead:
    """Return the head of a log, which is on the disk then."""
    # A peer keeps this head. If a power cut could take lines before it, an honest node would look
    # as if it had been set back.
    log.sync()
    return LogHead(log.size, log.head)
