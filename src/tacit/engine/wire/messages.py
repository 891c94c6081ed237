"""What coordinator and node say to each other beside the protocols, in MessagePack.

Every request has a number, and the reply carries it. A reply is `Done`, `Refused` (the node's
policy says no; asking again does not help) or `Failed` (the computation broke off; it may work
again with a new epoch).
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from tacit.errors import FrameError
from tacit.mpc.transport.frame import Channel, Kind

TALK = Channel(bytes(16), kind=Kind.CONTROL)
"""The conversation that carries these messages on every link."""


Number = Annotated[int, msgspec.Meta(ge=0, le=1 << 62)]
Small = Annotated[int, msgspec.Meta(ge=0, le=(1 << 16) - 1)]
"""What a frame's header holds in two bytes."""
Word = Annotated[str, msgspec.Meta(max_length=100)]
"""Text that a node may repeat in a refusal or in its log."""


Nonce = Annotated[bytes, msgspec.Meta(max_length=64)]


class Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=True, kw_only=True):
    """What all messages have."""

    id: int


class Ping(Message, frozen=True, kw_only=True):
    """Answer if you are there."""


class Agree(Message, frozen=True, kw_only=True):
    """Here is an agreement that everybody signed."""

    agreement: bytes
    signatures: dict[str, bytes]


class Submit(Message, frozen=True, kw_only=True):
    """Here are a participant's sealed rows."""

    agreement: bytes
    manifest: bytes
    signature: bytes
    box: bytes


class OpenEpoch(Message, frozen=True, kw_only=True):
    """Agree on fresh keys with the other nodes, and on what was evaluated so far."""

    agreement: bytes
    epoch: Number


class Prepare(Message, frozen=True, kw_only=True):
    """Compare manifests and shares, check the ranges, and freeze an objective's inputs."""

    agreement: bytes
    objective: Small
    epoch: Number
    attempt: Small


class Evaluate(Message, frozen=True, kw_only=True):
    """Evaluate these candidates."""

    agreement: bytes
    objective: Small
    number: Number
    epoch: Number
    attempt: Small
    disclosure: Word
    best: Word
    basis: Word
    """The attempt whose shares of the best so far count; empty before the first."""
    candidates: bytes


class Reveal(Message, frozen=True, kw_only=True):
    """Say which of these evaluated candidates is truly best."""

    agreement: bytes
    objective: Small
    epoch: Number
    attempt: Small
    candidates: bytes


class Advance(Message, frozen=True, kw_only=True):
    """Go on with a sealed search by `count` generations; by none, draw its secret start."""

    agreement: bytes
    search: Small
    first: Number
    count: Small
    horizon: Number
    """How many generations there will be, as far as one knows: the temperature follows from it."""
    epoch: Number
    attempt: Small
    basis: Word
    """The attempt whose state counts; empty for the start."""


class OpenPlan(Message, frozen=True, kw_only=True):
    """Open the best plan of a sealed search as this attempt left it: once, and the search ends."""

    agreement: bytes
    search: Small
    basis: Word


class Cancel(Message, frozen=True, kw_only=True):
    """Stop working on a request; there is no reply."""

    target: Number


class FetchLog(Message, frozen=True, kw_only=True):
    """Send the log of an agreement, as much of it from this byte on as one reply takes.

    It comes signed for whoever drew the nonce.
    """

    agreement: bytes
    offset: Number = 0
    nonce: Nonce = b""


class Done(Message, frozen=True, kw_only=True):
    """The request was carried out."""

    sent: int = 0
    rounds: int = 0
    numbers: dict[int, int] = {}
    """Per objective, the last evaluation number that counts as used."""
    bases: dict[int, str] = {}
    """Per objective, the attempt that the node's shares of the best so far come from."""
    frozen: list[int] = []
    epoch: int = -1
    """The last epoch of the agreement that was begun."""
    kept: dict[int, list[str]] = {}
    """Per objective, all attempts that the node has shares of the best so far from."""
    words: dict[int, str] = {}
    """Per frozen objective, what the nodes drew together for the search's seed."""
    states: dict[int, list[str]] = {}
    """Per sealed search, the attempts whose state the node keeps."""
    seed: int = 0
    """The seed of a sealed search, which follows from the inputs."""
    components: list[bytes] = []
    """The node's shares of an opened plan."""
    clock: float = 0.0
    """The node's time when it answered, in seconds since 1970."""
    log: bytes = b""
    more: bool = False
    """Whether the log goes on after this page."""
    signature: bytes = b""
    seconds: int = 0
    """The node's time when it signed its log, in seconds since 1970."""


class Refused(Message, frozen=True, kw_only=True):
    """The node's policy says no."""

    reason: str
    kind: str = ""
    """Which refusal it is, where whoever asked can do something about it: see `RefusalKind`."""
    participants: list[str] = []
    """Whom it is about."""


class Failed(Message, frozen=True, kw_only=True):
    """The computation broke off because of this peer."""

    peer: str
    what: str


Request = (
    Ping
    | Agree
    | Submit
    | OpenEpoch
    | Prepare
    | Evaluate
    | Reveal
    | Advance
    | OpenPlan
    | Cancel
    | FetchLog
)
Reply = Done | Refused | Failed
_READ_REQUEST = msgspec.msgpack.Decoder(Request)
_READ_REPLY = msgspec.msgpack.Decoder(Reply)


def attempt_name(number: int, epoch: int, attempt: int, /) -> str:
    """What tells an attempt apart from all others, for the shares of the best that it leaves.

    >>> attempt_name(7, 123, 0)
    '7:123:0'
    """
    return f"{number}:{epoch}:{attempt}"


def number_of(attempt: str, /) -> int:
    """The number of the evaluation that an attempt was at; 0 for none.

    >>> number_of("7:123:0"), number_of("")
    (7, 0)
    """
    number = attempt.partition(":")[0]
    return int(number) if number.isdecimal() else 0


def encode_message(message: Message, /) -> bytes:
    """A message as it travels.

    >>> decode_request(encode_message(Ping(id=3)), peer="the platform").id
    3
    """
    return msgspec.msgpack.encode(message)


def decode_request(data: bytes | bytearray | memoryview, /, *, peer: str) -> Request:
    """A request from its bytes; anything else is a `FrameError` that names the sender.

    >>> decode_request(b"garbage", peer="the platform")
    Traceback (most recent call last):
    tacit.errors.FrameError: the platform: sent something that is no request; is its version ours?
    """
    try:
        request: Request = _READ_REQUEST.decode(data)
    except msgspec.DecodeError:
        what = "sent something that is no request; is its version ours?"
        raise FrameError(peer, what) from None
    return request


def decode_reply(data: bytes | bytearray | memoryview, /, *, peer: str) -> Reply:
    """A reply from its bytes; anything else is a `FrameError` that names the node.

    >>> decode_reply(encode_message(Refused(id=1, reason="expired")), peer="node 0").reason
    'expired'
    """
    try:
        reply: Reply = _READ_REPLY.decode(data)
    except msgspec.DecodeError:
        raise FrameError(peer, "sent something that is no reply; is its version ours?") from None
    return reply
