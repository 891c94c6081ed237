"""Whether a sealed search went as agreed, and the nodes opened what the ledger says.

There is no population to compute again: the nodes searched themselves. What logs show is that all
were asked for the same generations, one after the other, and that all were bound to one plan of
each search; with the parts that the ledger keeps, which plan that was, and that no other part left
a node.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.engine.agreement.sealed_terms import schedule_of, sealed_terms, table_of
from tacit.engine.agreement.terms import Agreement
from tacit.engine.records.ledger import LedgerEntry
from tacit.engine.wire.recording_mux import sent_digest, substream_digest
from tacit.engine.wire.request import REVEAL_NUMBER
from tacit.errors import LogError, UnprovenError
from tacit.mpc import NODES
from tacit.mpc.ring import from_ring

Log = Sequence[dict[str, Any]]
EVENT_BITS = "told improvements"


@dataclass(frozen=True, slots=True)
class SealedReport:
    """What logs and ledger say of the sealed searches of an agreement."""

    generations: int
    plans: int
    improvements: int
    """Bits that were told on the way, if any were agreed."""
    senders: int
    """How many of the plans' parts the logs confirm."""
    horizons: tuple[int, ...] = ()
    """Every number of generations that the platform said there would be, in its order.

    The temperature follows from it. Whoever is told improvements could steer by it; one that keeps
    to its deadline names numbers that settle down.
    """


def check_sealed_answers(
    agreement: Agreement, logs: Sequence[Log], ledger: Sequence[LedgerEntry], /
) -> SealedReport:
    """Compare a ledger with verified logs of different nodes; a `LogError` names what differs."""
    generations = check_generations_asked(logs)
    opened = [entry for entry in ledger if entry.number == REVEAL_NUMBER]
    # A coordinator that was interrupted may have heard the same plan twice.
    plans = {(entry.objective, tuple(entry.disclosed)) for entry in opened}
    if len({search for search, _ in plans}) < len(plans):
        raise LogError("the ledger has two plans of one search; a node opens one")
    confirmed = {entry.objective: 0 for entry in opened}
    for entry in opened:
        found = _confirm(agreement, logs, entry)
        confirmed[entry.objective] = max(confirmed[entry.objective], found)
    told = [entry for entry in ledger if entry.number != REVEAL_NUMBER]
    for entry in told:
        _confirm_bits(logs, entry)
    _check_nothing_left_out(logs, ledger)
    bits = {(entry.objective, entry.number): len(entry.disclosed) for entry in told}
    horizons = dict.fromkeys(
        line["horizon"] for log in logs for line in log if line["event"] == "generations"
    )
    return SealedReport(
        generations,
        len(plans),
        sum(bits.values()),
        sum(confirmed.values()),
        tuple(horizons),
    )


def check_generations_asked(logs: Sequence[Log], /) -> int:
    """How many generations the plans come from, or were begun; all nodes were asked for the same.

    What was asked for last may not have reached all of them, if no plan was opened after it: no
    node computes it alone.

    >>> one = {"event": "generations", "search": 0, "first": 0, "count": 4, "horizon": 9}
    >>> two = {**one, "first": 4, "count": 2}
    >>> check_generations_asked([[one], [one, two], [one]])
    6
    >>> check_generations_asked([[one, two], [one, {**two, "count": 3}]])
    Traceback (most recent call last):
    tacit.errors.LogError: the nodes were asked for different generations; their logs disagree
    """
    courses = [_course(log) for log in logs]
    searches = {search for course in courses for search in course}
    if not searches:
        raise LogError("the log has no sealed search; give the log of this agreement")
    generations = 0
    for search in sorted(searches):
        opened = _opened_after(logs, search)
        runs = [course.get(search, []) for course in courses]
        longest = max(runs, key=len)
        for each in runs:
            fits = each == longest[: len(each)] and len(each) >= len(longest) - 1
            if not fits or _end(each) < (opened or 0):
                raise LogError(
                    "the nodes were asked for different generations; their logs disagree"
                )
        generations += _end(longest) if opened is None else opened
    return generations


def _end(runs: Sequence[tuple[int, int, int]]) -> int:
    return max((first + count for first, count, _ in runs), default=0)


def _opened_after(logs: Sequence[Log], search: int) -> int | None:
    """After which generation the plan of a search was opened, if it was: once."""
    bases = {
        line["basis"]
        for log in logs
        for line in log
        if line["event"] == "open plan" and line["search"] == search
    }
    if len(bases) > 1:
        raise LogError(f"the nodes were asked for two plans of search {search}; one is opened")
    return int(bases.pop().split(":")[0]) if bases else None


def _check_nothing_left_out(logs: Sequence[Log], ledger: Sequence[LedgerEntry]) -> None:
    """A plan that a node opened, and improvements that all told, should be in the ledger.

    A platform that is killed just then loses them too, so it is no proof of bad will.
    """
    told = {(entry.objective, entry.number) for entry in ledger}
    searches = [{line["search"] for line in log if line["event"] == "opened"} for log in logs]
    for search in sorted(set().union(*searches)):
        if (search, REVEAL_NUMBER) not in told:
            raise UnprovenError(
                f"a node opened the plan of search {search}, which the ledger leaves out: the "
                "platform knows more than it tells, unless it was interrupted just then"
            )
    bits = [
        {(line["objective"], line["number"]) for line in log if line["event"] == EVENT_BITS}
        for log in logs
    ]
    hidden = sorted(set.intersection(*bits) - told) if bits else []
    if hidden:
        raise UnprovenError(
            f"the nodes told improvements after generation {hidden[0][1] - 1}, which the ledger "
            "leaves out: the platform knows more than it tells, unless it was interrupted just then"
        )


def _course(log: Log) -> dict[int, list[tuple[int, int, int]]]:
    """Per search the generations that were begun, repetitions left out, without a gap."""
    course: dict[int, list[tuple[int, int, int]]] = {}
    for line in log:
        if line["event"] != "generations":
            continue
        runs = course.setdefault(line["search"], [])
        run = (line["first"], line["count"], line["horizon"])
        if run in runs:
            continue
        if run[0] != (runs[-1][0] + runs[-1][1] if runs else 0):
            raise LogError(f"generations after {run[0]} do not follow those before; see the node")
        runs.append(run)
    return course


def _confirm(agreement: Agreement, logs: Sequence[Log], entry: LedgerEntry) -> int:
    """How many logs show that a node sent its part of this plan."""
    if len(entry.parts) != len(NODES) or not 0 <= entry.objective < len(
        sealed_terms(agreement).weightings
    ):
        raise LogError("the ledger has not kept what the nodes sent for a plan")
    components = _components(agreement, entry)
    if _told(agreement, components) != (entry.disclosed, entry.best):
        raise LogError("the nodes opened another plan than the ledger says; it was changed")
    # Two nodes send all components, so what the third sent is known whether it was kept or not.
    sent = [[components[node].tobytes(), components[(node + 1) % 3].tobytes()] for node in NODES]
    confirmed = 0
    for log in logs:
        lines = [e for e in log if e["event"] == "opened" and e["search"] == entry.objective]
        for line in lines:
            if not any(_digest(parts, line["salt"]) == line["digest"] for parts in sent):
                raise LogError("a node logged another part of the plan than the ledger keeps")
        confirmed += bool(lines)
    return confirmed


def _digest(parts: Sequence[bytes], salt: str) -> str:
    return sent_digest(bytes.fromhex(salt), [hashlib.sha256(part).digest() for part in parts])


def _components(
    agreement: Agreement, entry: LedgerEntry
) -> dict[int, NDArray[np.unsignedinteger[Any]]]:
    """All three components of an opened plan, where the nodes' parts fit together."""
    word = table_of(schedule_of(agreement, entry.objective, seed=0)).word
    due = (agreement.problem.rows + (agreement.objectives[0].best == "value")) * word.itemsize
    components: dict[int, NDArray[np.unsignedinteger[Any]]] = {}
    for node, substreams in enumerate(entry.parts):
        for offset, part in enumerate(substreams[0][1] if substreams else []):
            if len(part) != due:
                raise LogError("the ledger has a part that is no part of a plan; it was changed")
            words = np.frombuffer(part, dtype=word)
            if not np.array_equal(components.setdefault((node + offset) % 3, words), words):
                raise LogError("the ledger has parts of two plans; a search opens one")
    if len(components) < len(NODES):
        raise LogError("the ledger lacks a part of a plan; two nodes send all")
    return components


def _told(
    agreement: Agreement, components: dict[int, NDArray[np.unsignedinteger[Any]]]
) -> tuple[list[int], int | None]:
    """The plan, and its value where that was agreed."""
    values = from_ring(components[0] + components[1] + components[2])
    plan = [int(v) for v in values[-agreement.problem.rows :]]
    return plan, int(values[0]) if agreement.objectives[0].best == "value" else None


def _confirm_bits(logs: Sequence[Log], entry: LedgerEntry) -> None:
    digests = [[substream_digest(frames) for _, frames in substreams] for substreams in entry.parts]
    for log in logs:
        lines = [
            line
            for line in log
            if line["event"] == EVENT_BITS
            and (line["objective"], line["number"]) == (entry.objective, entry.number)
        ]
        if lines and not any(
            sent_digest(bytes.fromhex(line["salt"]), substreams) == line["digest"]
            for line in lines
            for substreams in digests
        ):
            raise LogError(
                f"a node logged other improvements after generation {entry.number - 1}; the "
                "ledger was changed"
            )
