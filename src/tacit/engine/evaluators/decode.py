"""From what the nodes told to what the search takes: the same values as the simulation gives."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.disclosure import BestMode, Disclosure, Estimator, Exact
from tacit.engine.evaluators.objective_evaluator import ObjectiveEvaluation


def as_evaluation(
    labels: NDArray[np.int64],
    best: int | bool | None,
    /,
    *,
    disclosure: Disclosure,
    best_mode: BestMode,
    estimator: Estimator,
) -> ObjectiveEvaluation:
    """What labels and best fitness mean; `best` is a value, a bit or nothing, as it was told."""
    disclosed: NDArray[Any] = labels
    if disclosure.method in ("top", "above"):
        disclosed = labels.astype(np.bool_)
    known = None
    if best_mode is BestMode.VALUE and best is not None:
        known = int(best)
    estimates = disclosure.estimates(disclosed, best=known, estimator=estimator)
    return ObjectiveEvaluation(estimates, disclosed, best)


def told_best(
    value: int | None, improved: bool | None, disclosure: Disclosure, best_mode: BestMode, /
) -> int | bool | None:
    """What counts as told of the best; exact fitness shows its best in any mode."""
    if best_mode is BestMode.IMPROVEMENT and not isinstance(disclosure, Exact):
        return improved
    return value
