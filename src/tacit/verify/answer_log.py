"""What a node's log says of its answers: what it began, what it sent, what a power cut took.

A line for every attempt is written before anything leaves the node, and one with the hash of the
answer once all of it is out. So an attempt without its second line failed at this node, or was cut
off there; what a platform shows as its answer is then only the platform's word.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tacit.engine.records import (
    AnswerSent,
    EvaluationAnswer,
    EvaluationBegun,
    EvaluationRepeated,
    Log,
    NumberAdopted,
    PlanReleased,
    PlanSent,
    Sent,
)
from tacit.engine.wire import Attempt, sent_digest, substream_digest
from tacit.verify.loss import PhaseOfThree, fits_loss, phase_of_three

Key = tuple[int, int]
"""An objective, and the number of an evaluation."""


def entry_key(entry: EvaluationAnswer, /) -> Key:
    """Which evaluation an entry of the ledger is about."""
    return entry.objective, entry.number


def is_hash_of(event: Sent | PlanSent | PlanReleased, digests: Iterable[bytes], /) -> bool:
    """Whether a node logged that it sent exactly the substreams with these hashes."""
    return sent_digest(bytes.fromhex(event.salt), digests) == event.digest


def digests_of(substreams: Sequence[tuple[int, list[bytes]]], /) -> list[bytes]:
    """The hashes of what one node sent, from the parts that a ledger keeps."""
    return [substream_digest(frames) for _, frames in substreams]


@dataclass
class AnswerLog:
    """The lines of one log that are about evaluations."""

    requests: dict[Key, str] = field(default_factory=dict)
    """The hash of the population under each number; also of those that peers were asked for."""
    begun: dict[Key, set[Attempt]] = field(default_factory=dict)
    """The attempts at each evaluation."""
    sent: dict[Key, dict[Attempt, AnswerSent]] = field(default_factory=dict)
    """Of those that were answered, the hash of what was sent."""
    by_three: PhaseOfThree | None = None
    """When this node went on without another."""
    lost: list[tuple[int, int, int]] = field(default_factory=list)
    """Objective, and after which and up to which number a power cut may have taken lines."""

    @classmethod
    def of(cls, log: Log, /) -> AnswerLog:
        """Gather the lines of a verified log."""
        found = cls(by_three=phase_of_three(log))
        for event in log:
            match event:
                case (
                    EvaluationBegun(objective=k, number=n)
                    | EvaluationRepeated(objective=k, number=n)
                ):
                    found.begun.setdefault((k, n), set()).add(event.attempt)
                    if isinstance(event, EvaluationBegun):
                        found.requests[k, n] = event.request
                case AnswerSent(objective=k, number=n):
                    found.sent.setdefault((k, n), {})[event.attempt] = event
                case NumberAdopted(objective=k, number=n) if event.request:
                    found.requests[k, n] = event.request
                case NumberAdopted(objective=k, number=n):
                    kept = [number for objective, number in found.sent if objective == k]
                    found.lost.append((k, max(kept, default=0), n))
        return found

    @property
    def lost_node(self) -> int | None:
        """The node that this one went on without."""
        return self.by_three.lost if self.by_three is not None else None

    def senders(self, entry: EvaluationAnswer, /) -> set[int]:
        """Whose parts in the ledger are what this log says was sent, with the nodes it names."""
        events = [
            event
            for attempt, event in self.sent.get(entry_key(entry), {}).items()
            if fits_loss(self.by_three, entry.without, attempt)
        ]
        return {
            k
            for k, part in enumerate(entry.parts)
            if any(is_hash_of(event, digests_of(part)) for event in events)
        }

    def allows(self, entry: EvaluationAnswer, attempt: Attempt, senders: set[int], /) -> bool:
        """Whether an entry may be the answer of an attempt, as far as this log knows."""
        if attempt and not fits_loss(self.by_three, entry.without, attempt):
            return False
        event = self.sent.get(entry_key(entry), {}).get(attempt)
        if event is not None:
            return any(is_hash_of(event, digests_of(entry.parts[k])) for k in senders)
        return attempt in self.begun.get(entry_key(entry), ()) or self.has_lost(entry_key(entry))

    def was_asked(self, entry: EvaluationAnswer, /) -> bool:
        """Whether the node was asked what an entry answers, or may have lost the question."""
        request = self.requests.get(entry_key(entry))
        ends = [up_to for k, _, up_to in self.lost if k == entry.objective]
        return request == entry.request or (
            request is None and entry.number <= max(ends, default=0)
        )

    def has_lost(self, key: Key, /) -> bool:
        """Whether a power cut may have taken lines about an evaluation."""
        return any(key[0] == k and after < key[1] <= up_to for k, after, up_to in self.lost)
