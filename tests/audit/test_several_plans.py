"""Several plans of one agreement tell more than one, and the words say how much was measured."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from tacit.agreement import assignment_groups
from tacit.audit.explanation import (
    AFTER_LEAST,
    MEASURED,
    plans_together,
    words_for_plans,
)
from tacit.derived import ClearRun
from tacit.problems import Problem, generate_assignment
from tacit.search import weighted_values
from tacit.search.moves import AssignmentParameters

SIZE = 40


def centred(cells: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(cells - cells.mean(0) - cells.mean(1, keepdims=True) + cells.mean())


def told_of_first(problem: Problem, weightings: Sequence[tuple[int, int]], steps: int) -> float:
    """What plans at these weightings tell of the first objective, each as much as it weighs it."""
    settings = AssignmentParameters(generations=20, iterations=48)
    cells = np.zeros((SIZE, SIZE))
    for group in assignment_groups(problem, weightings, settings, seed=7):
        for search in group.searches:
            factors = weightings[search]
            run = ClearRun(group, search, weighted_values(problem, factors))
            run.advance(steps)
            cells[np.arange(SIZE), run.plan()] += factors[0] / sum(factors)
    about = problem.objectives[0]
    assert about.weights is not None
    guess, truth = centred(cells), centred(about.sign * about.weights.astype(float))
    return float(np.corrcoef(guess.ravel(), truth.ravel())[0, 1])


@pytest.mark.parametrize(("plans", "steps"), [(1, 20), (16, 4)])
def test_the_figures_can_be_measured_again(plans: int, steps: int) -> None:
    problem = generate_assignment(1, rows=SIZE, objectives=2)
    spread = [(15 - i, i) for i in range(plans)]
    # As close as agreements allow: their parts of the whole differ by a 1024th.
    close = [(1024 - i, i) for i in range(plans)]
    figure = plans_together(plans)
    assert told_of_first(problem, spread, steps) == pytest.approx(figure.spread, abs=0.05)
    assert told_of_first(problem, close, steps) == pytest.approx(figure.close, abs=0.05)


def test_after_the_least_iterations_many_plans_tell_little_more_than_one() -> None:
    problem = generate_assignment(1, rows=SIZE, objectives=2)
    for weightings in ([(15 - i, i) for i in range(16)], [(1024 - i, i) for i in range(16)]):
        assert told_of_first(problem, weightings, 20 + 16) <= AFTER_LEAST + 0.01


def test_more_plans_tell_more_and_the_words_count_them() -> None:
    assert [each.plans for each in MEASURED] == [1, 2, 5, 16, 64, 128]
    for less, more in pairwise(MEASURED):
        assert more.close > less.close
        assert more.spread >= less.spread
    assert words_for_plans(1, 1) == []
    counted, said = words_for_plans(6, 7)
    assert "Of the 7 plans, one for each weighting of the objectives, 6 are of this" in counted
    assert "16 plans told 0.45 to 0.60 of an objective where one told 0.26" in said
