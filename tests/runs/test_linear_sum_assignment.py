"""`tacit.linear_sum_assignment` is SciPy's, computed on shares."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tacit
from tacit.engine.local.cluster import LocalCluster
from tacit.runs import EngineChoice

INF = np.inf
DOCUMENTED = np.array([[4, 1, 3], [2, 0, 5], [3, 2, 2]])


def clear(matrix: Any, *, maximize: bool = False) -> tuple[Any, Any]:
    return tacit.linear_sum_assignment(matrix, maximize, engine="simulated")


@pytest.mark.parametrize(
    "matrix",
    [
        DOCUMENTED,
        [[400, 150, 400], [400, 450, 600], [300, 225, 300]],
        [[400, 150, 400, 1], [400, 450, 600, 2], [300, 225, 300, 3]],
        [[10, 10, 8], [9, 8, 1], [9, 7, 4]],
        [[10.5, 10.25, 8], [9, 8, 1], [9, 7, 4.125]],
        [[10, INF, INF], [INF, INF, 1], [INF, 7, INF]],
        [[1, 2], [4, 3], [0, 5]],
        [[-5, 3], [2, -9]],
        [[True, False], [False, True]],
        [[7]],
    ],
)
@pytest.mark.parametrize("maximize", [False, True])
def test_it_finds_what_scipy_finds(matrix: Any, maximize: bool) -> None:
    costs = np.array(matrix)
    if maximize and costs.dtype.kind == "f":
        costs = np.where(np.isinf(costs), -INF, costs)
    rows, columns = clear(costs, maximize=maximize)
    expected = scipy.optimize.linear_sum_assignment(costs, maximize)
    assert rows.tolist() == expected[0].tolist()
    assert costs[rows, columns].sum() == costs[expected].sum()


@settings(max_examples=30, deadline=None)
@given(
    hnp.arrays(
        np.int64,
        hnp.array_shapes(min_dims=2, max_dims=2, max_side=6),
        elements=st.integers(-50, 50),
    )
)
def test_any_matrix(costs: Any) -> None:
    rows, columns = clear(costs)
    best = scipy.optimize.linear_sum_assignment(costs)
    assert sorted({*rows.tolist()}) == rows.tolist()  # of several optima it may be another
    assert len({*columns.tolist()}) == len(columns) == min(costs.shape)
    assert costs[rows, columns].sum() == costs[best].sum()


@pytest.mark.parametrize(
    ("matrix", "match"),
    [
        ([1, 2, 3], "expected a matrix"),
        ([["a", "b"]], "numerical entries"),
        ([[1.0, np.nan], [1, 2]], "invalid numeric entries"),
        ([[-INF, 1], [1, 2]], "invalid numeric entries"),
        ([[INF, INF], [1, 2]], "infeasible"),
        ([[INF, 1, 2], [INF, 1, 2], [INF, 1, 2]], "infeasible"),
        ([[1j, 1], [1, 2]], "real numbers"),
        ([[1 / 3, 1], [1, 2]], "round to 9"),
        ([[1e15, 1], [1, 2]], "round them"),
    ],
)
def test_what_scipy_refuses_and_what_shares_cannot_hold(matrix: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        clear(matrix)


def test_narrow_words_do_not_wrap() -> None:
    costs = np.array([[-128, 0], [0, -1]], dtype=np.int8)
    rows, columns = clear(costs, maximize=True)
    assert costs[rows, columns].sum() == 0


def test_costs_with_structure_take_more_phases_and_are_proved() -> None:
    """Of rank one, most pairs forbidden: the first course finds no plan of some of these."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        costs = np.outer(rng.integers(0, 99, 24), rng.integers(0, 99, 24)).astype(float)
        costs[rng.random(costs.shape) < 0.6] = INF
        costs[range(24), rng.permutation(24)] = 5000
        rows, columns = clear(costs)
        assert (
            costs[rows, columns].sum() == costs[scipy.optimize.linear_sum_assignment(costs)].sum()
        )


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0)])
def test_nothing_to_assign(shape: tuple[int, int]) -> None:
    rows, columns = clear(np.empty(shape))
    assert rows.size == columns.size == 0


@pytest.mark.processes
def test_on_nodes(cluster: LocalCluster) -> None:
    choice = EngineChoice(cluster=cluster.folder / "cluster.toml")
    rows, columns = tacit.linear_sum_assignment(DOCUMENTED, engine=choice)
    assert DOCUMENTED[rows, columns].sum() == 5
