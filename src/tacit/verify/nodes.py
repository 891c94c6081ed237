"""What logs say of nodes: which of four was lost, and which departed from the protocol.

A log of one of the three says when they went on without the fourth. The fourth's own log does not,
and lacks what was computed meanwhile. All logs but one must say the same: no platform can leave out
a node that was there. That holds for what was computed meanwhile and for nothing else: before it
was lost and after it was back, the fourth's log counts as the others' do.

A node logs what others signed and sent to it where two contradict each other, and three log what
made them go on without the fourth. Everything is checked again from the agreement's keys alone. A
node that shows something else made it up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tacit.agreement import Agreement
from tacit.errors import LogError
from tacit.records import (
    BuiltOnThree,
    Log,
    NodeLost,
    NodeNamed,
    NodeReturned,
    RequestFailed,
    describe_suspects,
    read_evidence,
    suspects,
)
from tacit.wire import Attempt


@dataclass(frozen=True, slots=True)
class PhaseOfThree:
    """When three nodes computed, as the log of one of them has it."""

    lost: int
    first: int
    """The epoch that it begins with."""
    end: int | None
    """The epoch that all four were back with."""

    def has(self, attempt: Attempt, /) -> bool:
        """Whether an attempt was computed by the three.

        >>> phase = PhaseOfThree(2, first=50, end=90)
        >>> [phase.has(Attempt.of(1, epoch, 0)) for epoch in (49, 50, 89, 90)]
        [False, True, True, False]
        """
        return self.first <= attempt.epoch and (self.end is None or attempt.epoch < self.end)


def phase_of_three(log: Log, /) -> PhaseOfThree | None:
    """When this node went on without another, if it did."""
    lost = next((event for event in log if isinstance(event, NodeLost)), None)
    back = next((event.epoch for event in log if isinstance(event, NodeReturned)), None)
    return None if lost is None else PhaseOfThree(lost.node, lost.epoch, back)


def lost_by(log: Log, /) -> int | None:
    """The node that was lost, if this log is of one of those that went on."""
    phase = phase_of_three(log)
    return None if phase is None else phase.lost


def fits_loss(phase: PhaseOfThree | None, without: int | None, attempt: Attempt, /) -> bool:
    """Whether a node computed an attempt together with those that a ledger names."""
    by_three = phase is not None and phase.has(attempt)
    return without == (phase.lost if phase is not None and by_three else None)


def took_part(logs: Sequence[Log], lost: int | None, /) -> list[Log]:
    """The logs of the nodes that computed while a node was lost, of which one may be missing."""
    if lost is None:
        return list(logs)
    found = [log for log in logs if lost_by(log) == lost]
    if len(found) < len(logs) - 1 or not found:
        raise LogError(
            f"the ledger says that node {lost} was lost, and the nodes' logs do not; the platform "
            "left it out"
        )
    return found


def throughout(logs: Sequence[Log], /) -> list[Log]:
    """The logs of the nodes that took part all the time: all, or all but the lost one's."""
    lost = next((node for log in logs if (node := lost_by(log)) is not None), None)
    return took_part(logs, lost)


def to_the_end(logs: Sequence[Log], /) -> list[Log]:
    """The logs of the nodes that took part until the end of the run."""
    lost = next((node for log in logs if (node := lost_by(log)) is not None), None)
    back = any(isinstance(event, NodeReturned) for log in logs for event in log)
    return list(logs) if lost is None or back else took_part(logs, lost)


def describe_loss(logs: Sequence[Log], /) -> str:
    """What a reader must know of a run in which a node was lost; empty if none was.

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
    """Whom the logs of all nodes, in their order, prove to have departed; empty if nobody.

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
    words = describe_suspects(suspects(read_evidence(agreement, shown))) if shown else ""
    if made_up:
        raise LogError("; ".join([*dict.fromkeys(made_up), *([words] if words else [])]))
    return words


def _checked(agreement: Agreement, node: int, event: RequestFailed | NodeNamed) -> list[bytes]:
    """What an event shows, if it proves what the event says."""
    evidence = [bytes.fromhex(each) for each in event.evidence]
    statements = read_evidence(agreement, evidence)
    left = suspects(statements)
    if isinstance(event, NodeNamed):
        if left != {event.node} or node == event.node:
            raise LogError(f"it does not prove that node {event.node} cheated")
    elif any(statement.to != node for statement in statements):
        raise LogError("it was not sent to this node")
    return evidence
