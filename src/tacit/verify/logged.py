"""What a node's log says of its disclosures: what it began, what it sent, what a power cut took.

A line for every attempt is written before anything leaves the node, and one with the hash of what
it sent once all of it is out. So an attempt without its second line failed at this node, or was cut
off there; what a platform shows as its answer is then only the platform's word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tacit.errors import LogError
from tacit.records import (
    BatchBegun,
    Disclosed,
    EvaluationBegun,
    EvaluationRepeated,
    FromParts,
    Kind,
    Log,
    NumberAdopted,
    PlanBound,
    RevealBegun,
    Sent,
)
from tacit.verify.nodes import PhaseOfThree, fits_loss, phase_of_three
from tacit.wire import REVEAL_NUMBER, Attempt, plan_hash, sent_digest

Key = tuple[Kind, int, int]
"""A disclosure: its kind, the objective or search, and the number of an evaluation or step.

The number is 0 where there is one disclosure per objective or search.
"""


def key_of(disclosure: Disclosed | Sent, /) -> Key:
    """Return which disclosure an entry or a line is about."""
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
    bound: dict[tuple[int, Attempt], str] = field(default_factory=dict)
    """Per search and attempt whose plan the node opens, the hash of that request."""
    sent: dict[Key, dict[Attempt, list[Sent]]] = field(default_factory=dict)
    """What left the node: of a plan as often as it was asked for."""
    by_three: PhaseOfThree | None = None
    """When this node went on without another."""
    lost: list[tuple[int, int, int]] = field(default_factory=list)
    """Objective, and after which and up to which number a power cut may have taken lines."""

    @classmethod
    def of(cls, log: Log, /) -> LoggedDisclosures:
        """Gather the lines of a verified log."""
        found, reveals = cls(by_three=phase_of_three(log)), dict[int, str]()
        for event in log:
            match event:
                case EvaluationBegun(objective=k, number=n):
                    found.requests[k, n] = found.begun[k, event.attempt] = event.request
                case RevealBegun(objective=k):
                    reveals[k] = found.begun[k, event.attempt] = event.request
                case EvaluationRepeated(objective=k, number=n):
                    known = reveals.get(k) if n == REVEAL_NUMBER else found.requests.get((k, n))
                    found.begun[k, event.attempt] = known or ""
                case BatchBegun(search=k):
                    found.begun[k, event.attempt] = event.request
                case PlanBound(search=k):
                    found.bound[k, event.attempt] = plan_hash(k, event.attempt).hex()
                case Sent():
                    lines = found.sent.setdefault(key_of(event), {})
                    lines.setdefault(event.attempt, []).append(event)
                case NumberAdopted(objective=k, number=n) if event.request:
                    found.requests[k, n] = event.request
                case NumberAdopted(objective=k, number=n):
                    kept = [n for kind, j, n in found.sent if (kind, j) == (Kind.LABELS, k)]
                    found.lost.append((k, max(kept, default=0), n))
        return found

    @property
    def lost_node(self) -> int | None:
        """The node that this one went on without."""
        return self.by_three.lost if self.by_three is not None else None

    def senders(self, entry: Disclosed, made: FromParts, /) -> set[int]:
        """Return the nodes that this log can be of, by what it says was sent; none if nothing.

        A `LogError` if a line of the same disclosure contradicts the entry: no disclosure is ever
        made for two requests, and no attempt sends two things.
        """
        lines = self.sent.get(key_of(entry), {})
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
        begun = self.bound if entry.kind.opens_plan else self.begun
        request = begun.get((entry.about, entry.attempt))
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
        return kind is Kind.LABELS and any(
            about == k and after < number <= up_to for k, after, up_to in self.lost
        )


def another_answer(entry: Disclosed, /) -> LogError:
    """Say that an entry is not what the nodes logged."""
    return LogError(f"the nodes logged another answer to {entry.words}; the platform changed it")


def answered_attempts(logs: Sequence[LoggedDisclosures], key: Key, /) -> set[Attempt]:
    """Return the attempts at a disclosure that all of these logs say were sent."""
    each: list[Mapping[Attempt, object]] = [log.sent.get(key, {}) for log in logs]
    return set.intersection(*map(set, each)) if each else set()
