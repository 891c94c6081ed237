"""Whether the improvements in a ledger are those that the nodes disclosed of a sealed search."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.engine.agreement import Agreement
from tacit.engine.records import GenerationsBegun, ImprovementBits, ImprovementsSent, Log, events_of
from tacit.errors import LogError, PeerError
from tacit.mpc import Session, receive_again, receive_opened
from tacit.verify.answer_log import digests_of, is_hash_of
from tacit.verify.loss import fits_loss, phase_of_three, took_part
from tacit.verify.two_parts import are_two_parts, xor_of_two_parts


def _bits(entry: ImprovementBits) -> list[int]:
    """The bits that the parts in the ledger add up to; none if they do not fit."""
    parts = [dict(p) for node, p in enumerate(entry.parts) if node != entry.without]

    def receive(session: Session) -> Awaitable[NDArray[Any]]:
        return receive_opened(session, len(entry.improved), dtype=np.uint8, xor=True)

    try:
        bits = (
            xor_of_two_parts(parts, 0, "u1")
            if are_two_parts(parts)
            else receive_again(parts, receive)
        )
    except PeerError:
        return []
    return [int(bit) for bit in bits]


def confirm_bits(agreement: Agreement, logs: Sequence[Log], entry: ImprovementBits) -> None:
    """The bits must be those of their parts, of generations that were asked for."""
    there = took_part(logs, entry.without)
    counts = {
        event.count
        for log in logs
        for event in events_of(GenerationsBegun, log)
        if (event.search, event.first + 1, event.request)
        == (entry.search, entry.number, entry.request)
    }
    complete = len(entry.parts) == len(agreement.nodes) and counts == {len(entry.improved)}
    if not complete or _bits(entry) != [*map(int, entry.improved)]:
        raise LogError(
            f"the ledger has other improvements after generation {entry.number - 1} than the nodes "
            "sent; it was changed"
        )
    parts = [digests_of(part) for part in entry.parts]
    for log in there:
        events = [
            event
            for event in events_of(ImprovementsSent, log)
            if (event.search, event.number) == (entry.search, entry.number)
        ]
        phase = phase_of_three(log)
        fitting = [e for e in events if fits_loss(phase, entry.without, e.attempt)]
        if events and not any(is_hash_of(event, part) for event in fitting for part in parts):
            raise LogError(
                f"a node logged other improvements after generation {entry.number - 1}; the "
                "ledger was changed"
            )
