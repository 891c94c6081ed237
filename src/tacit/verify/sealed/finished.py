"""Whether "finished?" was told where that was agreed and nowhere else, from logs and ledger.

Each node logs what it told after which step. All of them must say the same, after every attempt;
no step may follow a 1; and the ledger must have just these bits. Where a step with a checkpoint
was begun and nothing was told, nothing is proved of what left the nodes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.engine.agreement import Agreement, checkpoints_of, groups_of
from tacit.engine.records import FinishedBit, FinishedTold, GenerationsBegun, Log
from tacit.errors import LogError, PeerError, UnprovenError
from tacit.mpc import Session, receive_again, receive_opened
from tacit.verify.answer_log import digests_of, is_hash_of
from tacit.verify.loss import fits_loss, phase_of_three, took_part

Bits = dict[tuple[int, int], bool]
"""What was told, by the first search of a group and the step."""


def agreed_checkpoints(agreement: Agreement, /) -> set[tuple[int, int]]:
    """At which steps of which groups it may be told, a group by its first search."""
    firsts = [group[0] for group in groups_of(agreement)]
    return {(first, step) for first in firsts for step in checkpoints_of(agreement, first)}


def check_finished(
    agreement: Agreement, logs: Sequence[Log], entries: Sequence[FinishedBit], /
) -> str:
    """What was told, in words; refused where it is more than was agreed, or not the same."""
    agreed = agreed_checkpoints(agreement)
    told = _told(logs, agreed)
    _check_steps(logs, agreed, told)
    shown = {(entry.search, entry.number): entry.finished for entry in entries}
    for entry in entries:
        _confirm(agreement, logs, entry, agreed)
    if any(told.get(at, bit) != bit for at, bit in shown.items()):
        raise LogError("the ledger has another word on whether all was proved than the logs")
    if missing := sorted(set(told) - set(shown)):
        raise UnprovenError(
            f"the nodes told whether all was proved after step {missing[0][1]}, which the ledger "
            "leaves out: the platform knows more than it shows, unless it was interrupted just then"
        )
    _check_all_told(logs, agreed, told)
    if not shown:
        return ""
    return (
        f"; besides, {len(shown)} of {len(agreed)} agreed times whether all was proved, "
        f"{sum(shown.values())} times yes"
    )


def _check_all_told(logs: Sequence[Log], agreed: set[tuple[int, int]], told: Bits) -> None:
    """After every step with a checkpoint that was begun, some log must have what was told.

    The bit is out before a node logs it, so that a node which is stopped just then has no line. If
    the step was done again, the word was the same, and is in the logs.
    """
    ends = {
        (event.search, event.first + event.count)
        for log in logs
        for event in log
        if isinstance(event, GenerationsBegun)
    }
    if missing := sorted((ends & agreed) - set(told)):
        raise UnprovenError(
            f"the nodes began what ends with step {missing[0][1]}, after which it is told whether "
            "all is proved, and no log says what was told: it was interrupted, or the platform "
            "knows more than it shows"
        )


def _told(logs: Sequence[Log], agreed: set[tuple[int, int]]) -> Bits:
    """What the nodes say that they told: the same wherever they did it again."""
    told: Bits = {}
    for event in (each for log in logs for each in log if isinstance(each, FinishedTold)):
        at = event.search, event.number
        if at not in agreed or event.attempt.number != event.number:
            raise LogError(
                f"a node told after step {event.number} whether all was proved, which was not "
                "agreed"
            )
        if told.setdefault(at, event.finished) != event.finished:
            raise LogError(
                f"nodes told both that all was proved after step {event.number} and that it was "
                "not; one of them lies"
            )
    return told


def _check_steps(logs: Sequence[Log], agreed: set[tuple[int, int]], told: Bits) -> None:
    """Phases end where it is told, and none follows a 1."""
    for event in (each for log in logs for each in log if isinstance(each, GenerationsBegun)):
        first, end = event.first, event.first + event.count
        if any(search == event.search and first < step < end for search, step in agreed):
            raise LogError(f"steps {first + 1} to {end} go beyond a checkpoint; ask the operator")
        over = [step for (search, step), bit in told.items() if bit and search == event.search]
        if over and first >= min(over):
            raise LogError(f"steps were begun after all was proved, after step {min(over)}")


def _confirm(
    agreement: Agreement, logs: Sequence[Log], entry: FinishedBit, agreed: set[tuple[int, int]]
) -> None:
    """A bit must be that of its parts, at an agreed step, of a request that was begun."""
    there = took_part(logs, entry.without)
    requests = {
        event.request
        for log in logs
        for event in log
        if isinstance(event, GenerationsBegun)
        and (event.search, event.first + event.count) == (entry.search, entry.number)
    }
    fits = (entry.search, entry.number) in agreed and requests == {entry.request}
    if not fits or len(entry.parts) != len(agreement.nodes) or _bit(entry) != entry.finished:
        raise LogError(
            f"the ledger has another word after step {entry.number} on whether all was proved "
            "than the nodes sent; it was changed"
        )
    parts = [digests_of(part) for part in entry.parts]
    for log in there:
        events = [
            event
            for event in log
            if isinstance(event, FinishedTold)
            and (event.search, event.number) == (entry.search, entry.number)
        ]
        step = phase_of_three(log)
        fitting = [e for e in events if fits_loss(step, entry.without, e.attempt)]
        if events and not any(is_hash_of(event, part) for event in fitting for part in parts):
            raise LogError(f"a node logged another word after step {entry.number} than the ledger")


def _bit(entry: FinishedBit) -> bool | None:
    """The bit that the parts in the ledger add up to; None if they do not fit."""
    parts = [dict(part) for node, part in enumerate(entry.parts) if node != entry.without]

    def receive(session: Session) -> Awaitable[NDArray[Any]]:
        return receive_opened(session, 1, dtype=np.uint8, xor=True)

    try:
        return bool(receive_again(parts, receive)[0] & 1)
    except PeerError:
        return None
