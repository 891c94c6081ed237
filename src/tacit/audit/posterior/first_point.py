"""A first point that fits what is disclosed, or all but a little: the sampler mends the rest.

The squares of what is missing to a small margin are added up and minimized (L-BFGS), in cells
scaled by how many candidates they move, as in `fit`. Disclosed best values belong to it: the value
of the good plans as a whole is what the sampler changes most slowly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.audit.posterior.constraints import Constraints
from tacit.audit.record.design import one_hot
from tacit.audit.record.view import Cells, View
from tacit.audit.score.measure import cell_spread

MARGIN = 0.03
"""In units of a cell's spread."""
STEEPNESS = 0.05
BEYOND = 10.0
"""The penalty for cells outside of their range."""
ANCHORED = 0.3
"""The penalty for a best value that is missed."""
SOFTNESS = 0.2
"""Of the maximum over a top group, so that it has a derivative."""
ITERATIONS = 300

Loss = Callable[[Cells], tuple[float, Cells]]


def fitting_point(
    view: View,
    bounds: Constraints,
    matrix: Any,  # noqa: ANN401
    start: Cells,
    half_range: float,
    /,
) -> Cells:
    """The cells near `start` at which the minimum is reached, none outside of its range."""
    from scipy.optimize import minimize

    group, count = bounds.evaluation_of, len(start)
    way = np.where(np.arange(len(group)) < bounds.rest[group], 1.0, -1.0)
    scale = 1 / np.sqrt(1 + STEEPNESS * np.diff(bounds.moves))
    threshold_scale = 1 / np.sqrt(bounds.rest - bounds.begins[:-1])
    transposed, missed_best = matrix.T.tocsr(), _missed_best(view)

    def missing(z: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        cells, thresholds = z[:count] * scale, z[count:] * threshold_scale
        short = np.maximum(MARGIN - way * (matrix @ cells - thresholds[group]), 0.0)
        beyond = cells - np.clip(cells, -half_range, half_range)
        missed, by_cell = missed_best(cells)
        pull = -2 * way * short
        by_cell = by_cell + transposed @ pull + 2 * BEYOND * beyond
        by_threshold = -np.bincount(group, pull, len(thresholds))
        loss = missed + float(short @ short) + BEYOND * float(beyond @ beyond)
        return loss, np.concatenate([by_cell * scale, by_threshold * threshold_scale])

    scores = np.where(way > 0, matrix @ start, np.inf)
    thresholds = np.minimum.reduceat(scores, bounds.begins[:-1])
    found = minimize(
        missing,
        np.concatenate([start / scale, thresholds / threshold_scale]),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": ITERATIONS, "maxfun": 2 * ITERATIONS, "maxcor": 10},
    )
    return np.asarray(np.clip(found.x[:count] * scale, -half_range, half_range))


def _missed_best(view: View) -> Loss:
    """The loss of cells by which the best of a top group does not have its disclosed value."""
    if view.best is None:
        return lambda cells: (0.0, np.zeros(len(cells)))
    top = np.flatnonzero(view.levels == 0)
    group = view.evaluation_of[top]
    begins = np.searchsorted(group, np.arange(view.evaluations))
    picked = one_hot(view.cells[top], view.cell_count)
    transposed = picked.T.tocsr()
    middle = view.sign * view.problem.plan_length * view.weight_bound / 2
    values = (view.best - middle) / cell_spread(view)

    def loss(cells: Cells) -> tuple[float, Cells]:
        scores = picked @ cells
        highest = np.maximum.reduceat(scores, begins)
        share = np.exp((scores - highest[group]) / SOFTNESS)
        total = np.add.reduceat(share, begins)
        off = highest + SOFTNESS * np.log(total) - values
        return ANCHORED * float(off @ off), transposed @ (
            2 * ANCHORED * off[group] * share / total[group]
        )

    return loss
