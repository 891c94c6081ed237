"""A participant's part of a plan, put together from what the nodes sealed to it.

Every component is checked against the commitments first, and the nodes against each other: with
three nodes those who hold a component must all say the same, with four the majority counts. Nothing
is added up before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from numpy.typing import NDArray

from tacit.agreement.owners import rows_for
from tacit.agreement.plan_parts import (
    CarriedPart,
    OpenedPart,
    PlanContext,
    PlanHeads,
    SealedParts,
    carried_parts,
    open_part,
)
from tacit.agreement.terms import Agreement
from tacit.errors import SealError
from tacit.mpc import from_ring


@dataclass(frozen=True, slots=True)
class OwnPart:
    """A participant's rows of a plan."""

    columns: dict[int, int]
    """The column of each of its rows; of a tour, all places in their order."""
    context: PlanContext
    heads: dict[int, PlanHeads]
    """Per node whose box fits, what it is bound to: its log must say the same."""
    rejected: list[str]
    """Why boxes of other nodes do not count."""


def put_together(
    agreement: Agreement,
    search: int,
    participant: str,
    parts: Sequence[CarriedPart],
    /,
    *,
    key: Ed25519PrivateKey,
) -> OwnPart:
    """A participant's rows from the boxes of all nodes or all but one; a `SealError` says why not.

    Boxes that do not fit are rejected one by one, which changes nothing as long as enough are left.
    """
    opened: dict[int, OpenedPart] = {}
    rejected = []
    for part in parts:
        try:
            opened[part.node] = open_part(agreement, search, participant, part, key=key)
        except SealError as error:
            rejected.append(str(error))
    context = _common_context(opened, rejected, len(agreement.nodes))
    fitting = {node: part for node, part in opened.items() if part.context == context}
    whole = [_agreed(fitting, c, rejected) for c in range(len(context.members))]
    values = from_ring(np.sum(whole, axis=0, dtype=whole[0].dtype))
    rows = rows_for(agreement, participant)
    columns = dict(zip(rows, map(int, values), strict=True))
    _check_form(agreement, columns)
    heads = {node: part.heads for node, part in fitting.items()}
    return OwnPart(columns, context, heads, rejected)


def whole_plan(
    agreement: Agreement,
    search: int,
    sealed: Sequence[SealedParts | None],
    keys: Mapping[str, Ed25519PrivateKey],
    /,
) -> list[int]:
    """The plan from the parts of all owners, where all their keys are here."""
    columns: dict[int, int] = {}
    for place, each in enumerate(agreement.participants):
        own = put_together(
            agreement, search, each.name, carried_parts(sealed, place), key=keys[each.name]
        )
        columns |= own.columns
    return [columns[row] for row in range(agreement.problem.rows)]


def _common_context(opened: dict[int, OpenedPart], rejected: list[str], nodes: int) -> PlanContext:
    contexts = Counter(part.context for part in opened.values())
    ranked = contexts.most_common(2)
    if not ranked or ranked[0][1] < len(ranked[0][0].members) - 1:
        found = f"; {'; '.join(rejected)}" if rejected else ""
        raise SealError(
            f"too few boxes with your part of the plan fit together: all of {nodes} nodes but one "
            f"are needed{found}"
        )
    for node, part in opened.items():
        if part.context != ranked[0][0]:
            rejected.append(f"node {node}: the box is of another plan than those of the others")
    return ranked[0][0]


def _agreed(
    parts: dict[int, OpenedPart], component: int, rejected: list[str]
) -> NDArray[np.unsignedinteger]:
    """The words of a component, where enough of its holders are bound to the same."""
    holders = {node: part for node, part in parts.items() if component in part.components}
    bound = Counter(part.root(component) for part in holders.values())
    needed = len(next(iter(parts.values())).context.members) - 2
    ranked = [*bound.most_common(2), ("", 0), ("", 0)]
    (root, votes), (_, others) = ranked[:2]
    if votes < needed or votes == others:
        raise SealError(
            f"{' and '.join(f'node {node}' for node in sorted(holders)) or 'no node'} cannot be "
            f"believed: they are bound to different numbers as component {component}, or too few "
            "are there; one of them lies"
        )
    for node, part in holders.items():
        if part.root(component) != root:
            rejected.append(f"node {node}: it alone is bound to another component {component}")
    return next(
        part.components[component] for part in holders.values() if part.root(component) == root
    )


def _check_form(agreement: Agreement, columns: dict[int, int]) -> None:
    """What was put together must be rows of a plan: no column is taken more often than it may."""
    problem = agreement.known_problem
    if problem.between_places:
        fits = problem.have_the_form(np.array([[*columns.values()]], dtype=np.int64))
    else:
        allowed = Counter(map(int, problem.sealed_items))
        fits = not Counter(columns.values()) - allowed
    if not fits:
        raise SealError(
            "the boxes fit what the nodes are bound to, and are not rows of a plan: a node has "
            "computed wrongly; ask the operators"
        )
