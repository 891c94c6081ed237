"""What coordinator and node say to each other beside the protocols, in MessagePack.

Every request has a number, and the reply carries it. docs/messages.md lists all of them.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Generic, TypeVar, get_args

import msgspec

from tacit.agreement.size_limits import MOST_OBJECTIVES, MOST_PARTICIPANTS
from tacit.errors import FrameError
from tacit.mpc.transport import Channel, Kind
from tacit.wire.attempt import Attempt, decode_attempt, encode_attempt
from tacit.wire.replies import (
    AgreementTaken,
    BatchDone,
    BestRevealed,
    Ended,
    EpochOpened,
    Evidence,
    InputsPrepared,
    LogPage,
    Message,
    PlanOpened,
    Pong,
    PopulationEvaluated,
    Reply,
    RowsTaken,
    RunAccounted,
    SealingKeyOffered,
)

R = TypeVar("R", bound=Message)
T = TypeVar("T")

TALK = Channel(bytes(16), kind=Kind.CONTROL)
"""The conversation that carries these messages on every link."""


Number = Annotated[int, msgspec.Meta(ge=0, le=1 << 62)]
Small = Annotated[int, msgspec.Meta(ge=0, le=(1 << 16) - 1)]
"""What a frame's header holds in two bytes."""
Word = Annotated[str, msgspec.Meta(max_length=100)]
"""Text that a node may repeat in a refusal or in its log."""


Signatures = Annotated[dict[str, bytes], msgspec.Meta(max_length=MOST_PARTICIPANTS)]
"""By participant; more are refused before any is read."""
PublicWeights = Annotated[dict[int, bytes], msgspec.Meta(max_length=MOST_OBJECTIVES)]
Nonce = Annotated[bytes, msgspec.Meta(max_length=64)]
Hexadecimal = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{32,64}$")]


class Request(Message, Generic[R], frozen=True, kw_only=True):
    """What coordinators ask; `R` is the reply of a node that does it."""


class Computation(Request[R], Generic[R], frozen=True, kw_only=True):
    """What the nodes compute together, in an epoch."""

    agreement: bytes
    epoch: Number
    attempt: Small
    """A count that tells attempts apart."""
    signed: bool = False
    """Whether four nodes sign what they send each other, since something did not fit before."""


class Ping(Request[Pong], frozen=True, kw_only=True):
    """Answer if you are there."""


class OfferSealingKey(Request[SealingKeyOffered], frozen=True, kw_only=True):
    """Draw a key that participants seal to, for the agreement with this nonce alone."""

    nonce: Hexadecimal
    platform: Hexadecimal
    """The fingerprint of the platform's certificate that the agreement will name."""
    signing_key: Hexadecimal
    """Which of the node's keys the agreement will name; while keys are rotated there are two."""
    series: Hexadecimal | None = None
    """The series that the agreement is a run of, where balances count: tell its head."""


class Agree(Request[AgreementTaken], frozen=True, kw_only=True):
    """Here is an agreement that everybody signed."""

    agreement: bytes
    signatures: Signatures
    public_weights: PublicWeights = msgspec.field(default_factory=dict)
    """Per public objective its weights, where the nodes derive the populations."""
    series: bytes = b""
    """The series that it is a run of, in its canonical form; may be left out if it is known."""
    series_signatures: Signatures = msgspec.field(default_factory=dict)


class Submit(Request[RowsTaken], frozen=True, kw_only=True):
    """Here are a participant's sealed rows."""

    agreement: bytes
    manifest: bytes
    signature: bytes
    box: bytes


class OpenEpoch(Request[EpochOpened], frozen=True, kw_only=True):
    """Agree on fresh keys with the other nodes, and on what was evaluated so far."""

    agreement: bytes
    epoch: Number
    without: Small | None = None
    """The node that the others go on without."""
    evidence: Evidence = msgspec.field(default_factory=list)
    """What proves that it cheated, if that is why."""


class Prepare(Computation[InputsPrepared], frozen=True, kw_only=True):
    """Compare manifests and shares, check the ranges, and freeze an objective's inputs."""

    objective: Small
    attempt: Small


class Evaluate(Computation[PopulationEvaluated], frozen=True, kw_only=True):
    """Evaluate a population: the one that the node derives, or these candidates."""

    objective: Small
    number: Number
    disclosure: Word
    best: Word
    parent_attempt: Attempt
    """The attempt whose shares of the best so far count; empty before the first."""
    candidates: bytes
    """Empty where the nodes derive them."""
    request: bytes = b""
    """The hash that names what is evaluated, where the nodes derive it."""


class Reveal(Computation[BestRevealed], frozen=True, kw_only=True):
    """Say which of these evaluated candidates is truly best."""

    objective: Small
    candidates: bytes


class Advance(Computation[BatchDone], frozen=True, kw_only=True):
    """Go on with a sealed run by `count` steps; by none, draw its secret start."""

    search: Small
    first: Number
    count: Small
    horizon: Number
    """How many steps there will be, as far as one knows: a tour's temperature follows from it."""
    parent_attempt: Attempt
    """The attempt whose state counts; empty for the start."""


class CountRun(Computation[RunAccounted], frozen=True, kw_only=True):
    """Count a plan for the balances of its series: before it is opened, or is the result."""

    search: Small
    state: Attempt
    """The attempt whose state has the plan of a sealed search; else empty."""
    plan: bytes = b""
    """One of the best plans that the agreed search found, where the platform knows them."""


class OpenPlan(Request[PlanOpened], frozen=True, kw_only=True):
    """Open the best plan of a sealed search as this attempt left it: once, and the search ends."""

    agreement: bytes
    search: Small
    attempt: Attempt


class End(Request[Ended], frozen=True, kw_only=True):
    """The run is over: delete the agreement's key, its boxes and all shares, and do no more."""

    agreement: bytes


class Cancel(Message, frozen=True, kw_only=True):
    """Stop working on a request; there is no reply."""

    target: Number


class FetchLog(Request[LogPage], frozen=True, kw_only=True):
    """Send the log of an agreement, as much of it from this byte on as one reply takes.

    It comes signed for whoever drew the nonce.
    """

    agreement: bytes
    offset: Number = 0
    nonce: Nonce = b""


AnyRequest = (
    Ping
    | OfferSealingKey
    | Agree
    | Submit
    | OpenEpoch
    | Prepare
    | Evaluate
    | Reveal
    | Advance
    | CountRun
    | OpenPlan
    | End
    | Cancel
    | FetchLog
)
_ENCODER = msgspec.msgpack.Encoder(enc_hook=encode_attempt)
_READ_REQUEST: msgspec.msgpack.Decoder[AnyRequest] = msgspec.msgpack.Decoder(
    AnyRequest, dec_hook=decode_attempt
)
_READ_REPLY: msgspec.msgpack.Decoder[Reply] = msgspec.msgpack.Decoder(
    Reply, dec_hook=decode_attempt
)


@cache
def reply_type(request: type[Message], /) -> type[Message]:
    """What a node replies to a request that it does."""
    kind: type[Message] = get_args(request.__dict__["__orig_bases__"][0])[0]
    return kind


def encode_message(message: Message, /) -> bytes:
    """A message as it travels."""
    return _ENCODER.encode(message)


def decode_request(data: bytes | bytearray | memoryview, /, *, peer: str) -> AnyRequest:
    """A request from its bytes; anything else is a `FrameError` that names the sender."""
    return decode(_READ_REQUEST, data, peer, "request")


def decode_reply(data: bytes | bytearray | memoryview, /, *, peer: str) -> Reply:
    """A reply from its bytes; anything else is a `FrameError` that names the node."""
    return decode(_READ_REPLY, data, peer, "reply")


def decode(
    decoder: msgspec.msgpack.Decoder[T], data: bytes | bytearray | memoryview, peer: str, what: str
) -> T:
    """A message from its bytes; anything else is a `FrameError` that names the sender."""
    try:
        return decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise FrameError(peer, f"sent what is not a {what}; run the same version on both") from None
