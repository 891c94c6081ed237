"""Shortest paths from all free rows to all columns, cut short after some steps (Bellman-Ford).

::

    root_j = least over free rows i of  C_ij - v_j - b_i + epsilon
    D_j    = least over columns k of    D_k + (C_ij - v_j) - (C_ik - v_k) + epsilon,   and root_j

where row i is matched to column k. Matched rows are no roots and free columns lead nowhere: both
are put too far away. Columns that were kept in the tree of a root not served are at epsilon from
the start.

A minimum per step, and one round for the table of what lies between columns. Nobody learns
anything.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.mpc.cost import Cost
from tacit.mpc.forest import minima
from tacit.mpc.forest.coins import FIRST_STEP, ROOTS, Coins
from tacit.mpc.forest.first_duals import transposed
from tacit.mpc.forest.minima import LineMinima, line_minima, public
from tacit.mpc.forest.schedule import Phase
from tacit.mpc.forest.shape import ForestShape
from tacit.mpc.forest.state import ForestState
from tacit.mpc.handover import two_at_once
from tacit.mpc.protocols import pairwise
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare


@dataclass(frozen=True, slots=True)
class Paths:
    """Distances after the last step and before it, and what they came from."""

    distances: ArithmeticShare
    before: ArithmeticShare
    roots: LineMinima
    """The row from which a path of one edge would come, columns x rows."""
    parents: LineMinima | None
    """Columns x (columns and last the root); none where paths have one edge."""


def _minus(share: ArithmeticShare, /) -> ArithmeticShare:
    return share.map(np.negative)


def _root_distances(
    state: ForestState, left: ArithmeticShare, phase: Phase, shape: ForestShape
) -> ArithmeticShare:
    """Weightings x columns x rows."""
    far = shape.word.type(shape.far)
    matched_rows = state.matching.map(lambda m: m.sum(axis=1, dtype=m.dtype) * far)
    rows = matched_rows - state.profits
    return transposed(left + rows[:, :, None]).add_public(public(phase.epsilon, shape.word))


def _between(
    table: ArithmeticShare, state: ForestState, phase: Phase, shape: ForestShape
) -> ArithmeticShare:
    """From the cost minus price of each column's row: to column j (first) from column k."""
    far = shape.word.type(shape.far)
    own = table.map(lambda part: np.diagonal(part, axis1=1, axis2=2))
    blocked = state.matching.map(lambda m: m.sum(axis=2, dtype=m.dtype) * far)
    lines = table - (own + blocked)[:, :, None]
    return transposed(lines.add_public(public(phase.epsilon + shape.far, shape.word)))


async def shortest_paths(
    session: Session,
    substreams: list[Session],
    costs: ArithmeticShare,
    state: ForestState,
    phase: Phase,
    shape: ForestShape,
    coins: Coins,
) -> Paths:
    """The distances of all columns after the steps of a phase."""
    name, size, word = str(phase.number), shape.size, shape.word
    left = costs - state.prices[:, None, :]

    async def from_roots(t: Session) -> tuple[LineMinima, ArithmeticShare]:
        found = await line_minima(
            t,
            _root_distances(state, left, phase, shape),
            coins.ties(phase.number, ROOTS, size, size),
            shape,
            label=f"{name}.roots",
        )
        if phase.steps == 1:
            return found, found.values
        nearer = _minus(found.values).add_public(public(phase.epsilon, word))
        change = await pairwise.multiply(t, state.kept, nearer, label=f"{name}.kept")
        return found, found.values + change

    async def of_columns(t: Session) -> ArithmeticShare:
        return await pairwise.product(t, state.matching, left, np.matmul, label=f"{name}.table")

    if phase.steps == 1:
        roots, first = await from_roots(session)
        return Paths(first, first, roots, None)
    (roots, first), table = await two_at_once(
        session, from_roots, of_columns, substreams=substreams
    )
    between = _between(table, state, phase, shape)
    distances, step = first, 1
    while True:
        last = step == phase.steps - 1
        found = await _step(
            session, between, distances, roots.values if last else first, step, phase, shape, coins
        )
        if last:
            return Paths(found.values, distances, roots, found)
        distances, step = found.values, step + 1


async def _step(
    session: Session,
    between: ArithmeticShare,
    distances: ArithmeticShare,
    roots: ArithmeticShare,
    step: int,
    phase: Phase,
    shape: ForestShape,
    coins: Coins,
) -> LineMinima:
    further = between + distances[:, None, :]
    values = ArithmeticShare(
        {c: np.concatenate([p, roots.parts[c][:, :, None]], -1) for c, p in further.parts.items()}
    )
    ties = coins.ties(phase.number, FIRST_STEP + step - 1, shape.size, shape.size + 1)
    return await line_minima(session, values, ties, shape, label=f"{phase.number}.{step}")


def cost(nodes: int, phase: Phase, shape: ForestShape) -> Cost:
    """The cost of all steps of a phase."""
    total = minima.cost(nodes, shape, shape.size)
    if phase.steps == 1:
        return total
    item = shape.word.itemsize
    total = total.then(pairwise.cost(nodes, shape.weightings * shape.size, itemsize=item))
    entries = shape.weightings * shape.size**2
    total = total.beside(pairwise.cost(nodes, entries, itemsize=item))
    for _ in range(1, phase.steps):
        total = total.then(minima.cost(nodes, shape, shape.size + 1))
    return total
