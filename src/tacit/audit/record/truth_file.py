"""Reading the secret that a record is compared with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.audit.record.record import Record
from tacit.errors import InputError
from tacit.problems import load_problem


def load_truth(
    path: str, record: Record, objective: int = 0, /
) -> tuple[NDArray[np.float64], float | None]:
    """The weights of a record's objective from a problem file or a bare matrix, and the optimum."""
    problem, recorded = load_problem(path), record.objectives[objective]
    named = [each for each in problem.objectives if each.name == recorded.name]
    if not named and len(problem.objectives) > 1:
        raise InputError(f"{path} has no objective {recorded.name!r}; give the recorded problem")
    chosen = named[0] if named else problem.objectives[0]
    if chosen.weights is None:
        raise InputError(f"{path} has no weights of {recorded.name!r}; ask its participants")
    sides = (record.problem.rows, record.problem.columns)
    if chosen.weights.shape != sides:
        given, wanted = (" x ".join(map(str, each)) for each in (chosen.weights.shape, sides))
        raise InputError(
            f"{path} has a {given} matrix and the record is of {wanted}; "
            "give the weights of the recorded run"
        )
    optimum = problem.optimum if len(problem.objectives) == 1 else None
    return chosen.weights.astype(np.float64), optimum
