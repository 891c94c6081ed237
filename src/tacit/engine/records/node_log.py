"""A node's log: a chain in which every line names the hash of the line before it.

Each line is an event in canonical JSON, with its time and `previous`. Lines are appended and never
changed; whoever changes, reorders or cuts out a line breaks the chain. Cutting lines off
the end shows when the head is compared with one seen earlier, or with the other nodes' logs.

A node signs the head of its log for the nonce of whoever asks, so that no old log passes for new.
The platform may carry log and signature, since it can neither sign nor know the nonce beforehand.
"""

from __future__ import annotations

import errno
import hashlib
import os
import time
import weakref
from collections.abc import Sequence
from pathlib import Path

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.engine.agreement.signatures import is_signed, sign
from tacit.engine.agreement.terms import Agreement, agreement_hash
from tacit.engine.records.events import FORMAT, AgreementAccepted, AnyEvent, Event
from tacit.engine.wire.attempt import decode_attempt, encode_attempt
from tacit.errors import LogError

Log = Sequence[Event]
_ENCODER = msgspec.json.Encoder(order="sorted", enc_hook=encode_attempt)
_READ = msgspec.json.Decoder(AnyEvent, dec_hook=decode_attempt)
FIRST = "0" * 64
PAGE_BYTES = 16 << 20
"""So much of a log travels in one reply, which must fit into a frame."""


def line_hash(line: bytes, /) -> str:
    """What the next line calls this one."""
    return hashlib.sha256(line).hexdigest()


def verify_log(data: bytes, /) -> list[Event]:
    """All events of an unbroken chain, or a `LogError` with the first broken line."""
    events: list[Event] = []
    previous = FIRST
    lines = data.split(b"\n")
    if lines.pop() != b"":
        raise LogError(f"line {len(lines) + 1} is cut off; the log was damaged")
    for number, line in enumerate(lines, start=1):
        _check_chain(number, line, previous)
        events.append(_read(number, line))
        previous = line_hash(line)
    return events


class _Chained(msgspec.Struct):
    """Of any line, what it follows."""

    previous: str


def _check_chain(number: int, line: bytes, previous: str) -> None:
    """Before its type: whoever changed a line is found out, whatever it says now."""
    try:
        follows = msgspec.json.decode(line, type=_Chained).previous
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise LogError(f"line {number} is not an event; the log was changed") from None
    if follows != previous:
        raise LogError(f"line {number} does not follow line {number - 1}; the log was changed")


def _read(number: int, line: bytes) -> Event:
    try:
        event: Event = _READ.decode(line)
    except (msgspec.ValidationError, UnicodeDecodeError) as error:
        raise LogError(
            f"line {number} is not an event of this version ({error}); the log was changed, or a "
            "newer version wrote it"
        ) from None
    if isinstance(event, AgreementAccepted) and event.format > FORMAT:
        raise LogError(f"a newer version wrote this log (format {event.format}); use that one")
    return event


class NodeLog:
    """The log of a node about one agreement, or about itself."""

    def __init__(self, path: Path, /) -> None:
        self.path = path
        self._drop_torn_line()
        data = path.read_bytes() if path.exists() else b""
        self.events = verify_log(data)
        """What was in the log when it was opened."""
        lines = data.split(b"\n")
        self.head = line_hash(lines[-2]) if len(lines) > 1 else FIRST
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.close = weakref.finalize(self, os.close, self._file)
        """Close the file, once; whoever forgets it does no harm."""
        self._size = len(data)
        self._torn = False

    def _drop_torn_line(self) -> None:
        """A crash in mid-append leaves half a line, whose event never began."""
        if not self.path.exists():
            return
        data = self.path.read_bytes()
        keep = data.rfind(b"\n") + 1
        if keep < len(data):
            with self.path.open("r+b") as file:
                file.truncate(keep)
                os.fsync(file.fileno())

    def append(self, event: Event, /) -> None:
        """Write an event; it survives the end of this process, and after `sync` a power cut."""
        line = _ENCODER.encode(
            msgspec.structs.replace(event, at=int(time.time()), previous=self.head)
        )
        self._write(line + b"\n")
        self.head = line_hash(line)

    def _write(self, data: bytes) -> None:
        """Append all of it or nothing: half a line would break the chain."""
        if self._torn:
            raise LogError("the log ends in half a line; make room and start the node again")
        try:
            written = os.write(self._file, data)
            if written < len(data):
                raise OSError(errno.ENOSPC, f"{written} of {len(data)} bytes were written")
        except OSError as error:
            self._take_back()
            raise LogError(
                f"the log cannot be written ({error.strerror}); check the node's disk"
            ) from error
        self._size += len(data)

    def _take_back(self) -> None:
        try:
            os.ftruncate(self._file, self._size)
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

    def sync(self) -> None:
        """Wait until all entries are on the disk."""
        try:
            os.fsync(self._file)
        except OSError as error:
            raise LogError(
                f"the log cannot be synced ({error.strerror}); check the node's disk"
            ) from error


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
