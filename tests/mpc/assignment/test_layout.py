"""A problem as a square: capacities, rows that are added, forbidden pairs, utilities."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from tacit.errors import ParameterError
from tacit.mpc.assignment import Layout
from tacit.mpc.ring import to_ring
from tacit.mpc.shares import ArithmeticShare
from tests.mpc.assignment.problems import Asked, Numbers


def square(layout: Layout, weights: Numbers, bounds: tuple[int, int], **options: bool) -> Numbers:
    share = ArithmeticShare({0: to_ring(weights[None])})
    made = layout.costs(share, [bounds], layout.shape(), **options)
    costs: Numbers = made.parts[0][0].astype(np.int64)
    return costs


def test_more_rows_than_places_are_refused() -> None:
    with pytest.raises(ParameterError, match="3 rows do not fit 2 places"):
        Layout(3, range(2), 9)


@settings(max_examples=60, deadline=None)
@given(
    rows=st.integers(1, 6),
    columns=st.integers(1, 5),
    seed=st.integers(0, 10**6),
    forbids=st.booleans(),
    maximize=st.booleans(),
)
def test_the_optimum_of_the_square_is_that_of_the_problem(
    rows: int, columns: int, seed: int, forbids: bool, maximize: bool
) -> None:
    rng = np.random.default_rng(seed)
    places = np.sort(rng.integers(0, columns, rows + int(rng.integers(0, 3))))
    weights = rng.integers(-20, 21, (rows, columns))
    forbidden = rng.random((rows, columns)) < 0.3 if forbids else None
    layout = Layout(rows, tuple(int(p) for p in places), 40, forbidden)
    costs = square(layout, weights, (-20, 20), maximize=maximize)
    assert costs.min() >= 0
    assert costs.max() <= layout.widest
    assert layout.penalty > rows * 40
    found = linear_sum_assignment(costs)[1]
    has_one = bool(layout.forbidden_cells[np.arange(layout.size), found].any())
    signed = (-weights if maximize else weights).astype(float)
    if forbidden is not None:
        signed[forbidden] = np.inf
    try:
        best = signed[:, places][linear_sum_assignment(signed[:, places])].sum()
    except ValueError:
        assert has_one
        return
    assert not has_one
    matching = np.zeros((1, layout.size, layout.size), dtype=np.int64)
    matching[0, found, np.arange(layout.size)] = 1
    plan = layout.plan_of(matching)[0]
    assert signed[np.arange(rows), plan].sum() == best
    assert all(list(plan).count(c) <= list(places).count(c) for c in set(places))


def test_what_a_forbidden_pair_costs_its_owner_does_not_count() -> None:
    asked = Asked.family("slots", 1, 6)
    other = asked.weights.copy()
    forbidden = asked.layout.forbidden
    assert forbidden is not None
    other[:, forbidden] = 10**6
    changed = Asked(other, asked.layout, asked.start)
    assert np.array_equal(changed.clear_costs(0), asked.clear_costs(0))
