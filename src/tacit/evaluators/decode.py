"""From what the nodes disclosed to what the search takes: the values that the simulation gives."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.disclosure import BestMode, Estimator
from tacit.evaluators.objective_evaluator import ObjectiveEvaluation
from tacit.problems import Objective


def as_evaluation(
    labels: NDArray[np.int64],
    best: int | bool | None,
    objective: Objective,
    estimator: Estimator,
    /,
) -> ObjectiveEvaluation:
    """What labels and best fitness mean; `best` is a value, a bit or nothing, as disclosed."""
    disclosed: NDArray[Any] = labels
    if objective.disclosure.tells_flags:
        disclosed = labels.astype(np.bool_)
    known = None
    if objective.best_mode is BestMode.VALUE and best is not None:
        known = int(best)
    estimates = objective.disclosure.estimates(disclosed, best=known, estimator=estimator)
    return ObjectiveEvaluation(estimates, disclosed, best)
