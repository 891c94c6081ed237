"""Events in logs: one type each, in JSON with `event` as the tag.

A node has a log per agreement, and one of its own about links, faults and what it removed.
docs/messages.md lists all events.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from tacit.records.ballots import NO_LOCK, Phase, SubjectKind
from tacit.records.ledger import DisclosedProof, DisclosureKind, HeardBoxes
from tacit.records.requests import NO_ATTEMPT, Attempt

FORMAT = "tacit-log/1"
"""Of an agreement's log; its first line says so."""


class LogEvent(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="event", kw_only=True
):
    """What all events have; the log fills it in."""

    at: int = 0
    """When it happened, in seconds since 1970."""
    previous: str = ""
    """The hash of the line before."""

    @property
    def name(self) -> str:
        return str(self.__struct_config__.tag)


class AgreementAccepted(LogEvent, frozen=True, tag="agreed"):
    """The node keeps an agreement that everybody signed: the first line of its log."""

    agreement: str
    """The hash of the agreement."""
    format: str = FORMAT
    """Of the log."""


class InputTaken(LogEvent, frozen=True, tag="input"):
    """The node keeps a participant's sealed rows."""

    objective: int
    participant: str
    box: str
    """The hash of what was sealed for this node."""


Fault = Literal["differs", "out of range"]
"""Why rows do not count: others are signed as the same version, or a weight is out of range."""


class InputDropped(LogEvent, frozen=True, tag="input dropped"):
    """The node dropped a participant's rows."""

    objective: int
    participant: str
    why: Fault
    manifest: str
    """The hash of the manifest that counts no more."""


class InputsFrozen(LogEvent, frozen=True, tag="frozen inputs"):
    """The inputs of an objective are checked, and never change again."""

    objective: int
    manifests: str
    """The hash of all owners' manifests."""
    commitments: list[str]
    """The hashes that bind the nodes to their contributions to the seed."""
    votes: list[str] = []
    """Of the nodes that are bound to these inputs, with their signatures."""


class SeedDrawn(LogEvent, frozen=True, tag="seed drawn"):
    """All nodes have opened their contributions to the seed, for inputs that are decided on."""

    objective: int
    contributions: list[str]
    """Of the nodes to the search's seed."""


class EpochBegun(LogEvent, frozen=True, tag="epoch"):
    """An epoch's number is used up."""

    number: int


class NodeLost(LogEvent, frozen=True, tag="goes on without"):
    """From this epoch on three nodes of four compute, and nobody checks what they send."""

    epoch: int
    node: int


class NodeNamed(NodeLost, frozen=True, tag="goes on without a cheat"):
    """From this epoch on three nodes compute, since the fourth is proven to have cheated."""

    evidence: list[str]
    """What proves it: statements with their signatures."""


class NodeReturned(LogEvent, frozen=True, tag="all are back"):
    """From this epoch on all four nodes compute again."""

    epoch: int
    node: int


class BuiltOnThree(LogEvent, frozen=True, tag="builds on three"):
    """All four nodes computed on from a state that three had left: it is not checked either."""

    attempt: Attempt
    parent_attempt: Attempt
    """The attempt that the three left their state with; the fourth got its share of it."""


class EvaluationBegun(LogEvent, frozen=True, tag="evaluate"):
    """An evaluation that counts; written before anything of it leaves the node."""

    objective: int
    number: int
    request: str
    """The hash of the request, with its population."""
    attempt: Attempt
    parent_attempt: Attempt = NO_ATTEMPT
    """The attempt whose best so far it builds on."""


class EvaluationRepeated(LogEvent, frozen=True, tag="repeat"):
    """A further attempt at the same evaluation, or at the final reveal."""

    objective: int
    number: int
    attempt: Attempt = NO_ATTEMPT
    parent_attempt: Attempt = NO_ATTEMPT


class NumberAdopted(LogEvent, frozen=True, tag="caught up"):
    """An evaluation number that a peer has used, or that a power cut may have lost."""

    objective: int
    number: int
    request: str
    """The hash of the request; empty after a power cut."""


class Sent(LogEvent, frozen=True, omit_defaults=True, tag="sent"):
    """Something was disclosed: all of this node's part of it is out, or leaves it now."""

    kind: DisclosureKind
    about: int
    """The number of the objective or of the sealed search."""
    attempt: Attempt
    """The computation that discloses it; of a plan, the one that left it."""
    request: str
    """The hash of the request."""
    salt: str
    digest: str
    """The hash of the salt and of all that is sent to the platform."""
    # In the same line, so that no crash comes between what left the node and what it knows by it.
    known: DisclosedProof | HeardBoxes | None = None
    """What the node knows of it itself and acts on from now on."""


class RevealBegun(LogEvent, frozen=True, tag="reveal"):
    """The one final reveal is used up; written before anything of it leaves the node."""

    objective: int
    request: str
    """The hash of the request, with its candidates."""
    attempt: Attempt = NO_ATTEMPT


class StartDrawn(LogEvent, frozen=True, tag="secret start"):
    """The nodes draw the secret start of a sealed search."""

    search: int
    attempt: Attempt


class BatchBegun(LogEvent, frozen=True, tag="batch begun"):
    """A batch of steps of a sealed run begins."""

    search: int
    first: int
    """How many steps come before it."""
    count: int
    """How many steps it has."""
    horizon: int
    """How many steps the run will have in all, as far as the platform knows."""
    request: str
    """The hash of the request."""
    attempt: Attempt
    parent_attempt: Attempt
    """The attempt whose state it starts from."""


class RunCounted(LogEvent, frozen=True, omit_defaults=True, tag="counted run"):
    """The run counts for the balances of its series; its plan may leave the node from now on."""

    number: int
    attempt: str
    """The computation of the steps, the same at all nodes."""
    participants: list[str]
    """Who took a step."""
    head: str
    """Of the chain of counted runs, with this one."""
    place: int = 0
    """Which of the counted runs it is, from 1."""
    opened: list[tuple[str, int]] = []
    """What all are told: the sum of the saved shares, the spread of the balances."""
    boxes: list[str] = []
    """What each of the participants above is told of itself, sealed to it."""
    plan: str = ""
    """The digest of the plan that counts, where the platform knows it before it does."""


class Voted(LogEvent, frozen=True, omit_defaults=True, tag="voted"):
    """The node votes in a ballot on what is frozen or opened: written before the vote leaves."""

    kind: SubjectKind
    about: int
    """The objective, or the first search of the group."""
    ballot: int
    phase: Phase
    value: str = ""
    locked: int = NO_LOCK
    """Of a status, the ballot of the lock; the value is that of the lock."""
    heads: str = ""
    """Where a plan is for its owners: the hash of what binds the node to its parts of it."""
    votes: list[str] = []
    """Of a node that is bound, the votes of the quorum that was willing, with their signatures."""


class PlanDecided(LogEvent, frozen=True, tag="open plan"):
    """A quorum of nodes is bound to the state whose plans are opened, and no other ever will be."""

    search: int
    """The first search of the group."""
    searches: list[int]
    """All that are opened from this state."""
    attempt: Attempt
    """The attempt whose state has the plans."""
    votes: list[str]
    """Of the nodes that are bound to it, with their signatures."""


class PlanSealed(LogEvent, frozen=True, tag="sealed plan"):
    """What binds the node to its parts of a plan for its owners, before any of them leaves it."""

    search: int
    attempt: Attempt
    commitments: list[str]
    """Per component that it holds: all its holders have the same."""
    boxes: str
    """The hash of the list of its boxes."""


class RequestRefused(LogEvent, frozen=True, omit_defaults=True, tag="refused"):
    """A request that the node refused."""

    request_kind: str
    reason: str
    peer: str = ""
    """Who asked; only in the node's own log."""
    left_out: int = 0
    """How many such lines were left out before this one."""


class RequestFailed(LogEvent, frozen=True, omit_defaults=True, tag="failed"):
    """A computation that was aborted."""

    request_kind: str
    peer: str
    """Whose fault it was; in the node's own log, who asked."""
    what: str
    left_out: int = 0
    """How many such lines were left out before this one."""
    voucher: str = ""
    """Who vouched for something else than `peer` sent: one of both lies, or this node does."""
    evidence: list[str] = []
    """What both signed, if they did: then it is one of these two, and not this node."""


class AgreementEnded(LogEvent, frozen=True, tag="ended"):
    """The agreement has ended: its sealing key, the boxes and all shares are deleted here."""

    why: str


SearchEvent = StartDrawn | BatchBegun | Sent | PlanDecided | PlanSealed
"""What the sealed searches and the boxes of plans are restored from; they read it themselves."""
StateEvent = (
    InputsFrozen
    | SeedDrawn
    | EpochBegun
    | NodeLost
    | NodeNamed
    | NodeReturned
    | Voted
    | EvaluationBegun
    | NumberAdopted
    | RevealBegun
    | SearchEvent
    | RunCounted
    | AgreementEnded
)
"""What a node restores its state of an agreement from: `AgreementState` must handle each."""
ReportEvent = (
    AgreementAccepted
    | InputTaken
    | InputDropped
    | BuiltOnThree
    | EvaluationRepeated
    | RequestRefused
    | RequestFailed
)
"""Nothing that a node does depends on these."""
AgreementEvent = StateEvent | ReportEvent


class NodeStarted(LogEvent, frozen=True, tag="started"):
    """The node listens."""

    node: int


class NodeStopped(LogEvent, frozen=True, tag="stopped"):
    """The node was told to stop."""

    node: int


class AgreementRemoved(LogEvent, frozen=True, tag="removed"):
    """What the node kept of an agreement is gone."""

    agreement: str
    what: str


class AgreementBroken(LogEvent, frozen=True, tag="broken"):
    """An agreement does not go on: its files are damaged, or a node's log was set back."""

    agreement: str
    what: str


class LinkEvent(LogEvent, frozen=True, omit_defaults=True):
    """What happened on a link."""

    peer: str = ""
    what: str = ""
    left_out: int = 0
    """How many such lines were left out before this one."""


class Connected(LinkEvent, frozen=True, tag="connected"):
    """A peer or platform is connected; `what` says through which node, if it is not directly."""


class RelayBegun(LinkEvent, frozen=True, tag="relays"):
    """What two peers say to each other goes through this node; `what` says to whom."""


class RelayEnded(LinkEvent, frozen=True, tag="relayed no more"):
    """It goes through this node no longer; `what` says why."""


class LinkLost(LinkEvent, frozen=True, tag="link lost"):
    """A link has broken, or was cut off; `what` says why."""


class LinkClosed(LinkEvent, frozen=True, tag="link closed"):
    """A link was closed in order; `what` says by whom."""


class LinkRejected(LinkEvent, frozen=True, tag="turned away"):
    """A stranger, or a platform with too many links, was rejected."""


class CertificateExpires(LinkEvent, frozen=True, tag="certificate expires"):
    """A certificate has expired, or will soon; `peer` is whose it is."""


class LittleRoom(LinkEvent, frozen=True, tag="little room"):
    """Most of the room for a platform is taken; `what` says which setting limits it."""


class ClockCompared(LinkEvent, frozen=True, tag="clock"):
    """The clock of `peer`, a peer or this node itself, is off, or right again."""

    ahead: float = 0.0
    """By how many seconds; negative where it is behind, and 0 where it is right again."""


class NodeFault(LinkEvent, frozen=True, tag="failed itself"):
    """The node has a fault, or could not write the log of an agreement."""


NodeEvent = (
    NodeStarted
    | NodeStopped
    | AgreementRemoved
    | AgreementBroken
    | Connected
    | RelayBegun
    | RelayEnded
    | LinkLost
    | LinkClosed
    | LinkRejected
    | CertificateExpires
    | LittleRoom
    | ClockCompared
    | NodeFault
)
AnyEvent = AgreementEvent | NodeEvent
"""Of either log."""
