"""Tournaments, truncation, fronts and crowding, each against its definition."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from tacit.search.selection import (
    binary_tournament,
    crowded_truncation,
    crowding_distances,
    nondominated_fronts,
    tournament,
    truncation,
)
from tests.search.words_for import word_for, words

FEW_VALUES = st.lists(st.integers(0, 3).map(float), min_size=1, max_size=30)

Points = NDArray[np.float64]


@st.composite
def points(draw: st.DrawFn, *, ties: bool) -> Points:
    """Up to 25 points with two or three objectives."""
    objectives = draw(st.sampled_from([2, 3]))
    count = draw(st.integers(1, 25))
    if ties:
        elements = st.integers(0, 4).map(float)
        return draw(arrays(np.float64, (count, objectives), elements=elements))
    columns = [draw(st.permutations(range(count))) for _ in range(objectives)]
    return np.array(columns, dtype=np.float64).T ** 2


def fronts_by_definition(estimates: Points) -> list[int]:
    """Peel off what nobody dominates, again and again."""
    left = set(range(len(estimates)))
    front_of = [-1] * len(estimates)
    front = 0
    while left:
        undominated = {
            i for i in left if not any(dominates(estimates[j], estimates[i]) for j in left)
        }
        for i in undominated:
            front_of[i] = front
        left -= undominated
        front += 1
    return front_of


def dominates(a: Points, b: Points) -> bool:
    return bool((a >= b).all() and (a > b).any())


def by_index(count: int, sorts: int) -> NDArray[np.int32]:
    """Orders in which ties go to the lower index."""
    return np.tile(np.arange(count, dtype=np.int32), (sorts, 1))


def crowding_by_definition(
    estimates: Points, front_of: list[int], orders: NDArray[np.int32]
) -> list[float]:
    """Deb et al. (2002), "crowding-distance-assignment", front by front."""
    distance = [0.0] * len(estimates)
    for front in set(front_of):
        for m in range(estimates.shape[1]):
            members = [i for i in orders[m].tolist() if front_of[i] == front]
            ascending = sorted(members, key=lambda i: float(estimates[i, m]))
            span = float(estimates[ascending[-1], m] - estimates[ascending[0], m])
            distance[ascending[0]] = distance[ascending[-1]] = float("inf")
            for lower, (i, upper) in zip(ascending, pairwise(ascending[1:]), strict=False):
                if span > 0:
                    distance[i] += float(estimates[upper, m] - estimates[lower, m]) / span
    return distance


@given(FEW_VALUES, st.data())
def test_the_largest_estimate_wins_a_tournament_and_among_equals_the_first_drawn(
    estimates: list[float], data: st.DataObject
) -> None:
    entrants = data.draw(
        st.lists(st.integers(0, len(estimates) - 1), min_size=1, max_size=8), label="entrants"
    )
    drawn = words([word_for(i, len(estimates)) for i in entrants])
    winner = int(tournament(np.array(estimates), drawn)[0])
    largest = max(estimates[i] for i in entrants)
    assert winner == next(i for i in entrants if estimates[i] == largest)


def test_a_tournament_is_held_per_row_of_words() -> None:
    estimates = np.array([1.0, 5.0, 3.0, 5.0])
    drawn = words(*([word_for(i, 4) for i in row] for row in ([0, 2], [3, 1], [1, 3], [0, 0])))
    assert tournament(estimates, drawn).tolist() == [2, 3, 1, 0]


@given(FEW_VALUES, st.data())
def test_truncation_keeps_the_best_and_among_equals_the_first_of_an_order(
    estimates: list[float], data: st.DataObject
) -> None:
    survivors = data.draw(st.integers(1, len(estimates)))
    order = data.draw(st.permutations(range(len(estimates))))
    expected = sorted(order, key=lambda i: -estimates[i])[:survivors]
    kept = truncation(np.array(estimates), survivors, np.array(order, dtype=np.int32))
    assert kept.tolist() == expected


@pytest.mark.parametrize("ties", [True, False], ids=["many ties", "no ties"])
@given(data=st.data())
def test_fronts_are_what_is_left_undominated(ties: bool, data: st.DataObject) -> None:
    estimates = data.draw(points(ties=ties))
    assert nondominated_fronts(estimates).tolist() == fronts_by_definition(estimates)


def test_fronts_of_one_objective_are_its_distinct_values() -> None:
    estimates = np.array([[3.0], [1.0], [3.0], [2.0]])
    assert nondominated_fronts(estimates).tolist() == [0, 2, 0, 1]
    # As many fronts as points: a node that follows a large search must come to an end.
    many = np.arange(50_000.0)[:, None]
    assert np.array_equal(nondominated_fronts(many), np.arange(50_000)[::-1])


@pytest.mark.parametrize("ties", [True, False], ids=["many ties", "no ties"])
@given(data=st.data())
def test_crowding_is_debs_algorithm(ties: bool, data: st.DataObject) -> None:
    estimates = data.draw(points(ties=ties))
    front_of = fronts_by_definition(estimates)
    count, objectives = estimates.shape
    drawn = [data.draw(st.permutations(range(count))) for _ in range(objectives)]
    orders = np.array(drawn, dtype=np.int32)
    distances = crowding_distances(estimates, np.array(front_of, dtype=np.int32), orders)
    assert distances.tolist() == pytest.approx(crowding_by_definition(estimates, front_of, orders))


def test_crowding_by_hand() -> None:
    # One front over 0..10 and 0..100. Inner points: neighbours (0,100)-(4,50) and (1,80)-(10,0).
    estimates = np.array([[4.0, 50.0], [0.0, 100.0], [10.0, 0.0], [1.0, 80.0]])
    distances = crowding_distances(estimates, np.zeros(4, dtype=np.int32), by_index(4, 2))
    assert distances.tolist() == pytest.approx(
        [9 / 10 + 80 / 100, np.inf, np.inf, 4 / 10 + 50 / 100]
    )


def test_crowding_of_small_and_of_equal_fronts() -> None:
    both = np.array([[1.0, 2.0], [2.0, 1.0]])
    one = crowding_distances(both[:1], np.zeros(1, dtype=np.int32), by_index(1, 2))
    two = crowding_distances(both, np.zeros(2, dtype=np.int32), by_index(2, 2))
    assert one.tolist() == [np.inf]
    assert two.tolist() == [np.inf, np.inf]
    # All equal: the span is zero, so nothing divides by it, and the orders name the ends: the same
    # two of both objectives, or two of each.
    for orders, ends in ((by_index(4, 2), {0, 3}), ([[0, 1, 2, 3], [1, 0, 3, 2]], {0, 1, 2, 3})):
        equal = crowding_distances(
            np.ones((4, 2)), np.zeros(4, dtype=np.int32), np.array(orders, dtype=np.int32)
        )
        assert equal.tolist() == [np.inf if i in ends else 0.0 for i in range(4)]


def test_crowding_counts_within_a_front_alone() -> None:
    front = np.array([[0.0, 4.0], [1.0, 2.0], [3.0, 0.0]])
    dominated = front - 10
    both = np.concatenate([front, dominated])
    front_of = np.array([0, 0, 0, 1, 1, 1], dtype=np.int32)
    distances = crowding_distances(both, front_of, by_index(6, 2))
    alone = crowding_distances(front, np.zeros(3, dtype=np.int32), by_index(3, 2))
    assert distances[:3].tolist() == alone.tolist()
    assert distances[3:].tolist() == pytest.approx(alone.tolist())


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.sampled_from([0.0, 0.5, 1.0, float("inf")])),
        min_size=1,
        max_size=25,
    ),
    st.data(),
)
def test_crowded_truncation_goes_by_front_then_distance_then_the_order(
    individuals: list[tuple[int, float]], data: st.DataObject
) -> None:
    survivors = data.draw(st.integers(1, len(individuals)))
    front_of = np.array([front for front, _ in individuals], dtype=np.int32)
    crowding = np.array([distance for _, distance in individuals])
    order = data.draw(st.permutations(range(len(individuals))))
    expected = sorted(order, key=lambda i: (individuals[i][0], -individuals[i][1]))
    kept = crowded_truncation(front_of, crowding, survivors, np.array(order, dtype=np.int32))
    assert kept.tolist() == expected[:survivors]


@pytest.mark.parametrize(
    ("first", "second", "winner"),
    [
        ((0, 0.1), (1, 9.0), "first"),
        ((1, 9.0), (0, 0.1), "second"),
        ((0, 0.1), (0, 0.2), "second"),
        ((0, 0.2), (0, 0.1), "first"),
        ((0, 0.1), (0, 0.1), "first"),
        ((0, float("inf")), (0, float("inf")), "first"),
    ],
)
@pytest.mark.parametrize("first_is_at", [0, 1])
def test_the_crowded_comparison_and_the_first_drawn_among_equals(
    first: tuple[int, float], second: tuple[int, float], winner: str, first_is_at: int
) -> None:
    at = {"first": first_is_at, "second": 1 - first_is_at}
    both = [first, second] if first_is_at == 0 else [second, first]
    front_of = np.array([front for front, _ in both], dtype=np.int32)
    crowding = np.array([distance for _, distance in both])
    drawn = words([word_for(at["first"], 2), word_for(at["second"], 2)])
    assert binary_tournament(front_of, crowding, drawn).tolist() == [at[winner]]
