"""What two nodes say to each other on their link beside the protocols, in MessagePack."""

from __future__ import annotations

import msgspec

from tacit.engine.wire.messages import Number, Small, Word
from tacit.errors import FrameError


class There(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """Answer if you are there."""


class Here(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """I am."""


class Bind(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """Of this sealed search I open the state that the attempt `basis` left; bind yourself too."""

    number: Number
    agreement: bytes
    search: Small
    basis: Word


class Bound(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """The basis that I am bound to, on my disk; empty if I do not know that search."""

    number: Number
    basis: Word


PeerMessage = There | Here | Bind | Bound
_READ = msgspec.msgpack.Decoder(PeerMessage)


def encode_peer_message(message: PeerMessage, /) -> bytes:
    """A message as it travels.

    >>> decode_peer_message(encode_peer_message(Here()), peer="node 1")
    Here()
    """
    return msgspec.msgpack.encode(message)


def decode_peer_message(data: bytes | bytearray | memoryview, /, *, peer: str) -> PeerMessage:
    """A message from its bytes; anything else is a `FrameError` that names the peer.

    >>> decode_peer_message(b"garbage", peer="node 1")
    Traceback (most recent call last):
    tacit.errors.FrameError: node 1: sent something that no node says; is its version ours?
    """
    try:
        message: PeerMessage = _READ.decode(data)
    except msgspec.DecodeError:
        what = "sent something that no node says; is its version ours?"
        raise FrameError(peer, what) from None
    return message
