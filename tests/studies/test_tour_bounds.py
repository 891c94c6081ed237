"""The bound that unseen tours are held against: no tour is below it, and it is not far below."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from studies.benchmarks.drawn_tours import FAMILIES, drawn_tour, least_length


@pytest.mark.parametrize("family", FAMILIES)
def test_the_bound_is_at_most_the_optimum_and_close_to_it(family: str) -> None:
    problem = drawn_tour(family, 3, stops=7)
    tours = np.array([(0, *rest) for rest in permutations(range(1, 7))], dtype=np.int32)
    optimum = -int(problem.fitness(0, tours).max())
    weights = problem.objectives[0].weights
    assert weights is not None
    assert 0.95 * optimum <= least_length(weights) <= optimum


def test_cities_in_two_groups_are_joined() -> None:
    # Without cuts each group would have a tour of its own.
    near = np.kron(np.eye(2, dtype=np.int64), np.ones((3, 3), dtype=np.int64))
    assert least_length(np.where(near == 1, 1, 100) - np.eye(6, dtype=np.int64)) == 204
