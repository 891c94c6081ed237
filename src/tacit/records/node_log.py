"""A node's log: a chain in which every line names the hash of the line before it.

Each line is an event in canonical JSON, with its time and `previous`. Lines are appended and never
changed; whoever changes, reorders or cuts out a line breaks the chain. Cutting lines off
the end shows when the head is compared with one seen earlier, or with the other nodes' logs.

A node signs the head of its log for the nonce of whoever asks, so that no old log passes for new.
The platform may carry log and signature, since it can neither sign nor know the nonce beforehand.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.agreement.signatures import is_signed, sign
from tacit.agreement.terms import Agreement, agreement_hash
from tacit.errors import LogError
from tacit.records.events import AgreementAccepted, Event
from tacit.records.log_chain import FIRST as FIRST
from tacit.records.log_chain import LONGEST_LINE, read_chain
from tacit.records.log_chain import Log as Log
from tacit.records.log_chain import line_hash as line_hash
from tacit.records.log_chain import verify_log as verify_log
from tacit.records.log_checkpoint import (
    Checkpoint,
    Kept,
    load_checkpoint,
    save_checkpoint,
)
from tacit.wire.attempt import encode_attempt

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
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
        self._drop_torn_line()
        self._read()
        self._torn = False
        self._synced = -1
        self._keep_up()

    @contextmanager
    def _opened(self) -> Iterator[int]:
        file = os.open(self.path, os.O_RDWR | os.O_APPEND)
        try:
            yield file
        finally:
            os.close(file)

    def _drop_torn_line(self) -> None:
        """A crash in mid-append leaves half a line, whose event never began."""
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
            self._size, self.lines, self.head = last.offset, last.lines, last.head
            self._checkpoint_at = last.offset
            for line in read_chain(file, offset=last.offset, previous=last.head, lines=last.lines):
                self._recent.add(Kept(self._size, line.end - self._size - 1, line.event))
                self._size, self.head = line.end, line.hash
                self.lines += 1

    @property
    def _checkpoint_path(self) -> Path:
        return self.path.with_suffix(".checkpoint")

    def recent(self) -> list[Event]:
        """The last events of each kind, in their order: what a node's state follows from."""
        return [kept.event for kept in self._recent.in_order()]

    def append(self, event: Event, /) -> None:
        """Write an event; it survives the end of this process, and after `sync` a power cut."""
        event = msgspec.structs.replace(event, at=int(time.time()), previous=self.head)
        line = _ENCODER.encode(event)
        self._write(line + b"\n")
        self.head = line_hash(line)
        self.lines += 1
        self._recent.add(Kept(self._size - len(line) - 1, len(line), event))
        self._keep_up()

    def _keep_up(self) -> None:
        """Write a checkpoint, if the last one lies far behind."""
        if self._size - self._checkpoint_at < CHECKPOINT_BYTES:
            return
        self._checkpoint_at = self._size
        kept = [(each.offset, each.length) for each in self._recent.in_order()]
        try:
            save_checkpoint(
                self._checkpoint_path, Checkpoint(self._size, self.lines, self.head, kept)
            )
        except OSError:
            return  # without it the next start takes longer, and that is all

    def _write(self, data: bytes) -> None:
        """Append all of it or nothing: half a line would break the chain."""
        if self._torn:
            raise LogError("the log ends in half a line; make room and start the node again")
        began = False
        try:
            with self._opened() as file:
                began = True
                written = os.write(file, data)
            if written < len(data):
                raise OSError(errno.ENOSPC, f"{written} of {len(data)} bytes were written")
        except OSError as error:
            if began:
                self._take_back()
            raise LogError(
                f"the log cannot be written ({error.strerror}); check the node's disk"
            ) from error
        self._size += len(data)

    def _take_back(self) -> None:
        try:
            os.truncate(self.path, self._size)
        except OSError:
            self._torn = True

    def page(self, offset: int, /) -> tuple[bytes, bool]:
        """Bytes of the log from an offset on, and whether there are more after them."""
        with self.path.open("rb") as file:
            file.seek(min(offset, self._size))
            data = file.read(min(PAGE_BYTES, max(0, self._size - offset)))
        return data, offset + len(data) < self._size

    @property
    def size(self) -> int:
        """Bytes of the log."""
        return self._size

    @property
    def is_synced(self) -> bool:
        """Whether all entries are on the disk."""
        return self._synced == self._size

    def sync(self) -> None:
        """Wait until all entries are on the disk."""
        if self.is_synced:
            return
        size = self._size
        try:
            with self._opened() as file:
                os.fsync(file)
        except OSError as error:
            raise LogError(
                f"the log cannot be synced ({error.strerror}); check the node's disk"
            ) from error
        self._synced = size


def _signed(head: str, nonce: bytes, seconds: int) -> bytes:
    return f"{head}\n{seconds}\n{nonce.hex()}\n".encode()


def sign_head(key: Ed25519PrivateKey, head: str, /, *, nonce: bytes, seconds: int) -> bytes:
    """A node's signature under the head of its log at a time, for whoever drew the nonce."""
    return sign(key, "log", _signed(head, nonce, seconds))


def is_head_signed(
    agreement: Agreement,
    node: int,
    head: str,
    /,
    *,
    nonce: bytes,
    seconds: int,
    signature: bytes,
) -> bool:
    """Whether a node of the agreement signed this head at that time, for this nonce."""
    key = agreement.nodes[node].signing_key
    return is_signed(key, "log", _signed(head, nonce, seconds), signature)


def check_log(
    agreement: Agreement,
    node: int,
    log: bytes,
    /,
    *,
    nonce: bytes,
    seconds: int,
    signature: bytes,
) -> list[Event]:
    """The events of a node's log, if it is whole, of this agreement, and signed for this nonce.

    `seconds` is the time that the node says it is, in seconds since 1970.
    """
    events = verify_log(log)
    if not is_of(agreement, events):
        raise LogError(f"this log is not of this agreement; ask node {node} for the right one")
    lines = log.splitlines()
    head = line_hash(lines[-1]) if lines else FIRST
    if not is_head_signed(agreement, node, head, nonce=nonce, seconds=seconds, signature=signature):
        raise LogError(
            f"node {node} did not sign this log for this question; it may be an old one, fetch it "
            "again with a new nonce"
        )
    return events


def is_of(agreement: Agreement, log: Log, /) -> bool:
    """Whether a log is about this agreement: its first line says so."""
    first = log[0] if log else None
    return (
        isinstance(first, AgreementAccepted) and first.agreement == agreement_hash(agreement).hex()
    )
