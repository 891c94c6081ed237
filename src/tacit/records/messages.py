"""Messages between coordinator and node beside the protocols, in MessagePack.

Every request has a number and a type of reply, which carries the number. In place of that a node
replies `Refused` or `Failed`. docs/messages.md lists all of them.
"""

from __future__ import annotations

import hashlib
from enum import StrEnum
from functools import cache
from typing import Annotated, Any, Generic, TypeVar, get_args

import msgspec

from tacit.agreement.plan_parts import PlanHeads, SealedParts
from tacit.agreement.sizes import MOST_OBJECTIVES, MOST_PARTICIPANTS
from tacit.errors import FrameError
from tacit.mpc import Context
from tacit.mpc.transport import Channel, FrameKind
from tacit.records.ballots import BallotNumber, Phase, SignedVote, SignedVotes, Subject, Value
from tacit.records.requests import (
    COUNT_NUMBER,
    NO_ATTEMPT,
    REVEAL_NUMBER,
    Attempt,
    decode_attempt,
    encode_attempt,
    request_hash,
)

Evidence = Annotated[
    list[Annotated[bytes, msgspec.Meta(max_length=2048)]], msgspec.Meta(max_length=32)
]
"""What nodes said of letters in a signed attempt, each with the signature of its author behind."""


class Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=True, kw_only=True):
    """What all messages have."""

    id: int = 0
    """The number of the request, which a client gives it when it sends it."""


class Computed(Message, frozen=True, kw_only=True):
    """The node has sent its part of the answer, and keeps what it needs later."""

    sent: int
    """Bytes that the node sent for it."""
    rounds: int


class Pong(Message, frozen=True, kw_only=True):
    """The node is there."""

    clock: float
    """The node's time when it answered, in seconds since 1970."""
    round_trip: float | None = None
    """Seconds there and back to the farthest of the other nodes, as far as it is known."""
    used: float = 0.0
    """The part of the room for this platform that is taken, of whatever is scarcest."""
    scarcest: str = ""
    """Which setting of the node limits that."""


class AgreementTaken(Message, frozen=True, kw_only=True):
    """The node keeps the agreement; this is how far it is."""

    frozen: list[int]
    """Objectives whose inputs are frozen, and whose seed contribution is drawn."""
    epoch: int
    """The last epoch of the agreement that was begun, or -1."""
    seed_contributions: dict[int, str]
    """Per frozen objective, what the nodes drew together for the search's seed."""
    states: dict[int, list[Attempt]]
    """Per sealed search, the attempts whose state the node keeps."""
    clock: float
    """The node's time when it answered, in seconds since 1970."""
    evidence: Evidence = []
    """What proves that a node cheated, which the others go on without."""


class Allowed(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which agreements the operator of a node allows; see `tacit.derived.agreed_search`."""

    any_search: bool
    chosen_populations: bool
    most_working_megabytes: int


class SealingKeyOffered(Message, frozen=True, kw_only=True):
    """The node has drawn a key for an agreement to come, and keeps its secret half."""

    sealing_key: str
    signature: str
    """The node's, under the nonce, the platform and the key."""
    allows: Allowed | None = None
    """So that nothing is drafted that the node would refuse when all have signed it."""
    head: str = ""
    """The head of the counted runs of the series that was asked for; empty if it is not known."""
    counted: int = 0
    """The number of the last run that was counted there."""


class Done(Message, frozen=True, kw_only=True):
    """The node has done it: it keeps the rows, or has deleted what the agreement had."""


class EpochOpened(Message, frozen=True, kw_only=True):
    """The nodes have fresh keys; this is what the node has evaluated so far."""

    numbers: dict[int, int]
    """Per objective, the last evaluation number that counts as used."""
    parent_attempts: dict[int, Attempt]
    """Per objective, the attempt that the node's newest shares of the best so far come from."""
    kept: dict[int, list[Attempt]]
    """Per objective, all attempts that the node has shares of the best so far from."""
    states: dict[int, list[Attempt]]
    """Per sealed search, the attempts whose state the node keeps."""
    lost: int | None = None
    """The node that the others once went on without, by this one's log."""


class InputsChecked(Computed, frozen=True, kw_only=True):
    """The node finds the same inputs as the others, with all weights in their range."""

    value: Value
    """The inputs with what binds the nodes to their contributions: what is voted on."""


class BatchDone(Computed, frozen=True, kw_only=True):
    """The node keeps the state after these steps."""

    seed: int
    """The seed of the sealed search, which follows from the inputs."""


class RunAccounted(Computed, frozen=True, kw_only=True):
    """The run counts, and its plan may be opened."""

    head: str
    """Of the chain of counted runs, with this one."""


PlanHeadsOfGroup = Annotated[list[PlanHeads], msgspec.Meta(max_length=256)]
"""What binds a node to its parts of plans for their owners: one per search of a group."""


class VoteCast(Message, frozen=True, kw_only=True):
    """The node's vote: the one that was asked for, or the latest, which says where the node is."""

    vote: SignedVote
    proof: SignedVotes = []
    """Of a status, the votes of the quorum behind its lock."""
    heads: PlanHeadsOfGroup = []
    """Of one that is bound to a plan for its owners, per search what the vote has the hash of."""


class PlanOpened(Message, frozen=True, kw_only=True):
    """The node's part of the plan."""

    components: list[bytes]
    """The node's components of the plan; where that is for its owners, of its value alone."""
    sealed: SealedParts | None = None
    """The boxes of a plan for its owners."""


class LogPage(Message, frozen=True, kw_only=True):
    """A page of the log of an agreement."""

    log: bytes
    more: bool
    """Whether the log goes on after this page."""
    signature: bytes
    """With the last page, the node's under the head of the whole log, the time and the nonce."""
    seconds: int
    """The node's time when it signed, in seconds since 1970."""
    head: str = ""
    """The hash of the log's last line, which is what is signed."""


class RefusalKind(StrEnum):
    """Refusals that whoever asked can do something about."""

    MISSING = "missing"
    """Rows are not here; submit them again."""
    DIFFERS = "differs"
    """The nodes had different rows and dropped them; submit them again to all."""
    OUTSIDE = "outside"
    """Weights out of range, dropped everywhere; their participants have to seal anew."""
    OTHER_ROWS = "other rows"
    """Other rows of the same participant are here; `Prepare` drops what differs."""
    ROWS = "rows"
    """What a participant sealed is not what it should be; it has to seal anew."""
    FULL = "full"
    """The node keeps nothing more for this platform until others end, or its operator acts."""
    PACE = "pace"
    """The series allows no more runs today; later it does."""
    EARLY = "early"
    """No plan is opened yet; go on with the steps, or ask again when the deadline comes."""
    FENCED = "fenced"
    """Another process of the platform has taken the run over; stop."""
    ABSENT = "absent"
    """Two of three nodes have voted so, and the third can be reached; ask it, too."""


class Refused(Message, frozen=True, kw_only=True):
    """The node says no; unless `kind` says what to do, asking again does not help."""

    reason: str
    kind: str = ""
    """Which refusal it is, where whoever asked can do something about it: see `RefusalKind`."""
    participants: list[str] = []
    """The participants that it is about."""


class Failed(Message, frozen=True, kw_only=True):
    """The computation was aborted because of this peer; it may work with a new epoch."""

    peer: str
    what: str
    voucher: str = ""
    """Who vouched for something else than the peer sent, if that was it."""
    evidence: Evidence = []
    """What these two signed, in a signed attempt."""


Result = (
    Pong
    | SealingKeyOffered
    | AgreementTaken
    | EpochOpened
    | InputsChecked
    | BatchDone
    | RunAccounted
    | VoteCast
    | PlanOpened
    | Done
    | Computed
    | LogPage
)
Reply = Result | Refused | Failed


R = TypeVar("R", bound=Message)
T = TypeVar("T")

TALK = Channel(bytes(16), kind=FrameKind.CONTROL)
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
HeadsOfNodes = Annotated[dict[Small, PlanHeadsOfGroup], msgspec.Meta(max_length=4)]
Hexadecimal = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{32,64}$")]


class Request(Message, Generic[R], frozen=True, kw_only=True):
    """What coordinators ask; `R` is the reply of a node that does it."""

    fence: Number = 0
    """Which of the platform's processes asks, about a run: those that took it over later have
    higher numbers, and nodes refuse what comes from an earlier one."""


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
    text: Number = 0
    rows: Number = 0
    """Bytes of the agreement's text, and of its sealed rows, to keep room for; at most."""


class Agree(Request[AgreementTaken], frozen=True, kw_only=True):
    """Here is an agreement that everybody signed."""

    agreement: bytes
    signatures: Signatures
    public_weights: PublicWeights = msgspec.field(default_factory=dict)
    """Per public objective its weights, where the nodes derive the populations."""
    series: bytes = b""
    """The series that it is a run of, in its canonical form; may be left out if it is known."""
    series_signatures: Signatures = msgspec.field(default_factory=dict)


class Submit(Request[Done], frozen=True, kw_only=True):
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


class Prepare(Computation[InputsChecked], frozen=True, kw_only=True):
    """Compare manifests and shares, and check the ranges of an objective's inputs."""

    objective: Small


class Freeze(Computation[Computed], frozen=True, kw_only=True):
    """Freeze the inputs of an objective that these votes have decided on, and draw the seed."""

    objective: Small
    votes: SignedVotes


class Evaluate(Computation[Computed], frozen=True, kw_only=True):
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


class Reveal(Computation[Computed], frozen=True, kw_only=True):
    """Say which of these evaluated candidates is truly best."""

    objective: Small
    candidates: bytes


MOST_GENERATIONS = 4096
"""Steps of a sealed run in one request, so that frames can count their rounds."""


class Advance(Computation[BatchDone], frozen=True, kw_only=True):
    """Go on with a sealed run by `count` steps; by none, draw its secret start."""

    search: Small
    first: Number
    count: Small
    horizon: Number
    """How many steps there will be, as far as one knows: a tour's temperature follows from it."""
    parent_attempt: Attempt
    """The attempt whose state counts; empty for the start."""

    @property
    def digest(self) -> bytes:
        numbers = (self.search, self.first, self.count, self.horizon)
        words = "tacit request/1\nadvance\n" + "".join(f"{number}\n" for number in numbers)
        return hashlib.sha256(words.encode()).digest()


class CountRun(Computation[RunAccounted], frozen=True, kw_only=True):
    """Count a plan for the balances of its series: before it is opened, or is the result."""

    search: Small
    state: Attempt
    """The attempt whose state has the plan of a sealed search; else empty."""
    votes: SignedVotes = msgspec.field(default_factory=list)
    """Those that decided on the state."""
    plan: bytes = b""
    """One of the best plans that the agreed search found, where the platform knows them."""

    @property
    def digest(self) -> bytes:
        """Return the hash that names the request; a plan that the platform knows is part of it."""
        return request_hash("count", "", "", self.plan) if self.plan else b"count"


class CastVote(Request[VoteCast], frozen=True, kw_only=True):
    """Vote in a ballot on what is frozen or opened, as far as these votes of others allow it."""

    agreement: bytes
    subject: Subject
    ballot: BallotNumber
    phase: Phase
    value: Value = ""
    votes: SignedVotes = msgspec.field(default_factory=list)
    """Those that allow it: the statuses of a ballot with what proves their locks, or a quorum."""


class OpenPlan(Request[PlanOpened], frozen=True, kw_only=True):
    """Open the best plan of a sealed search as this attempt left it, which the nodes decided on."""

    agreement: bytes
    search: Small
    attempt: Attempt
    votes: SignedVotes = msgspec.field(default_factory=list)
    """Those that decided on it."""
    heads: HeadsOfNodes = msgspec.field(default_factory=dict)
    """Where the plan is for its owners: what the nodes are bound to by these votes."""


class End(Request[Done], frozen=True, kw_only=True):
    """The run is over: delete the agreement's key, its boxes and all shares, and do no more."""

    agreement: bytes
    """Its hash; empty if it was never drafted."""
    nonce: Hexadecimal
    """The keys that were drawn for it, and that no agreement has claimed, are deleted as well."""


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


def attempt_of(request: Computation[Any], /) -> Attempt:
    match request:
        case Evaluate(number=number):
            pass
        case Advance(first=first, count=count):
            number = first + count
        case Reveal():
            number = REVEAL_NUMBER
        case CountRun():
            number = COUNT_NUMBER
        case _:
            number = 0
    return Attempt.of(number, request.epoch, request.attempt)


def context_of(request: Computation[Any], digest: bytes, /) -> Context:
    """Return the context of an attempt, bound to its request, its epoch and its parent.

    Nodes that were told another epoch or another parent have other tags and other masks, so their
    first message fails.
    """
    match request:
        case Evaluate(objective=about, number=number):
            parent = request.parent_attempt
        case Advance(search=about, first=first):
            # The step after `first`. Further attempts at these steps share it and differ by their
            # count.
            number, parent = first + 1, request.parent_attempt
        case Reveal(objective=about):
            number, parent = REVEAL_NUMBER, NO_ATTEMPT
        case Prepare(objective=about) | Freeze(objective=about):
            # Evaluations are counted from 1, so nothing else has this number.
            number, parent = 0, NO_ATTEMPT
        case CountRun(search=about):
            number, parent = COUNT_NUMBER, request.state
        case _:
            raise TypeError(f"{type(request).__name__} is not computed")
    # Without the epoch, two epochs whose keys are mixed would share tags and masks.
    bound = digest + request.epoch.to_bytes(8, "little") + parent.encode()
    bound += b" signed" if request.signed else b""
    return Context(request.agreement, about, number, request.attempt, bound)


# Lists, texts and bytes are bounded in their types: a request is refused while it is decoded,
# before a node has done or kept anything for it.
AnyRequest = (
    Ping
    | OfferSealingKey
    | Agree
    | Submit
    | OpenEpoch
    | Prepare
    | Freeze
    | Evaluate
    | Reveal
    | Advance
    | CountRun
    | CastVote
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
    """Return the type of the reply of a node that does what a request asks."""
    kind: type[Message] = get_args(request.__dict__["__orig_bases__"][0])[0]
    return kind


def encode_message(message: Message, /) -> bytes:
    return _ENCODER.encode(message)


def decode_request(data: bytes | bytearray | memoryview, /, *, peer: str) -> AnyRequest:
    return decode(_READ_REQUEST, data, peer, "request")


def decode_reply(data: bytes | bytearray | memoryview, /, *, peer: str) -> Reply:
    return decode(_READ_REPLY, data, peer, "reply")


def decode(
    decoder: msgspec.msgpack.Decoder[T], data: bytes | bytearray | memoryview, peer: str, what: str
) -> T:
    """Decode a message; anything else is a `FrameError` that names the sender."""
    try:
        return decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise FrameError(peer, f"sent what is not a {what}; run the same version on both") from None
