"""The plan of a sealed search from the parts that nodes sent of it.

With three nodes each component has two holders, and where both have sent it, it must be the same.
With four it has three, of whom two must say the same: so one that lies changes nothing.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.engine.agreement.sealed import schedule_of, table_of
from tacit.engine.agreement.terms import Agreement
from tacit.engine.records.ledger import Parts
from tacit.errors import AbortError
from tacit.mpc import from_ring, held_by


@dataclass(frozen=True, slots=True)
class JoinedPlan:
    """All components of a plan, and what they add up to."""

    components: list[bytes]
    plan: list[int]
    value: int | None
    """Where the agreement discloses it."""


def join_parts(agreement: Agreement, search: int, parts: Parts, /) -> JoinedPlan:
    """Add up the nodes' parts; an `AbortError` names the node whose part does not fit."""
    with_value = agreement.objectives[0].best == "value"
    whole = _joined(agreement, search, parts, words=agreement.problem.rows + with_value)
    values = _sum(agreement, search, whole)
    if not agreement.known_problem.have_the_form(values[None, with_value:]):
        raise AbortError("the nodes", "opened something that is not a plan")
    plan = [int(item) for item in values[with_value:]]
    return JoinedPlan(whole, plan, int(values[0]) if with_value else None)


def join_value(agreement: Agreement, search: int, parts: Parts, /) -> JoinedPlan:
    """The value of a plan for its owners, where the agreement discloses it; of the plan nothing."""
    if agreement.objectives[0].best != "value":
        if any(sent for each in parts for _, sent in each):
            raise AbortError("the nodes", "sent a value where none is disclosed")
        return JoinedPlan([], [], None)
    whole = _joined(agreement, search, parts, words=1)
    return JoinedPlan(whole, [], int(_sum(agreement, search, whole)[0]))


def _word(agreement: Agreement, search: int) -> np.dtype[Any]:
    return table_of(schedule_of(agreement, search, seed=0)).word


def _sum(agreement: Agreement, search: int, whole: list[bytes]) -> NDArray[np.int64]:
    word = _word(agreement, search)
    return from_ring(np.sum([np.frombuffer(p, dtype=word) for p in whole], axis=0, dtype=word))


def _joined(agreement: Agreement, search: int, parts: Parts, *, words: int) -> list[bytes]:
    """All components, of so many words each, as their holders agree on them."""
    size = words * _word(agreement, search).itemsize
    senders = senders_of(parts)
    nodes = len(senders)
    said: list[Counter[bytes]] = [Counter() for _ in range(nodes)]
    for position, node in enumerate(senders):
        sent = parts[node][0][1] if parts[node] else []
        if sent and [len(part) for part in sent] != [size] * (nodes - 1):
            if _needed(nodes) == 1:
                raise AbortError(f"node {node}", "sent something that is not part of a plan")
            continue  # it is outvoted, like one that sends other numbers
        for number, part in zip(held_by(position, nodes), sent, strict=False):
            said[number][part] += 1
    return [_agreed(each, nodes) for each in said]


def senders_of(parts: Parts, /) -> list[int]:
    """The nodes that hold a plan: all, or of four the three that went on without one."""
    sent = {node: len(each[0][1]) for node, each in enumerate(parts) if each}
    lost_one = len(sent) == len(parts) - 1 and {*sent.values()} == {len(parts) - 2}
    return [node for node in range(len(parts)) if node in sent or not lost_one]


def _needed(nodes: int) -> int:
    """How many holders of a component must say the same: one more than may lie."""
    return nodes - 2


def _agreed(said: Counter[bytes], nodes: int) -> bytes:
    """What holders say of a component: one more than may lie must agree, and more than do not."""
    ranked = [*said.most_common(2), (b"", 0), (b"", 0)]
    (part, votes), (_, others) = ranked[:2]
    if votes < _needed(nodes):
        raise AbortError("the nodes", f"sent too few parts of the plan; {nodes - 1} nodes send all")
    if votes == others:
        raise AbortError("the nodes", "opened different plans; one of them lies")
    return part
