"""What a node's log says of its answers: what it began, what it sent, what a power cut took.

A line for every attempt is written before anything leaves the node, and one with the hash of the
answer once all of it is out. So an attempt without its second line failed at this node, or was cut
off there; what a platform shows as its answer is then only the platform's word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tacit.engine.records.ledger import LedgerEntry
from tacit.engine.wire.recording_mux import sent_digest, substream_digest

Log = Sequence[dict[str, Any]]
Key = tuple[int, int]
"""An objective, and the number of an evaluation."""


def entry_key(entry: LedgerEntry, /) -> Key:
    """Which evaluation an entry of the ledger is about.

    >>> entry_key(LedgerEntry(0, 7, "", [1], None))
    (0, 7)
    """
    return entry.objective, entry.number


@dataclass
class SentLines:
    """The lines of one log that are about answers."""

    begun: dict[Key, set[str]] = field(default_factory=dict)
    """The attempts at each evaluation."""
    sent: dict[Key, dict[str, tuple[str, str]]] = field(default_factory=dict)
    """Of those that were answered, the salt and the hash of what was sent."""
    lost: list[tuple[int, int, int]] = field(default_factory=list)
    """Objective, and after which and up to which number a power cut may have taken lines."""

    @classmethod
    def of(cls, log: Log, /) -> SentLines:
        """Gather the lines of a verified log.

        >>> line = {"objective": 0, "number": 1, "attempt": "1:1:1"}
        >>> lines = SentLines.of([{"event": "evaluate", **line}, {"event": "epoch", "number": 2}])
        >>> lines.begun, lines.sent
        ({(0, 1): {'1:1:1'}}, {})
        """
        found = cls()
        for line in log:
            event = line["event"]
            if event in ("evaluate", "repeat"):
                key = (line["objective"], line["number"])
                found.begun.setdefault(key, set()).add(line.get("attempt", ""))
            elif event == "sent":
                key = (line["objective"], line["number"])
                told = (line["salt"], line["digest"])
                found.sent.setdefault(key, {})[line.get("attempt", "")] = told
            elif event == "caught up" and not line["request"]:
                kept = [number for k, number in found.sent if k == line["objective"]]
                found.lost.append((line["objective"], max(kept, default=0), line["number"]))
        return found

    def senders(self, entry: LedgerEntry, /) -> set[int]:
        """Whose parts in the ledger are what this log says was sent."""
        told = self.sent.get(entry_key(entry), {}).values()
        return {k for k, part in enumerate(entry.parts) if any(_fits(part, each) for each in told)}

    def allows(self, entry: LedgerEntry, attempt: str, senders: set[int], /) -> bool:
        """Whether an entry may be the answer of an attempt, as far as this log knows."""
        told = self.sent.get(entry_key(entry), {}).get(attempt)
        if told is not None:
            return any(_fits(entry.parts[k], told) for k in senders)
        return attempt in self.begun.get(entry_key(entry), ()) or self.has_lost(entry_key(entry))

    def has_lost(self, key: Key, /) -> bool:
        """Whether a power cut may have taken lines about an evaluation."""
        return any(key[0] == k and after < key[1] <= up_to for k, after, up_to in self.lost)


def _fits(substreams: Sequence[tuple[int, list[bytes]]], told: tuple[str, str]) -> bool:
    salt, digest = told
    frames = (substream_digest(each) for _, each in substreams)
    return sent_digest(bytes.fromhex(salt), frames) == digest
