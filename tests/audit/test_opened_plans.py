"""The start of a search beside the plan that was opened: what it adds, and when it adds nothing."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from tacit.audit.measure import Truth
from tacit.audit.opened_plans import (
    Opening,
    _exchanges,
    example_of,
    from_known_start,
    learned_from,
)
from tacit.audit.record import RecordedProblem
from tacit.problems.matching import least_assignment

SIDE, SWAPS, LESSONS = 12, 2, 20
PROBLEM = RecordedProblem("small", "assignment", SIDE, SIDE, False, [], [])
START = np.arange(SIDE)


def best_swaps(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """The start after the best of all swaps, and then the best of the other rows."""
    plan, free = START.copy(), set(range(SIDE))
    for _ in range(SWAPS):
        gains = {
            (a, b): values[[a, b], plan[[b, a]]].sum() - values[[a, b], plan[[a, b]]].sum()
            for a, b in combinations(sorted(free), 2)
        }
        a, b = max(gains, key=lambda pair: gains[pair])
        plan[[a, b]] = plan[[b, a]]
        free -= {a, b}
    return plan


def best_plan(values: NDArray[np.float64]) -> NDArray[np.int64]:
    plan = least_assignment(1 - values)
    assert plan is not None
    return plan.astype(np.int64)


def found(
    opened: Callable[[NDArray[np.float64]], NDArray[np.int64]],
    *,
    start: NDArray[np.int64] | None,
) -> float:
    """The median correlation over problems, each attacked by what the others teach."""
    rng = np.random.default_rng(5)
    secrets = [rng.random((SIDE, SIDE)) for _ in range(LESSONS)]
    openings = [Opening(PROBLEM, opened(values), start) for values in secrets]
    examples = [example_of(each, values) for each, values in zip(openings, secrets, strict=True)]
    scores = []
    for k, values in enumerate(secrets):
        cells = from_known_start(openings[k], learned_from(examples[:k] + examples[k + 1 :]))
        scores.append(Truth(PROBLEM, values, 1, optimum=1.0).score(cells).correlation)
    return float(np.median(scores))


def test_of_a_plan_after_few_steps_the_start_tells_more() -> None:
    alone = found(best_swaps, start=None)
    assert found(best_swaps, start=START) > alone + 0.03


def test_of_the_optimum_it_tells_nothing_more() -> None:
    alone = found(best_plan, start=None)
    assert alone > 0.4
    assert found(best_plan, start=START) == pytest.approx(alone, abs=0.03)


def test_a_start_that_is_not_the_one_of_the_search_adds_nothing() -> None:
    alone = found(best_swaps, start=None)
    other = np.roll(START, 5)
    assert found(best_swaps, start=other) < alone + 0.03


def test_exchanges_are_cycles_and_paths() -> None:
    start = np.array([0, 1, 2, 3, 4, 5])
    # Rows 0 to 2 form a cycle, row 4 takes a free column, row 5 the one that row 4 left.
    plan = np.array([1, 2, 0, 3, 6, 4])
    of_rows, of_columns = _exchanges(8, plan, start)
    assert of_rows.tolist() == [0, 0, 0, -1, 1, 1]
    assert of_columns.tolist() == [0, 0, 0, -1, 1, 1, 1, -1]
    assert [each.tolist() for each in _exchanges(6, start, start)] == [[-1] * 6, [-1] * 6]
