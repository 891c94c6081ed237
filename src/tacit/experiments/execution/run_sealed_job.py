"""A sealed run, performed in the clear, where what nodes would hide can be measured."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.errors import ParameterError
from tacit.problems import Problem
from tacit.runs.sealed import SimulatedSealedSearch
from tacit.search.moves import SealedParameters


def check_problem(problem: Problem, /) -> None:
    """Refuse a problem that a study of sealed searches has no measure for.

    >>> from tacit.problems import generate_assignment
    >>> check_problem(generate_assignment(1, rows=3, objectives=2))
    Traceback (most recent call last):
    tacit.errors.ParameterError: ap2K3x3 has 2 objectives; studies of sealed searches take \
problems of one
    """
    if len(problem.objectives) > 1:
        raise ParameterError(
            f"{problem.name} has {len(problem.objectives)} objectives; studies of sealed searches "
            "take problems of one"
        )


def sealed_best(
    problem: Problem, parameters: SealedParameters, generations: int, /, *, seed: int
) -> NDArray[np.float64]:
    """Internal fitness of the best plan at the start and after each generation.

    >>> from tacit.problems import generate_assignment
    >>> found = sealed_best(generate_assignment(1, rows=6), SealedParameters(block=3), 20, seed=1)
    >>> len(found), bool(np.all(np.diff(found) >= 0))
    (21, True)
    """
    search = SimulatedSealedSearch(problem, parameters, [1], seed=seed, stream=0).twin
    best = [_fitness(problem, search.plan())]
    for _ in range(generations):
        search.advance(1, horizon=generations)
        best.append(_fitness(problem, search.plan()))
    return np.array(best, dtype=np.float64)


def _fitness(problem: Problem, plan: NDArray[np.int32]) -> int:
    return int(problem.fitness(0, plan[None])[0])
