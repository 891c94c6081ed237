"""Fitting cells to what was disclosed: a prior, a likelihood of the scores, and L-BFGS.

Cells are measured in units of their own spread, so a priori each is normal with mean 0 and
variance 1. The disclosures are free of noise, but a smooth likelihood with a little of it makes
the problem easy to solve and its solution central among all that fit.

Cells that many candidates differ in are steep, others flat, by factors of ten thousand. Each is
scaled by the root of how often it counts; without that, hundreds of iterations stop far from the
end, and the leakage looks smaller than it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.audit.record.design import Design
from tacit.audit.record.view import Cells

TOGETHER = 512
"""How many factors between 1 and 2 are multiplied before one logarithm of the product."""


def logistic_loss(ahead: NDArray[np.float64], /) -> tuple[float, NDArray[np.float64]]:
    """The sum of log(1 + exp(-ahead)), and how hard each observation pulls: 1/(1 + exp(ahead)).

    >>> loss, pull = logistic_loss(np.array([0.0, np.inf]))
    >>> round(loss, 3), pull.tolist()
    (0.693, [0.5, 0.0])
    """
    shrunk = np.exp(-np.abs(ahead))
    grown = 1 + shrunk
    pull = np.where(ahead > 0, shrunk, 1.0) / grown
    whole = len(grown) // TOGETHER * TOGETHER
    products = np.multiply.reduce(grown[:whole].reshape(-1, TOGETHER), axis=1)
    rest = np.multiply.reduce(grown[whole:])
    loss = float(np.log(products).sum() + np.log(rest) - np.minimum(ahead, 0).sum())
    return loss, pull


NOISE = 0.3
"""The noise of a score, in units of a cell's spread."""
CURVATURE = 0.1
"""About what one observation adds to the second derivative of its score."""
BEYOND = 50.0
"""The penalty for cells outside of their range."""
ITERATIONS = 120

Judge = Callable[
    [NDArray[np.float64], NDArray[np.float64]],
    tuple[float, NDArray[np.float64], NDArray[np.float64]],
]
"""From scores and further unknowns to the loss and its derivatives by both."""


@dataclass(frozen=True, eq=False)
class Prior:
    """The attacker's prior: a mean, known cells, and equations."""

    mean: Cells
    unknown: NDArray[np.bool_]
    directions: NDArray[np.float64] | None = None
    """Orthonormal rows: the directions that the equations constrain."""
    narrowing: NDArray[np.float64] | None = None
    """By how much the equations narrow the spread along each direction, 0 to 1."""

    def spread(self, whitened: Cells, /) -> Cells:
        """From coordinates in which the prior is round to deviations from the mean, and back."""
        if self.directions is None or self.narrowing is None:
            return whitened * self.unknown
        along = self.directions @ whitened
        return (whitened - self.directions.T @ (self.narrowing * along)) * self.unknown


def flat_prior(cell_count: int, /) -> Prior:
    """Nothing is known."""
    return Prior(np.zeros(cell_count), np.ones(cell_count, dtype=np.bool_))


def fit(
    design: Design,
    judge: Judge,
    /,
    *,
    prior: Prior,
    others: NDArray[np.float64],
    curvature: float = CURVATURE,
    iterations: int = ITERATIONS,
    start: Cells | None = None,
    limit: float | None = None,
) -> Cells:
    """The most probable cells. `others` are first values of unknowns beside the cells.

    `limit` is how far a cell can be from 0 at most, where its range is known.
    """
    from scipy.optimize import minimize

    count = len(prior.mean)
    scale = 1 / np.sqrt(1 + curvature / NOISE * design.visits)
    transposed = design.transposed

    def loss(z: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        whitened = z[:count] * scale
        cells = prior.mean + prior.spread(whitened)
        value, by_score, by_other = judge(design.scores(cells), z[count:])
        by_cell = transposed @ by_score
        if limit is not None:
            beyond = cells - np.clip(cells, -limit, limit)
            value += 0.5 * BEYOND * float(beyond @ beyond)
            by_cell = by_cell + BEYOND * beyond
        gradient = (prior.spread(by_cell) + whitened) * scale
        return value + 0.5 * float(whitened @ whitened), np.concatenate([gradient, by_other])

    first = np.zeros(count) if start is None else (start - prior.mean) * prior.unknown / scale
    found = minimize(
        loss,
        np.concatenate([first, others]),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": iterations, "maxfun": 10 * iterations, "maxcor": 10},
    )
    return np.asarray(prior.mean + prior.spread(found.x[:count] * scale))
