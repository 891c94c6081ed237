"""What is known of a plan's own values, in the user's unit: never those of another plan."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tacit.disclosure import Exact
from tacit.problems import Problem

Values = list[float | None]
"""Per objective, the plan's value, or None where it was not disclosed."""


def evaluated_values(problem: Problem, estimates: NDArray[np.float64], /) -> list[Values]:
    """Values of evaluated plans: an objective that is public or fully disclosed has exact ones.

    >>> from tacit.problems import Assignment, Objective
    >>> pay, rest = Objective("pay", None, weight_bound=9), Objective("rest", None, weight_bound=9)
    >>> problem = Assignment(name="p", rows=2, columns=2, objectives=(pay, rest))
    >>> evaluated_values(problem, np.array([[4.0, 8.0]]))
    [[4, 8]]
    """
    exact = [
        not problem.evaluates_together
        and (not each.confidential or isinstance(each.disclosure, Exact))
        for each in problem.objectives
    ]
    return [
        [
            objective.to_user(int(estimate)) if is_exact else None
            for objective, estimate, is_exact in zip(problem.objectives, row, exact, strict=True)
        ]
        for row in estimates.tolist()
    ]


def opened_values(problem: Problem, weighting: Sequence[int], value: int | None, /) -> Values:
    """Values of an opened plan: a weighted total is a value where one objective alone counts.

    >>> from tacit.problems import Assignment, Objective
    >>> pay, rest = Objective("pay", None, weight_bound=9), Objective("rest", None, weight_bound=9)
    >>> problem = Assignment(name="p", rows=2, columns=2, objectives=(pay, rest))
    >>> opened_values(problem, (4, 0), 32), opened_values(problem, (3, 1), 32)
    ([8, None], [None, None])
    """
    alone = sum(factor > 0 for factor in weighting) == 1
    return [
        objective.to_user(value // factor) if alone and factor and value is not None else None
        for objective, factor in zip(problem.objectives, weighting, strict=True)
    ]
