"""Several plans of one agreement tell more than one, and the words say how much was measured."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from tacit.audit.expected.several_plans import MEASURED, plans_together, words_for_plans
from tacit.problems import Problem, generate_assignment
from tacit.runs.sealed.searching import SimulatedSealedSearch
from tacit.search.moves import SealedParameters

SIZE = 40


def centred(cells: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(cells - cells.mean(0) - cells.mean(1, keepdims=True) + cells.mean())


def told_of_first(problem: Problem, weightings: Sequence[tuple[int, int]], count: int) -> float:
    """What plans at these weightings tell of the first objective, each as much as it weighs it."""
    cells = np.zeros((SIZE, SIZE))
    for stream, factors in enumerate(weightings):
        search = SimulatedSealedSearch(problem, SealedParameters(), factors, seed=7, stream=stream)
        search.advance(count, count, until=None)
        plan = search.open(until=None).plan
        cells[np.arange(SIZE), plan] += factors[0] / sum(factors)
    about = problem.objectives[0]
    assert about.weights is not None
    guess, truth = centred(cells), centred(about.sign * about.weights.astype(float))
    return float(np.corrcoef(guess.ravel(), truth.ravel())[0, 1])


@pytest.mark.parametrize(("plans", "generations"), [(1, 100), (16, 20)])
def test_the_figures_can_be_measured_again(plans: int, generations: int) -> None:
    problem = generate_assignment(1, rows=SIZE, objectives=2)
    spread = [(15 - i, i) for i in range(plans)]
    close = [(1 << 20, i) for i in range(plans)]
    figure = plans_together(plans)
    assert told_of_first(problem, spread, generations) == pytest.approx(figure.spread, abs=0.05)
    assert told_of_first(problem, close, generations) == pytest.approx(figure.close, abs=0.05)


def test_more_plans_tell_more_and_the_words_count_them() -> None:
    assert [each.plans for each in MEASURED] == [1, 2, 5, 16, 64, 128]
    for less, more in pairwise(MEASURED):
        assert more.close > less.close
        assert more.spread >= less.spread
    assert words_for_plans(1) == []
    (said,) = words_for_plans(6)
    assert "opens 6, one for each weighting" in said
    assert "16 plans told 0.47 to 0.57 of an objective where one told 0.25" in said
