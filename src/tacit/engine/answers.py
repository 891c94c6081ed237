"""Did the nodes tell what the ledger says? Put their parts together again, compare with logs.

A ledger keeps the parts that the nodes sent, and each node logs a hash of its own. With the logs of
all three nodes an answer is proven. With fewer it is not: whoever invents the missing parts can
make the sum say anything.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tacit.disclosure import parse_best_mode, parse_disclosure
from tacit.engine.agreement import Agreement
from tacit.engine.answer_record import sent_digest, strand_digest
from tacit.engine.ledger import LedgerEntry
from tacit.engine.request import REVEAL_NUMBER
from tacit.engine.telling import told_best
from tacit.errors import AbortError, LogError, PeerError
from tacit.mpc import COORDINATOR, Outcome, Session, collect
from tacit.mpc.shares import party_name
from tacit.mpc.transport import Channel, Frame
from tacit.mpc.transport.frame import Buffer, Header

Log = Sequence[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Answers:
    """How many answers of a ledger the logs confirm; where a node died, a line may be missing."""

    confirmed: int
    unconfirmed: int


class _Kept:
    """A strand that arrived before, to be received again."""

    def __init__(self, frames: Iterable[bytes], peer: str) -> None:
        self._frames: Iterator[bytes] = iter(frames)
        self._peer = peer

    async def send(self, depth: int, payload: Buffer, *, timeout: float) -> None:
        """Nobody listens."""

    async def receive(self, *, timeout: float) -> Frame:  # noqa: ARG002 - as wires have it
        """The next frame of the record."""
        for data in self._frames:
            return Frame(Header(Channel(bytes(16)), bytes(8), 1, 0, len(data)), data)
        raise AbortError(self._peer, "sent less than this, says the ledger")

    def fail(self, error: PeerError) -> None:
        """Nobody waits."""

    def close(self) -> None:
        """Nothing is open."""


def check_answers(
    agreement: Agreement, logs: Sequence[Log], ledger: Sequence[LedgerEntry], /
) -> Answers:
    """Compare a ledger with verified logs of different nodes; a `LogError` names what differs.

    >>> from tacit.engine.cast import example_cast
    >>> check_answers(example_cast().agreement, [[]], [LedgerEntry(0, 1, "", [1, 0], 9)])
    Traceback (most recent call last):
    tacit.errors.LogError: the ledger has not kept what the nodes sent for evaluation 1; without \
it nothing is confirmed
    """
    entries = [entry for entry in ledger if entry.number != REVEAL_NUMBER]
    for entry in entries:
        if len(entry.parts) != 3:
            raise LogError(
                f"the ledger has not kept what the nodes sent for evaluation {entry.number}; "
                "without it nothing is confirmed"
            )
        if _told_again(agreement, entry) != (entry.disclosed, entry.best):
            raise LogError(
                f"evaluation {entry.number} told something else than the ledger says; the "
                "platform changed it"
            )
    missing: set[tuple[int, int]] = set()
    senders: list[int] = []
    for log in logs:
        sender, without_line = _compare(log, entries)
        missing |= without_line
        senders += [] if sender is None else [sender]
    if len(set(senders)) < len(senders):
        raise LogError("two of the logs are of the same node; give one of each")
    return Answers(len(entries) - len(missing), len(missing))


def _told_again(agreement: Agreement, entry: LedgerEntry) -> tuple[list[int], int | bool | None]:
    terms = agreement.objectives[entry.objective]

    async def put_together() -> Outcome:
        session = Session(
            COORDINATOR,
            masks=None,
            wire=lambda peer, strand: _Kept(
                dict(entry.parts[peer]).get(strand, []), party_name(peer)
            ),
        )
        return await collect(
            session,
            len(entry.disclosed),
            spec=terms.spec,
            bound=agreement.fitness_bound(entry.objective),
            best="value" if terms.spec.kind == "none" else terms.best,
        )

    try:
        outcome = asyncio.run(put_together())
    except PeerError as error:
        raise LogError(f"evaluation {entry.number}: {error}; the platform changed it") from None
    disclosure, mode = parse_disclosure(terms.disclosure), parse_best_mode(terms.best)
    best = told_best(outcome.best_value, outcome.improved, disclosure, mode)
    return [int(label) for label in outcome.labels], best


def _compare(log: Log, ledger: Sequence[LedgerEntry]) -> tuple[int | None, set[tuple[int, int]]]:
    """Whose log it is, and the answers that it neither confirms nor refutes."""
    lines: dict[tuple[int, int], list[dict[str, Any]]] = {}
    computed: Counter[tuple[int, int]] = Counter()
    for line in log:
        if line["event"] in ("evaluate", "repeat", "sent"):
            key = (line["objective"], line["number"])
            computed[key] += 1 if line["event"] != "sent" else -1
            if line["event"] == "sent":
                lines.setdefault(key, []).append(line)
    senders, missing = {0, 1, 2}, set()
    for entry in ledger:
        key = (entry.objective, entry.number)
        fits = {
            node
            for node, strands in enumerate(entry.parts)
            for line in lines.get(key, [])
            if _digest(strands, line["salt"]) == line["digest"]
        }
        if not senders & fits and (computed[key] > 0 or key not in lines):
            missing.add(key)  # it may have been computed once more than lines tell of
        elif not senders & fits:
            raise LogError(f"the node logged another answer to evaluation {entry.number}")
        else:
            senders &= fits
    return (senders.pop() if len(senders) == 1 else None), missing


def _digest(strands: Sequence[tuple[int, list[bytes]]], salt: str) -> str:
    return sent_digest(bytes.fromhex(salt), (strand_digest(frames) for _, frames in strands))
