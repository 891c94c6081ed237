from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tacit.errors import ParameterError
from tacit.problems import Assignment, generate_family, generate_named, optimum
from tacit.problems.generators import FAMILIES, POSSIBLE, RANK


def drawn(name: str, seed: int = 3) -> tuple[Assignment, NDArray[np.int64]]:
    problem = generate_family(name, seed, rows=12, columns=15)
    weights = problem.objectives[0].weights
    assert weights is not None
    return problem, weights


@pytest.mark.parametrize("name", FAMILIES)
def test_families_are_whole_bounded_solvable_and_the_same_from_a_seed(name: str) -> None:
    problem, weights = drawn(name)
    assert weights.dtype.kind == "i"
    assert weights.shape == (12, 15)
    assert 0 <= weights.min() <= weights.max() <= problem.objectives[0].weight_bound
    assert optimum(problem) is not None
    assert (drawn(name)[1] == weights).all()
    assert (drawn(name, seed=4)[1] != weights).any()
    assert generate_named(name, 3, rows=12, columns=15).name == problem.name


def test_rows_and_columns_have_effects() -> None:
    _, weights = drawn("effects")
    rest = weights - weights.mean(axis=0) - weights.mean(axis=1)[:, None] + weights.mean()
    assert rest.var() < weights.var() / 3


def test_low_rank_is_low() -> None:
    _, weights = drawn("low-rank")
    sizes = np.linalg.svd(weights.astype(float), compute_uv=False)
    assert sizes[RANK - 1] > 20 > 10 > sizes[RANK]


def test_rank_one_pairs_large_with_small() -> None:
    _, weights = drawn("rank-one")
    sizes = np.linalg.svd(weights.astype(float), compute_uv=False)
    assert sizes[0] > 500 > 10 > sizes[1]


def test_sparse_rows_have_few_possible_columns_and_a_plan() -> None:
    problem, weights = drawn("sparse")
    assert problem.forbidden is not None
    possible = (~problem.forbidden).sum(axis=1)
    assert (possible >= POSSIBLE).all()
    assert (possible <= POSSIBLE + 1).all()
    assert (weights[problem.forbidden] == problem.objectives[0].weight_bound).all()


def test_distances_obey_the_triangle_inequality() -> None:
    _, weights = drawn("euclidean")
    for i in range(12):
        through = weights[i] + weights[:, :, None] + weights[:, None, :]
        assert (weights[i][None, :, None] <= through + 2).all()


def test_slots_cost_a_rate_per_delay_from_a_time_of_their_own() -> None:
    problem, weights = drawn("slots")
    assert problem.forbidden is not None
    first = problem.forbidden.sum(axis=1)
    assert (np.diff(first) >= 0).all()
    for row, start in enumerate(first):
        assert problem.forbidden[row, :start].all()
        delays = np.arange(15 - start)
        assert (weights[row, start:] == delays * weights[row, start + 1]).all() or start == 14


def test_ties_are_many() -> None:
    assert len(np.unique(drawn("ties")[1])) <= 11


def test_what_cannot_be_drawn_is_said() -> None:
    with pytest.raises(ParameterError, match="effects, low-rank"):
        generate_family("odd", 1)
    with pytest.raises(ParameterError, match="5 rows cannot each get one of 4 columns"):
        generate_family("ties", 1, rows=5, columns=4)
