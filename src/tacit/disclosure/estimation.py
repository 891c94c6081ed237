"""From what was disclosed to an estimate of the fitness (the paper's section 3.4).

An estimator spreads the levels of a disclosure between the disclosed best fitness and an
estimated worst, `fmin = fmax - 2|fmax|`. Where the best fitness is withheld, only positions are
known, and the estimate is minus the level.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tacit.errors import ParameterError

Estimator = Callable[[int, int], NDArray[np.float64]]
"""Takes the best fitness and u, returns the estimated fitness of levels 0..u-1."""


def estimated_span(best: int, /) -> int:
    """2|fmax|, and 1 where that is 0, since levels must stay apart.

    >>> estimated_span(-100), estimated_span(0)
    (200, 1)
    """
    return 2 * abs(best) or 1


def linear(best: int, distinct_values: int, /) -> NDArray[np.float64]:
    """Equal distances between levels: the paper's estimator.

    >>> linear(100, 3)
    array([ 100.,    0., -100.])
    """
    # One level has no distance, which would be a division by zero.
    if distinct_values == 1:
        return np.array([float(best)])
    distance = estimated_span(best) / (distinct_values - 1)
    return np.asarray(best - np.arange(distinct_values) * distance, dtype=np.float64)


def exponential(best: int, distinct_values: int, /) -> NDArray[np.float64]:
    """Distances that shrink by a constant factor: the variant the paper suggests.

    The factor is 1 - 3/(u+2), so that the last distance is about a twentieth of the first
    however many levels there are. It uses products and sums alone, so that the result is the
    same bit for bit on every machine.

    >>> exponential(100, 3).round(3)
    array([ 100.   ,  -42.857, -100.   ])
    """
    if distinct_values == 1:
        return np.array([float(best)])
    factor = 1 - 3 / (distinct_values + 2)
    distances = np.cumprod(np.full(distinct_values - 1, factor))
    fallen = np.concatenate([[0.0], np.cumsum(distances)])
    return np.asarray(best - fallen / fallen[-1] * estimated_span(best))


def estimator_named(name: str, /) -> Estimator:
    """Look an estimator up by its name."""
    estimators: dict[str, Estimator] = {"linear": linear, "exponential": exponential}
    if name not in estimators:
        raise ParameterError(f"{name!r} is not an estimator; use {' or '.join(estimators)}")
    return estimators[name]


def estimate(
    levels: NDArray[np.int64],
    /,
    *,
    best: int | None,
    distinct_values: int,
    estimator: Estimator = linear,
) -> NDArray[np.float64]:
    """Estimate the fitness of each individual from its level.

    >>> estimate(np.array([0, 1, 1]), best=100, distinct_values=2)
    array([ 100., -100., -100.])
    >>> estimate(np.array([0, 1, 1]), best=None, distinct_values=2)
    array([ 0., -1., -1.])
    """
    if best is None:
        # Plus 0.0, since the best level would be -0.0: equal as a number, and other bytes.
        return -levels.astype(np.float64) + 0.0
    return estimator(best, distinct_values)[levels]
