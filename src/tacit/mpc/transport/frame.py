"""The frame, the only message on every link: a fixed header and raw bytes.

::

    magic       4   "TAC1"
    kind        1   protocol, control, epoch or notice
    substream      1   parallel substreams of one evaluation
    depth       2   messages on the longest chain that led to this one: measured rounds
    objective   2   \
    attempt     2    |
    evaluation  8    | name the conversation, so that evaluations share a link
    agreement  16   /  (the first half of its SHA-256)
    tag         8   digest of the whole context, the request included
    sequence    4   position in the conversation, so that a lost frame is noticed
    length      4   bytes that follow

Numbers are little-endian, and so are the arrays in the payload.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from tacit.errors import FrameError

MAGIC = b"TAC1"
FRAME_LIMIT = 64 << 20
"""The default limit of a payload."""

Buffer = bytes | bytearray | memoryview

_LAYOUT = struct.Struct("<4sBBHHHQ16s8sII")
HEADER_BYTES = _LAYOUT.size


class Kind(IntEnum):
    """What a conversation is about; each kind has its own conversations."""

    PROTOCOL = 0
    CONTROL = 1
    EPOCH = 2
    NOTICE = 3
    RELAY = 4


class Channel(NamedTuple):
    """The name of a conversation between two parties."""

    agreement: bytes
    objective: int = 0
    evaluation: int = 0
    attempt: int = 0
    substream: int = 0
    kind: Kind = Kind.PROTOCOL


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a frame, decoded."""

    channel: Channel
    tag: bytes
    depth: int
    sequence: int
    length: int


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame that arrived."""

    header: Header
    payload: Buffer


def encode(header: Header) -> bytes:
    """The header as bytes."""
    channel = header.channel
    return _LAYOUT.pack(
        MAGIC,
        channel.kind,
        channel.substream,
        header.depth,
        channel.objective,
        channel.attempt,
        channel.evaluation,
        channel.agreement,
        header.tag,
        header.sequence,
        header.length,
    )


def decode(data: Buffer, *, peer: str, limit: int = FRAME_LIMIT) -> Header:
    """Decode a header, or raise a `FrameError` that names the peer.

    >>> decode(b"GET / HTTP/1.1", peer="node 2")
    Traceback (most recent call last):
    tacit.errors.FrameError: node 2: sent a header of 14 bytes instead of 52
    """
    size = memoryview(data).nbytes
    if size != HEADER_BYTES:
        raise FrameError(peer, f"sent a header of {size} bytes instead of {HEADER_BYTES}")
    fields = _LAYOUT.unpack(data)
    magic, kind, substream, depth, objective, attempt, evaluation, agreement, tag, seq, length = (
        fields
    )
    if magic != MAGIC:
        raise FrameError(peer, "sent something that is not a frame; check its address")
    if kind not in tuple(Kind):
        raise FrameError(peer, f"sent a frame of the unknown kind {kind}; compare versions")
    if length > limit:
        raise FrameError(peer, f"announced a frame of {length} bytes; the limit is {limit}")
    channel = Channel(agreement, objective, evaluation, attempt, substream, Kind(kind))
    return Header(channel, tag, depth, seq, length)
