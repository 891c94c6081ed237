"""`tacit.linear_sum_assignment` is SciPy's, computed on shares."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tacit
from tacit.errors import TacitError
from tacit.local.cluster import LocalCluster
from tacit.problems import generate_assignment
from tacit.runs import EngineChoice, Limits

INF = np.inf
solving = import_module("tacit.runs.linear_sum_assignment")
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


SHAPES = hnp.array_shapes(min_dims=2, max_dims=2, max_side=6)
ELEMENTS = {
    "ties": st.integers(0, 2),
    "negative": st.integers(-50, 50),
    "decimals": st.integers(-500, 500).map(lambda cents: cents / 100),
    "large": st.integers(-(2**40), 2**40),
    "forbidden": st.one_of(st.integers(0, 9), st.just(INF), st.just(INF)),
}


@pytest.mark.parametrize("elements", ELEMENTS)
@pytest.mark.parametrize("maximize", [False, True])
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_any_matrix(elements: str, maximize: bool, data: st.DataObject) -> None:
    kind = np.float64 if elements in ("decimals", "forbidden") else np.int64
    costs = data.draw(hnp.arrays(kind, SHAPES, elements=ELEMENTS[elements]))
    if maximize:
        costs = -costs
    try:
        best = scipy.optimize.linear_sum_assignment(costs, maximize)
    except ValueError as infeasible:
        with pytest.raises(ValueError, match=str(infeasible)):
            clear(costs, maximize=maximize)
        return
    rows, columns = clear(costs, maximize=maximize)
    assert sorted({*rows.tolist()}) == rows.tolist()  # of several optima it may be another
    assert len({*columns.tolist()}) == len(columns) == min(costs.shape)
    # Whole numbers, or hundredths, whose sums are not told apart by the order of adding them.
    assert costs[rows, columns].sum() == pytest.approx(costs[best].sum(), abs=1e-9)


@pytest.mark.parametrize(
    ("matrix", "error", "match"),
    [
        ([1, 2, 3], ValueError, "expected a matrix"),
        (5, ValueError, "expected a matrix"),
        (np.zeros((2, 2, 2)), ValueError, "expected a matrix"),
        ([["a", "b"]], ValueError, "could not convert"),
        ([[None, 1], [1, 2]], ValueError, "invalid numeric entries"),
        ([[1.0, np.nan], [1, 2]], ValueError, "invalid numeric entries"),
        ([[-INF, 1], [1, 2]], ValueError, "invalid numeric entries"),
        ([[INF, INF], [1, 2]], ValueError, "infeasible"),
        ([[INF, 1, 2], [INF, 1, 2], [INF, 1, 2]], ValueError, "infeasible"),
        ([[1j, 1], [1, 2]], TypeError, "complex"),
        (np.array([[1j, 1], [1, 2]]), TypeError, "complex"),
        (np.array([[1, 2], [3, 4]], dtype=object), TypeError, "object"),
        (np.array([[1, 2], [3, 4]], dtype="m8[s]"), TypeError, "timedelta"),
    ],
)
def test_it_refuses_what_scipy_refuses(matrix: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        clear(matrix)
    with pytest.raises(error):
        scipy.optimize.linear_sum_assignment(matrix)


@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (5, 9), (9, 5), (40, 40)])
@pytest.mark.parametrize("maximize", [False, True])
def test_floats_of_any_decimals(shape: tuple[int, int], maximize: bool) -> None:
    rng = np.random.default_rng(7)
    for costs in (rng.random(shape), rng.normal(size=shape).astype(np.float32)):
        found = clear(costs, maximize=maximize)
        best = scipy.optimize.linear_sum_assignment(costs, maximize)
        assert [each.tolist() for each in found] == [each.tolist() for each in best]


@pytest.mark.parametrize(
    "costs",
    [
        [[1e300, 1.0], [1.0, 1e300]],
        [[1e-12, 2e-12], [3e-12, 1e-12]],
        [[1e9, 1 / 3], [0.25, 1e9]],
        np.array([[2**63 + 10, 5], [3, 2**63]], dtype=np.uint64),
        np.array([[10**17, 5], [3, 10**17]]),
    ],
)
def test_costs_of_any_range(costs: Any) -> None:
    assert clear(costs)[1].tolist() == scipy.optimize.linear_sum_assignment(costs)[1].tolist()


def test_rounding_costs_at_most_a_step_per_row() -> None:
    """A range of 17 digits is more than shares have: the bound is what the documents say."""
    costs = np.exp(10 * np.random.default_rng(3).normal(size=(20, 20)))
    step = (costs.max() - costs.min()) / 2**40
    best = costs[scipy.optimize.linear_sum_assignment(costs)].sum()
    assert best <= costs[clear(costs)].sum() <= best + 20 * step


def test_narrow_words_do_not_wrap() -> None:
    for word in (np.int8, np.int64):
        costs = np.array([[np.iinfo(word).min, 0], [0, -1]], dtype=word)
        rows, columns = clear(costs, maximize=True)
        assert costs[rows, columns].sum() == 0


def test_costs_with_structure_are_proved() -> None:
    """Of rank one, with most pairs forbidden."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        costs = np.outer(rng.integers(0, 99, 24), rng.integers(0, 99, 24)).astype(float)
        costs[rng.random(costs.shape) < 0.6] = INF
        costs[range(24), rng.permutation(24)] = 5000
        rows, columns = clear(costs)
        assert (
            costs[rows, columns].sum() == costs[scipy.optimize.linear_sum_assignment(costs)].sum()
        )


def test_it_goes_on_in_blocks_until_the_optimum_is_proved() -> None:
    """Rings of zero cycles hide those that make a plan cheaper."""
    size = 40
    ring = (np.arange(size)[None] - np.arange(size)[:, None]) % size
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(size)
        rows, columns = clear(ring[order], maximize=bool(seed % 2))
        best = scipy.optimize.linear_sum_assignment(ring[order], bool(seed % 2))
        assert ring[order][rows, columns].sum() == ring[order][best].sum()


def test_an_optimum_that_is_not_proved_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    unproved = tacit.solve(
        generate_assignment(1, rows=60), limits=Limits(generations=2), engine="simulated"
    )
    assert unproved.proved is False
    monkeypatch.setattr(solving, "solve", lambda *_, **__: unproved)
    with pytest.raises(TacitError, match="could not be proved"):
        clear(DOCUMENTED)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0)])
def test_nothing_to_assign(shape: tuple[int, int]) -> None:
    rows, columns = clear(np.empty(shape))
    assert rows.size == columns.size == 0


@pytest.mark.processes
def test_on_nodes(cluster: LocalCluster) -> None:
    choice = EngineChoice(cluster=cluster.folder / "cluster.toml")
    rows, columns = tacit.linear_sum_assignment(DOCUMENTED, engine=choice)
    assert DOCUMENTED[rows, columns].sum() == 5
    floats = np.random.default_rng(1).random((5, 4))
    found = tacit.linear_sum_assignment(floats, engine=choice)
    best = scipy.optimize.linear_sum_assignment(floats)
    assert [each.tolist() for each in found] == [each.tolist() for each in best]
