"""The end of a forest over the integers: the specification of `outcome.finish`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.forest.clear import ClearState, Numbers, cheaper_of, completed
from tacit.mpc.forest.layout import Layout
from tacit.mpc.forest.outcome import Outcome
from tacit.mpc.forest.shape import ForestShape
from tacit.mpc.forest.told.gap import rung_of


@dataclass(frozen=True, slots=True)
class ClearAnswer:
    """What would be opened of one weighting."""

    outcome: Outcome
    plan: NDArray[np.int64]
    total: int
    gap: int
    rung: int = 0
    """How many steps of the ladder hold of the gap."""


def finish_in_the_clear(
    state: ClearState,
    costs: Numbers,
    layout: Layout,
    shape: ForestShape,
    *,
    steps: Sequence[int] = (),
) -> ClearAnswer:
    """The completed plan and what is proved of it; zeros where there is none."""
    size = shape.size
    column_of = completed(state.column_of)
    if state.first is not None:
        column_of = cheaper_of(column_of, state.first, costs)
    matching = np.zeros((1, size, size), dtype=np.int64)
    matching[0, column_of, np.arange(size)] = 1
    reduced = costs - state.prices - state.profits[:, None]
    rows = np.arange(size)
    gap, total = int(reduced[rows, column_of].sum()), int(costs[rows, column_of].sum())
    bounded = bool((reduced >= 0).all() and (reduced <= 2 * shape.bound).all())
    feasible = not layout.forbidden_cells[rows, column_of].any()
    outcome = Outcome(int(bounded and gap <= size) + 2 * int(feasible))
    plan = layout.plan_of(matching)[0]
    if not feasible:
        return ClearAnswer(outcome, np.zeros_like(plan), 0, 0)
    rung = rung_of(gap, steps, scale=shape.scale) if bounded else 0
    return ClearAnswer(outcome, plan, total, gap, rung)
