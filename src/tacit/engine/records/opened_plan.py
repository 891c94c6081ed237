"""The plan of a sealed search from the parts that nodes sent of it.

With three nodes each component has two holders, and where both have sent it, it must be the same.
With four it has three, of whom two must say the same: so one that lies changes nothing.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.engine.agreement.assignment import AssignmentCourse
from tacit.engine.agreement.sealed import course_of, plan_word, words_before_plan
from tacit.engine.agreement.terms import Agreement
from tacit.engine.records.ledger import Parts
from tacit.errors import AbortError
from tacit.mpc import from_ring, held_by
from tacit.mpc.assignment import bound_of

OUTCOMES = ("feasible", "optimum")
"""What is said of the plan of an assignment: not proved, or proved to be the best."""


@dataclass(frozen=True, slots=True)
class JoinedPlan:
    """All components of a plan, and what they add up to."""

    components: list[bytes]
    plan: list[int]
    value: int | None
    """Where the agreement discloses it."""
    outcome: str | None = None
    """What is proved, of an assignment."""
    gap: int | None = None
    """By at most how much it is worse than the optimum, where the agreement discloses that."""


def join_parts(agreement: Agreement, search: int, parts: Parts, /) -> JoinedPlan:
    """Add up the nodes' parts; an `AbortError` names the node whose part does not fit."""
    heads = _heads(agreement)
    whole = _joined(agreement, search, parts, words=agreement.problem.rows + heads)
    values = _sum(agreement, search, whole)
    read = _read_heads(agreement, search, values[:heads])
    if not agreement.known_problem.have_the_form(values[None, heads:]):
        raise AbortError("the nodes", "opened something that is not a plan")
    plan = [int(item) for item in values[heads:]]
    return replace(read, components=whole, plan=plan)


def join_value(agreement: Agreement, search: int, parts: Parts, /) -> JoinedPlan:
    """What is disclosed of a plan for its owners: its value, or what is proved; of it nothing."""
    heads = _heads(agreement)
    if not heads:
        if any(sent for each in parts for _, sent in each):
            raise AbortError("the nodes", "sent a value where none is disclosed")
        return JoinedPlan([], [], None)
    whole = _joined(agreement, search, parts, words=heads)
    read = _read_heads(agreement, search, _sum(agreement, search, whole))
    return replace(read, components=whole)


def _heads(agreement: Agreement) -> int:
    """How many words are opened besides the columns of the rows."""
    hidden = 0 if agreement.objectives[0].best == "value" else 1
    return words_before_plan(agreement) - hidden


def _read_heads(agreement: Agreement, search: int, heads: NDArray[np.int64]) -> JoinedPlan:
    """The value and the gap, where they are disclosed, and what is proved, where it is computed."""
    told = agreement.objectives[0].best == "value"
    course = course_of(agreement, search, seed=0)
    if not isinstance(course, AssignmentCourse):
        return JoinedPlan([], [], int(heads[0]) if told else None)
    proved, *rung = (int(head) for head in heads[told:])
    if proved not in range(len(OUTCOMES)):
        raise AbortError("the nodes", "opened something that is not an outcome")
    value = course.value_of(search, int(heads[0])) if told else None
    if not rung:
        return JoinedPlan([], [], value, OUTCOMES[proved])
    top = len(course.ladder) - 1
    if not 0 <= rung[0] <= top or (rung[0] == top) != bool(proved):
        raise AbortError("the nodes", "opened a gap that does not fit what is proved")
    return JoinedPlan([], [], value, OUTCOMES[proved], bound_of(rung[0], course.ladder))


def _word(agreement: Agreement, search: int) -> np.dtype[Any]:
    return plan_word(agreement, search)


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
