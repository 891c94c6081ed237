"""Read and check a node's log: a chain in which every line names the hash of the line before it.

Each line is an event in canonical JSON, with its time and `previous`. Whoever changes, reorders or
cuts out a line breaks the chain. A log is read line by line, since it may be longer than the
memory. Lines that are cut off its end show when the head is compared with one seen earlier
(`LogHead`), or with the other nodes' logs.

A node signs the head of its log for the nonce of whoever asks, so that no old log passes for new.
The platform may carry log and signature, since it can neither sign nor know the nonce beforehand.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeVar

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.agreement.sealing import commitment_to, joint_contribution
from tacit.agreement.signatures import is_signed, sign
from tacit.agreement.terms import Agreement, agreement_hash
from tacit.errors import LogError
from tacit.files import other_version, reading
from tacit.records.events import (
    FORMAT,
    AgreementAccepted,
    AnyEvent,
    InputsFrozen,
    LogEvent,
    SeedDrawn,
)
from tacit.records.requests import decode_attempt

Log = Sequence[LogEvent]
E = TypeVar("E", bound=LogEvent)
FIRST = "0" * 64
LONGEST_LINE = 2 << 20
"""Bytes; what nodes write is a thousandth of that."""
_READ = msgspec.json.Decoder(AnyEvent, dec_hook=decode_attempt)


def events_of(kind: type[E], log: Log, /) -> list[E]:
    return [event for event in log if isinstance(event, kind)]


class Line(NamedTuple):
    """A line of an unbroken chain."""

    event: LogEvent
    hash: str
    """What the next line calls this one."""
    end: int
    """Where the next line begins, in bytes."""


class _Chained(msgspec.Struct):
    """Of any line, what it follows."""

    previous: str


_READ_CHAINED = msgspec.json.Decoder(_Chained)


def line_hash(line: bytes, /) -> str:
    return hashlib.sha256(line).hexdigest()


def read_chain(
    file: BinaryIO, /, *, offset: int = 0, previous: str = FIRST, lines: int = 0
) -> Iterator[Line]:
    """Read an unbroken chain line by line; a `LogError` names the first broken line.

    One that does not begin at the first line begins at an offset, after so many `lines`, of which
    the last has the hash `previous`.
    """
    file.seek(offset)
    for number, written in enumerate(iter(lambda: file.readline(LONGEST_LINE), b""), lines + 1):
        # Also a line that is longer than any that nodes write.
        if not written.endswith(b"\n"):
            raise LogError(f"line {number} is cut off; the log was damaged")
        line = written[:-1]
        event = _event(number, line, previous)
        previous, offset = line_hash(line), offset + len(written)
        yield Line(event, previous, offset)


def verify_log(data: bytes, /) -> list[LogEvent]:
    """Return all events of an unbroken chain; a `LogError` names the first broken line."""
    return [line.event for line in read_chain(io.BytesIO(data))]


def read_log(path: Path, /) -> Iterator[Line]:
    """Read a log's file line by line; a `LogError` names the first broken line."""
    with reading(path), path.open("rb") as file:
        yield from read_chain(file)


def decode_line(line: bytes, /) -> LogEvent:
    """Decode a line whose place in the chain is known."""
    event: LogEvent = _READ.decode(line)
    return event


def _event(number: int, line: bytes, previous: str) -> LogEvent:
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
    # Whoever changes, reorders or cuts out a line would have to change all that follow, and the
    # signed head.
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


_CHUNK = 1 << 16


class LogHead(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A point that a log has reached."""

    size: int
    """Bytes up to the end of its last line."""
    head: str
    """The hash of that line."""

    def _signed(self, agreement: bytes) -> bytes:
        return agreement + f"\n{self.size}\n{self.head}\n".encode()

    def sign(self, key: Ed25519PrivateKey, agreement: bytes, /) -> bytes:
        """Sign the head of a node's log of an agreement, for its peers."""
        return sign(key, "log head", self._signed(agreement))

    def is_signed(self, agreement: Agreement, node: int, signature: bytes, /) -> bool:
        """Return whether this node of the agreement says that its log has come so far."""
        key, about = agreement.nodes[node].signing_key, self._signed(agreement_hash(agreement))
        return is_signed(key, "log head", about, signature)


NOWHERE = LogHead(0, FIRST)
"""Where every log begins."""


def has_reached(path: Path, head: LogHead, /) -> bool:
    """Return whether the log in a file contains a head."""
    # Whoever never heard of a log remembers its beginning, which every log has.
    if head.size == 0:
        return head == NOWHERE
    with path.open("rb") as file:
        line, end = b"", head.size
        # Backwards from the head: a log may be long, and only the line that ends there is needed.
        while end > 0 and b"\n" not in line[:-1]:
            begin = max(0, end - _CHUNK)
            file.seek(begin)
            data = file.read(end - begin)
            if len(data) < end - begin:
                return False
            line, end = data + line, begin
    if not line.endswith(b"\n"):
        return False
    return line_hash(line[:-1].rpartition(b"\n")[2]) == head.head


FreezingEvent = InputsFrozen | SeedDrawn


@dataclass(frozen=True, slots=True)
class FrozenInputs:
    """The inputs of one objective that never change again."""

    manifests: str
    """The hash of all owners' manifests."""
    commitments: tuple[str, ...]
    """Of all nodes to their contributions."""
    seed_contribution: str = ""
    """What the nodes drew together for the search's seed; empty until it is drawn."""


def frozen_inputs(agreement: Agreement, log: Log, /) -> dict[int, FrozenInputs]:
    """Return what was frozen per objective; a `LogError` if it was drawn twice or otherwise."""
    found: dict[int, FrozenInputs] = {}
    for event in log:
        if isinstance(event, FreezingEvent):
            found[event.objective] = frozen_after(agreement, found.get(event.objective), event)
    return found


def frozen_after(
    agreement: Agreement, before: FrozenInputs | None, event: FreezingEvent, /
) -> FrozenInputs:
    """Return what is frozen of an objective after an event, or raise a `LogError`."""
    if isinstance(event, SeedDrawn):
        return _drawn(agreement, before, event)
    if before is not None:
        raise LogError(f"the inputs of objective {event.objective} were frozen twice; ask why")
    return FrozenInputs(event.manifests, tuple(event.commitments))


def _drawn(agreement: Agreement, frozen: FrozenInputs | None, event: SeedDrawn) -> FrozenInputs:
    # A second draw would let a node try again that does not like the seed.
    if frozen is None or frozen.seed_contribution:
        raise LogError(
            f"the seed contribution of objective {event.objective} was drawn twice, or before the "
            "inputs were frozen; ask the node's operator"
        )
    digest = agreement_hash(agreement)
    try:
        opened = [bytes.fromhex(each) for each in event.contributions]
    except ValueError:
        opened = []
    committed = tuple(
        commitment_to(each, agreement=digest, objective=event.objective, node=node).hex()
        for node, each in enumerate(opened)
    )
    # A node that saw the others' contributions first could choose its own, if it were not bound.
    if committed != frozen.commitments or len(opened) != len(agreement.nodes):
        raise LogError(
            f"a node's contribution to the seed of objective {event.objective} is not the one that "
            "it had committed itself to; ask the nodes' operators"
        )
    return replace(frozen, seed_contribution=joint_contribution(opened))


def _signed(head: str, nonce: bytes, seconds: int) -> bytes:
    return f"{head}\n{seconds}\n{nonce.hex()}\n".encode()


def sign_head(key: Ed25519PrivateKey, head: str, /, *, nonce: bytes, seconds: int) -> bytes:
    """Sign the head of a node's log at a time, for whoever drew the nonce."""
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
    """Return whether a node of the agreement signed this head at that time, for this nonce."""
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
) -> list[LogEvent]:
    """Check that a node's log is whole, of this agreement, and signed for this nonce.

    `seconds` is the time that the node says it is, in seconds since 1970.
    """
    events = verify_log(log)
    # Seen before the signature: a node's log of another agreement is rightly signed too.
    if not is_of(agreement, events):
        raise LogError(f"this log is not of this agreement; ask node {node} for the right one")
    lines = log.splitlines()
    head = line_hash(lines[-1]) if lines else FIRST
    # Without the nonce of this question, a platform could show a log of before something happened.
    if not is_head_signed(agreement, node, head, nonce=nonce, seconds=seconds, signature=signature):
        raise LogError(
            f"node {node} did not sign this log for this question; it may be an old one, fetch it "
            "again with a new nonce"
        )
    return events


def is_of(agreement: Agreement, log: Log, /) -> bool:
    first = log[0] if log else None
    return (
        isinstance(first, AgreementAccepted) and first.agreement == agreement_hash(agreement).hex()
    )
