"""Read from nodes' logs what they disclosed, which node was lost, and which one cheated.

A line for every attempt is written before anything leaves the node, and one with the hash of what
it sent once all of it is out. So an attempt without its second line failed at this node, or was cut
off there; what a platform shows as its answer is then only the platform's word.

A log of one of the three says when they went on without the fourth. The fourth's own log does not,
and lacks what was computed meanwhile. All logs but one must say the same: no platform can leave out
a node that was there. That holds for what was computed meanwhile and for nothing else: before it
was lost and after it was back, the fourth's log counts as the others' do.

A node logs what others signed and sent to it where two contradict each other, and three log what
made them go on without the fourth. Everything is checked again from the agreement's keys alone. A
node that shows something else made it up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tacit.agreement import Agreement
from tacit.errors import LogError
from tacit.mpc import Statement
from tacit.records import (
    REVEAL_NUMBER,
    Attempt,
    BatchBegun,
    BuiltOnThree,
    Disclosed,
    DisclosureKind,
    EvaluationBegun,
    EvaluationRepeated,
    FromParts,
    Log,
    NodeLost,
    NodeNamed,
    NodeReturned,
    NumberAdopted,
    PlanDecided,
    RequestFailed,
    RevealBegun,
    Sent,
    describe_suspects,
    plan_hash,
    read_evidence,
    sent_digest,
    suspects,
)
from tacit.verify.votes import votes_twice


@dataclass(frozen=True, slots=True)
class PhaseOfThree:
    """When three nodes computed, as the log of one of them has it."""

    lost: int
    first: int
    """The epoch that it begins with."""
    end: int | None
    """The epoch that all four were back with."""

    def has(self, attempt: Attempt, /) -> bool:
        """Return whether an attempt was computed by the three.

        >>> phase = PhaseOfThree(2, first=50, end=90)
        >>> [phase.has(Attempt.of(1, epoch, 0)) for epoch in (49, 50, 89, 90)]
        [False, True, True, False]
        """
        return self.first <= attempt.epoch and (self.end is None or attempt.epoch < self.end)


def phase_of_three(log: Log, /) -> PhaseOfThree | None:
    lost = next((event for event in log if isinstance(event, NodeLost)), None)
    back = next((event.epoch for event in log if isinstance(event, NodeReturned)), None)
    return None if lost is None else PhaseOfThree(lost.node, lost.epoch, back)


def lost_by(log: Log, /) -> int | None:
    phase = phase_of_three(log)
    return None if phase is None else phase.lost


def fits_loss(phase: PhaseOfThree | None, without: int | None, attempt: Attempt, /) -> bool:
    """Return whether a node computed an attempt together with those that a ledger names."""
    by_three = phase is not None and phase.has(attempt)
    return without == (phase.lost if phase is not None and by_three else None)


def took_part(logs: Sequence[Log], lost: int | None, /) -> list[Log]:
    """Return the logs of the nodes that computed while one was lost; one may be missing."""
    if lost is None:
        return list(logs)
    found = [log for log in logs if lost_by(log) == lost]
    # The lost node's own log may be among them, and one log may lie.
    if len(found) < len(logs) - 1 or not found:
        raise LogError(
            f"the ledger says that node {lost} was lost, and the nodes' logs do not; the platform "
            "left it out"
        )
    return found


def throughout(logs: Sequence[Log], /) -> list[Log]:
    """Return the logs of the nodes that took part all the time: all, or all but the lost one's."""
    lost = next((node for log in logs if (node := lost_by(log)) is not None), None)
    return took_part(logs, lost)


def to_the_end(logs: Sequence[Log], /) -> list[Log]:
    """Return the logs of the nodes that took part until the end of the run."""
    lost = next((node for log in logs if (node := lost_by(log)) is not None), None)
    back = any(isinstance(event, NodeReturned) for log in logs for event in log)
    return list(logs) if lost is None or back else took_part(logs, lost)


def describe_loss(logs: Sequence[Log], /) -> str:
    """Say that a node was lost in a run; empty if none was.

    >>> describe_loss([[NodeLost(7, 2)], [NodeLost(7, 2)], []])
    'node 2 was lost: from then on computed by three, not checked'
    """
    lost = next((node for log in logs if (node := lost_by(log)) is not None), None)
    if lost is None:
        return ""
    events = [event for log in logs for event in log]
    # One node's word is none; whether the evidence is any, `check_evidence` tells.
    if sum(any(isinstance(event, NodeNamed) for event in log) for log in logs) > 1:
        return f"computed by three since node {lost} was proven to cheat"
    back = any(isinstance(event, NodeReturned) for event in events)
    until = "until it was back " if back else "from then on "
    built = any(isinstance(event, BuiltOnThree) for event in events)
    after = "; nor is what all four built on it since" if built else ""
    return f"node {lost} was lost: {until}computed by three, not checked{after}"


# Nodes that departed from the protocol.


def check_evidence(agreement: Agreement, logs: Sequence[Log], /) -> str:
    """Say whom the logs of all nodes, in their order, prove to have departed; empty for nobody.

    A `LogError` names nodes that show as evidence what proves nothing, beside what is proven.
    """
    shown: dict[bytes, None] = {}
    made_up: list[str] = []
    for node, log in enumerate(logs):
        for event in log:
            if isinstance(event, NodeNamed) or (
                isinstance(event, RequestFailed) and event.evidence
            ):
                try:
                    shown |= dict.fromkeys(_checked(agreement, node, event))
                except (LogError, ValueError) as error:
                    made_up.append(f"node {node} shows evidence that is none: {error}")
    try:
        shown |= dict.fromkeys(votes_twice(agreement, logs))
    except LogError as error:
        made_up.append(str(error))
    words = describe_suspects(suspects(read_evidence(agreement, shown))) if shown else ""
    if made_up:
        raise LogError("; ".join([*dict.fromkeys(made_up), *([words] if words else [])]))
    return words


def _checked(agreement: Agreement, node: int, event: RequestFailed | NodeNamed) -> list[bytes]:
    """Return what an event shows, if it proves what the event says."""
    evidence = [bytes.fromhex(each) for each in event.evidence]
    statements = read_evidence(agreement, evidence)
    left = suspects(statements)
    if isinstance(event, NodeNamed):
        # A node goes on without another and never without itself, and what it shows must prove just
        # what its line says.
        if left != {event.node} or node == event.node:
            raise LogError(f"it does not prove that node {event.node} cheated")
    # A node can only have evidence that was sent to it; anything else was handed to it to be shown.
    elif any(isinstance(each, Statement) and each.to != node for each in statements):
        raise LogError("it was not sent to this node")
    return evidence


Key = tuple[DisclosureKind, int, int]
"""A disclosure: its kind, the objective or search, and the number of an evaluation or step.

The number is 0 where there is one disclosure per objective or search.
"""


def key_of(disclosure: Disclosed | Sent, /) -> Key:
    kind = disclosure.kind
    return kind, disclosure.about, 0 if kind.is_final else disclosure.attempt.number


def is_hash_of(event: Sent, substreams: Sequence[tuple[int, Sequence[bytes]]], /) -> bool:
    """Return whether a node logged that it sent exactly these substreams."""
    return sent_digest(bytes.fromhex(event.salt), substreams) == event.digest


@dataclass
class LoggedDisclosures:
    """The lines of one log that are about disclosures."""

    requests: dict[tuple[int, int], str] = field(default_factory=dict)
    """Per objective and number the hash of the population; also of what peers were asked for."""
    begun: dict[tuple[int, Attempt], str] = field(default_factory=dict)
    """Per objective or search and attempt, the hash of the request that was begun."""
    decided: dict[tuple[int, Attempt], str] = field(default_factory=dict)
    """Per search and attempt whose plan the node opens, the hash of that request."""
    sent: dict[Key, dict[Attempt, list[Sent]]] = field(default_factory=dict)
    """What left the node: of a plan as often as it was asked for."""
    by_three: PhaseOfThree | None = None
    """When this node went on without another."""
    lost: list[tuple[int, int, int]] = field(default_factory=list)
    """Objective, and after which and up to which number a power cut may have taken lines."""

    @classmethod
    def of(cls, log: Log, /) -> LoggedDisclosures:
        found, reveals = cls(by_three=phase_of_three(log)), dict[int, str]()
        for event in log:
            match event:
                case EvaluationBegun(objective=k, number=n):
                    found.requests[k, n] = found.begun[k, event.attempt] = event.request
                case RevealBegun(objective=k):
                    reveals[k] = found.begun[k, event.attempt] = event.request
                case EvaluationRepeated(objective=k, number=n):
                    known = reveals.get(k) if n == REVEAL_NUMBER else found.requests.get((k, n))
                    # A repeat names no request: it is the one that was begun under this number.
                    found.begun[k, event.attempt] = known or ""
                case BatchBegun(search=k):
                    found.begun[k, event.attempt] = event.request
                case PlanDecided():
                    for k in event.searches:
                        found.decided[k, event.attempt] = plan_hash(k, event.attempt).hex()
                case Sent():
                    lines = found.sent.setdefault(key_of(event), {})
                    lines.setdefault(event.attempt, []).append(event)
                case NumberAdopted(objective=k, number=n) if event.request:
                    found.requests[k, n] = event.request
                case NumberAdopted(objective=k, number=n):
                    kept = [
                        n for kind, j, n in found.sent if (kind, j) == (DisclosureKind.LABELS, k)
                    ]
                    found.lost.append((k, max(kept, default=0), n))
        return found

    @property
    def lost_node(self) -> int | None:
        return self.by_three.lost if self.by_three is not None else None

    def senders(self, entry: Disclosed, made: FromParts, /) -> set[int]:
        """Return the nodes that this log can be of, by what it says was sent; none if nothing.

        A `LogError` if a line of the same disclosure contradicts the entry: no disclosure is ever
        made for two requests, and no attempt sends two things.
        """
        lines = self.sent.get(key_of(entry), {})
        # Whatever the attempt, a node answers one request under one number.
        if any(line.request != entry.request for each in lines.values() for line in each):
            raise another_answer(entry)
        nodes = set(made.sent) if entry.attempt in lines else set[int]()
        for line in lines.get(entry.attempt, []):
            nodes &= {node for node, parts in made.sent.items() if is_hash_of(line, parts)}
            if not nodes or not self.fits(entry):
                raise another_answer(entry)
        return nodes

    def fits(self, entry: Disclosed, /) -> bool:
        """Return whether the node computed the attempt with those that the entry names.

        A plan is opened by each node for itself.
        """
        return entry.kind.opens_plan or fits_loss(self.by_three, entry.without, entry.attempt)

    def has_begun(self, entry: Disclosed, /) -> bool:
        """Return whether the node began the attempt of an entry, or may have lost the line."""
        begun = self.decided if entry.kind.opens_plan else self.begun
        request = begun.get((entry.about, entry.attempt))
        # A node says itself after a power cut up to which number it may have lost lines.
        asked = request == entry.request or (request is None and self.has_lost(key_of(entry)))
        return asked and self.fits(entry)

    def was_asked(self, entry: Disclosed, /) -> bool:
        """Return whether the node was asked for this evaluation, or may have lost the question."""
        request = self.requests.get((entry.about, entry.number))
        ends = [up_to for k, _, up_to in self.lost if k == entry.about]
        return request == entry.request or (
            request is None and entry.number <= max(ends, default=0)
        )

    def has_lost(self, key: Key, /) -> bool:
        """Return whether a power cut may have taken lines about an evaluation."""
        kind, about, number = key
        return kind is DisclosureKind.LABELS and any(
            about == k and after < number <= up_to for k, after, up_to in self.lost
        )


def another_answer(entry: Disclosed, /) -> LogError:
    return LogError(f"the nodes logged another answer to {entry.words}; the platform changed it")


def answered_attempts(logs: Sequence[LoggedDisclosures], key: Key, /) -> set[Attempt]:
    """Return the attempts at a disclosure that all of these logs say were sent."""
    each: list[Mapping[Attempt, object]] = [log.sent.get(key, {}) for log in logs]
    return set.intersection(*map(set, each)) if each else set()
