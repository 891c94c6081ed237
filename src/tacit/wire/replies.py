"""What a node replies: one type per request, `Refused` or `Failed`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec

from tacit.agreement.plan_parts import SealedParts
from tacit.wire.attempt import Attempt

Evidence = Annotated[
    list[Annotated[bytes, msgspec.Meta(max_length=2048)]], msgspec.Meta(max_length=32)
]
"""What nodes said of letters in a signed attempt, each with the signature of its author behind."""


class Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=True, kw_only=True):
    """What all messages have."""

    id: int = 0
    """The number of the request, which a client gives it when it sends it."""


class Computed(Message, frozen=True, kw_only=True):
    """What all replies to a computation have."""

    sent: int
    """Bytes that the node sent for it."""
    rounds: int


class Pong(Message, frozen=True, kw_only=True):
    """The node is there."""

    clock: float
    """The node's time when it answered, in seconds since 1970."""
    round_trip: float | None = None
    """Seconds there and back to the farthest of the other nodes, as far as it is known."""


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
    """Which agreements the operator of a node allows; see `tacit.derived.allowance`."""

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


class Ended(Message, frozen=True, kw_only=True):
    """The agreement has ended here; its key, its boxes and all shares are gone."""


class RowsTaken(Message, frozen=True, kw_only=True):
    """The node keeps the sealed rows."""


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


class InputsPrepared(Computed, frozen=True, kw_only=True):
    """The inputs of the objective are checked and frozen."""


class PopulationEvaluated(Computed, frozen=True, kw_only=True):
    """The answer is out, and the node has kept what it needs later."""


class BestRevealed(Computed, frozen=True, kw_only=True):
    """The node's part of the reveal is out."""


class BatchDone(Computed, frozen=True, kw_only=True):
    """The node keeps the state after these steps."""

    seed: int
    """The seed of the sealed search, which follows from the inputs."""


class RunAccounted(Computed, frozen=True, kw_only=True):
    """The run counts, and its plan may be opened."""

    head: str
    """Of the chain of counted runs, with this one."""


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
    OTHER_ROWS = "sealed"
    """Other rows of the same participant are here; `Prepare` drops what differs."""
    ROWS = "rows"
    """What a participant sealed is not what it should be; it has to seal anew."""
    FULL = "full"
    """The node keeps nothing more for this platform; later it may."""
    EARLY = "early"
    """No plan is opened yet; go on with the steps, or ask again when the deadline comes."""


class Refused(Message, frozen=True, kw_only=True):
    """The node's policy says no; asking again does not help."""

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
    | RowsTaken
    | EpochOpened
    | InputsPrepared
    | PopulationEvaluated
    | BestRevealed
    | BatchDone
    | RunAccounted
    | PlanOpened
    | Ended
    | LogPage
)
Reply = Result | Refused | Failed
