"""The plan of a sealed search from the parts that nodes sent of it.

Each node holds two of three components, so two nodes have them all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.engine.agreement.sealed import schedule_of, table_of
from tacit.engine.agreement.terms import Agreement
from tacit.engine.records.ledger import Parts
from tacit.errors import AbortError
from tacit.mpc import NODES, from_ring


@dataclass(frozen=True, slots=True)
class JoinedPlan:
    """All components of a plan, and what they add up to."""

    components: list[bytes]
    plan: list[int]
    value: int | None
    """Where the agreement discloses it."""


def join_parts(agreement: Agreement, search: int, parts: Parts, /) -> JoinedPlan:
    """Add up the nodes' parts; an `AbortError` names the node whose part does not fit."""
    word = table_of(schedule_of(agreement, search, seed=0)).word
    with_value = agreement.objectives[0].best == "value"
    size = (agreement.problem.rows + with_value) * word.itemsize
    components: dict[int, bytes] = {}
    for node, substreams in enumerate(parts):
        sent = substreams[0][1] if substreams else []
        if sent and [len(part) for part in sent] != [size, size]:
            raise AbortError(f"node {node}", "sent something that is not part of a plan")
        for number, part in zip((node, (node + 1) % 3), sent, strict=False):
            if components.setdefault(number, part) != part:
                raise AbortError(f"node {node}", "opened another plan than its neighbour")
    if len(components) < len(NODES):
        raise AbortError("the nodes", "sent too few parts of the plan; two nodes send all")
    whole = [components[k] for k in NODES]
    first, second, third = (np.frombuffer(part, dtype=word) for part in whole)
    values = from_ring(first + second + third)
    if not agreement.known_problem.have_the_form(values[None, with_value:]):
        raise AbortError("the nodes", "opened something that is not a plan")
    plan = [int(item) for item in values[with_value:]]
    return JoinedPlan(whole, plan, int(values[0]) if with_value else None)
