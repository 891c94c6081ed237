"""The finish of a search over the integers: the specification of the one on shares."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit.mpc.forest.after_search.cycles import doublings, itself_last
from tacit.mpc.forest.after_search.duals import FREEING, steps_for, takes_cycles
from tacit.mpc.forest.after_search.matching import places_of
from tacit.mpc.forest.clear import (
    ClearForest,
    ClearState,
    Indices,
    Numbers,
    cheaper_of,
    completed,
)
from tacit.mpc.forest.coins import FIRST_STEP, START
from tacit.mpc.forest.layout import Layout


def matching_of_plan(plan: Sequence[int], layout: Layout, /) -> Indices:
    """The forest's column of each of its rows, from the column of each of the problem's rows.

    >>> matching_of_plan([7, 7], Layout(rows=2, columns=(4, 7, 7), spread=1))
    array([2, 0, 1])
    """
    names = np.unique(np.array(layout.columns))
    column, before = places_of(layout)
    used: dict[int, int] = {}
    place_of_row = np.full(layout.size, -1)
    for row, name in enumerate(plan):
        # As the nodes compare: the last column that is not above it.
        at = int(np.searchsorted(names, name, side="right")) - 1
        rank = used.get(at, 0)
        used[at] = rank + 1
        place_of_row[row] = np.flatnonzero((column == at) & (before == rank))[0]
    if not layout.columns_are_roots:
        return place_of_row
    row_of_place = np.full(layout.size, -1)
    row_of_place[place_of_row[: layout.rows]] = np.arange(layout.rows)
    return completed(row_of_place)


def _step(
    costs: Numbers, column_of: Indices, prices: Numbers, ties: Indices
) -> tuple[Numbers, Indices]:
    """The next prices, and the column from which each of them comes."""
    rows = np.argsort(column_of)
    own = costs[rows, np.arange(len(costs))]
    further = (costs[rows] + (prices - own)[:, None]).T
    least = further.min(axis=1)
    return least, np.where(further == least[:, None], ties, len(costs) + 1).argmin(axis=1)


def without_cycles(column_of: Indices, parents: Indices, /) -> Indices:
    """The matching after each column on a cycle of parents took the row of its parent.

    >>> without_cycles(np.array([0, 1, 2]), np.array([1, 0, 0]))
    array([1, 0, 2])
    """
    after = parents
    for _ in range(doublings(len(parents))):
        after = after[after]
    on_cycle = np.unique(after)
    row_of, made = np.argsort(column_of), column_of.copy()
    made[row_of[parents[on_cycle]]] = on_cycle
    return made


def warm_start_in_the_clear(
    forest: ClearForest,
    plan: Sequence[int],
    layout: Layout,
    /,
    *,
    steps: int | None = None,
    fallback: Sequence[int] | None = None,
) -> ClearState:
    """The state with which the forest goes on from a plan, or from a cheaper one that is known."""
    first, costs = matching_of_plan(plan, layout), forest.costs
    if fallback is not None:
        first = cheaper_of(first, matching_of_plan(fallback, layout), costs)
    prices = costs.min(axis=0)
    for step in range(steps_for(layout) if steps is None else steps):
        ties = forest.coins.ties(START, FIRST_STEP + step, len(costs), len(costs))[0]
        prices, parents = _step(costs, first, prices, itself_last(ties))
        if takes_cycles(step):
            first = without_cycles(first, parents)
    profits = (costs - prices).min(axis=1)
    whole = ClearState(first, prices, profits, np.zeros(len(costs), dtype=bool), first)
    return forest.filtered(whole, FREEING)
