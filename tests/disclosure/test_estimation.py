"""From levels to estimated fitness: the formula, its exceptions, and what is given instead."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tacit.disclosure import estimate, estimator_named, exponential, linear, parse_disclosure
from tacit.errors import ParameterError
from tests.disclosure import definitions


@given(st.integers(-(10**6), 10**6), st.integers(1, 300))
def test_linear_is_the_papers_formula(best: int, u: int) -> None:
    exact = [float(definitions.linear_estimate(best, u, m)) for m in range(u)]
    assert linear(best, u).tolist() == pytest.approx(exact, rel=1e-12, abs=1e-9)


@pytest.mark.parametrize(
    ("best", "u", "expected"),
    [
        (100, 2, [100.0, -100.0]),
        (-100, 2, [-100.0, -300.0]),
        (-100, 3, [-100.0, -200.0, -300.0]),
        (0, 2, [0.0, -1.0]),
        (0, 5, [0.0, -0.25, -0.5, -0.75, -1.0]),
        (7, 1, [7.0]),
        (0, 1, [0.0]),
        (-7, 1, [-7.0]),
    ],
)
def test_linear_by_hand(best: int, u: int, expected: list[float]) -> None:
    assert linear(best, u).tolist() == expected


@pytest.mark.parametrize("estimator", [linear, exponential])
@given(best=st.integers(-(10**6), 10**6), u=st.integers(2, 300))
def test_estimators_fall_from_the_best_to_the_estimated_worst(
    estimator: object, best: int, u: int
) -> None:
    assert callable(estimator)
    levels = estimator(best, u)
    assert len(levels) == u
    assert levels[0] == best
    worst = best - (2 * abs(best) or 1)
    assert levels[-1] == pytest.approx(worst, rel=1e-9, abs=1e-9)
    assert (np.diff(levels) < 0).all(), "levels must stay apart"


@given(st.integers(1, 10**6), st.integers(3, 300))
def test_exponential_distances_shrink_by_a_constant_factor(best: int, u: int) -> None:
    distances = -np.diff(exponential(best, u))
    factors = distances[1:] / distances[:-1]
    assert (factors < 1).all()
    assert factors.tolist() == pytest.approx([1 - 3 / (u + 2)] * (u - 2), rel=1e-4)


def test_exponential_of_one_level_is_the_best() -> None:
    assert exponential(-3, 1).tolist() == [-3.0]


@pytest.mark.parametrize("text", ["order", "quantiles:3", "buckets:3", "top:2", "above:60"])
@given(st.lists(st.integers(-20, 20), min_size=3, max_size=20))
def test_without_a_best_value_the_estimate_is_the_position_alone(
    text: str, fitness: list[int]
) -> None:
    disclosure = parse_disclosure(text)
    disclosed = disclosure.disclose(np.array(fitness, dtype=np.int64))
    estimates = disclosure.estimates(disclosed, best=None)
    assert estimates.tolist() == [-float(m) for m in disclosure.levels(disclosed)]
    # A negative zero would print differently and so break comparisons byte for byte.
    assert not np.signbit(estimates[estimates == 0]).any()


@pytest.mark.parametrize("text", ["order", "quantiles:3", "buckets:3", "top:2", "above:60"])
@given(st.lists(st.integers(-20, 20), min_size=3, max_size=20))
def test_estimates_use_the_number_of_possible_values_not_of_those_that_occurred(
    text: str, fitness: list[int]
) -> None:
    disclosure = parse_disclosure(text)
    u = {"order": len(fitness), "quantiles:3": 3, "buckets:3": 3}.get(text, 2)
    disclosed = disclosure.disclose(np.array(fitness, dtype=np.int64))
    estimates = disclosure.estimates(disclosed, best=max(fitness))
    exact = [
        float(definitions.linear_estimate(max(fitness), u, int(m)))
        for m in disclosure.levels(disclosed)
    ]
    assert estimates.tolist() == pytest.approx(exact, rel=1e-12, abs=1e-9)


def test_another_estimator_can_be_plugged_in() -> None:
    def steps_of_ten(best: int, u: int) -> NDArray[np.float64]:
        return best - np.arange(0.0, 10.0 * u, 10.0)

    levels = np.array([0, 2, 1])
    estimates = estimate(levels, best=5, distinct_values=3, estimator=steps_of_ten)
    assert estimates.tolist() == [5.0, -15.0, -5.0]


def test_estimators_have_names_and_others_are_refused() -> None:
    assert estimator_named("linear") is linear
    assert estimator_named("exponential") is exponential
    with pytest.raises(ParameterError, match=r"'cubic' is not an estimator; use linear or"):
        estimator_named("cubic")
