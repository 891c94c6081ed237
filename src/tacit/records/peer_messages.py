"""Messages between two nodes on their link beside the protocols, in MessagePack."""

from __future__ import annotations

import msgspec

from tacit.records.ballots import SignedVotes
from tacit.records.ledger import DisclosedLabels
from tacit.records.messages import Number, Small, Word, decode
from tacit.records.requests import Attempt, decode_attempt, encode_attempt


class _PeerMessage(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """What all of them have: a tag."""


class There(_PeerMessage, frozen=True):
    """Answer if you are there."""


class Here(_PeerMessage, frozen=True):
    """I am, and this is my time."""

    clock: float
    """In seconds since 1970."""


class EpochBegins(_PeerMessage, frozen=True):
    """What I have used up, when an epoch begins."""

    numbers: dict[int, list[tuple[int, bytes]]]
    """Per objective, the last used evaluation numbers with the hashes of their requests."""
    decided: dict[int, SignedVotes]
    """Per group of sealed searches whose plans are opened, the votes that decided which they are.
    They are proof, so that the word of one peer is enough."""
    size: Number
    """So many bytes your log had, as far as I remember; 0 if I never heard of it."""
    head: Word
    """The hash of its last line then."""
    signature: bytes
    """Yours, under both."""
    completed: Number = 0
    """How many populations of a derived search are answered in all objectives."""
    bests_of_three: dict[int, list[Attempt]] = {}
    """Per objective, the attempts of which three nodes have shares of the best so far."""
    states_of_three: dict[int, list[Attempt]] = {}
    """Per sealed search, the attempts whose state three nodes have."""


class LogReached(_PeerMessage, frozen=True):
    """How far my log is, on my disk, and whether it contains what you remember of it."""

    contained: bool
    size: Number
    """Bytes of my log."""
    head: Word
    """The hash of its last line."""
    signature: bytes
    """Mine, under both, for this agreement."""


class AnswersTold(_PeerMessage, frozen=True):
    """What was disclosed of the populations that you have no answers to, as far as I know them."""

    history: list[dict[int, DisclosedLabels]]


class RelayWanted(_PeerMessage, frozen=True):
    """I do not reach that node; pass on what we say to each other, on a channel of this number."""

    number: Number
    to: Small


class RelayComes(_PeerMessage, frozen=True):
    """That node does not reach you; it speaks to you through me, on a channel of this number."""

    number: Number
    origin: Small


PeerMessage = There | Here | EpochBegins | LogReached | AnswersTold | RelayWanted | RelayComes
_ENCODER = msgspec.msgpack.Encoder(enc_hook=encode_attempt)
_READ: msgspec.msgpack.Decoder[PeerMessage] = msgspec.msgpack.Decoder(
    PeerMessage, dec_hook=decode_attempt
)


def encode_peer_message(message: PeerMessage, /) -> bytes:
    return _ENCODER.encode(message)


def decode_peer_message(data: bytes | bytearray | memoryview, /, *, peer: str) -> PeerMessage:
    return decode(_READ, data, peer, "message between nodes")
