"""Each disclosure against its definition, and what must hold whatever the fitness."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tacit.disclosure import (
    Above,
    Buckets,
    Exact,
    Order,
    Quantiles,
    Top,
    parse_disclosure,
    ranks,
)
from tacit.errors import DisclosureError
from tests.disclosure import definitions

# Few different values give many ties; wide ones reach the largest fitness a problem may have.
FITNESS = st.one_of(
    st.lists(st.integers(-3, 3), min_size=1, max_size=40),
    st.lists(st.integers(-1000, 1000), min_size=1, max_size=40),
    st.lists(st.integers(-(2**48), 2**48), min_size=1, max_size=15),
    st.integers(-5, 5).flatmap(lambda value: st.integers(1, 20).map(lambda n: [value] * n)),
)


def array(fitness: list[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(fitness, dtype=np.int64)


@given(FITNESS)
@example([0])
@example([-7])
@example([0, 0, 0])
def test_order_is_the_number_of_better_ones_with_ties_to_the_lower_index(
    fitness: list[int],
) -> None:
    disclosed = Order().disclose(array(fitness)).tolist()
    assert disclosed == definitions.order(fitness)
    assert sorted(disclosed) == list(range(len(fitness)))


@given(FITNESS, st.data())
def test_quantiles_follow_the_formula(fitness: list[int], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(fitness)))
    disclosed = Quantiles(k).disclose(array(fitness)).tolist()
    assert disclosed == definitions.quantiles(fitness, k)


@given(FITNESS, st.data())
def test_quantiles_differ_by_at_most_one_in_size_and_the_best_is_smallest(
    fitness: list[int], data: st.DataObject
) -> None:
    k = data.draw(st.integers(1, len(fitness)))
    disclosed = Quantiles(k).disclose(array(fitness)).tolist()
    sizes = Counter(disclosed)
    assert sorted(sizes) == list(range(k)), "no quantile is empty"
    assert max(sizes.values()) - min(sizes.values()) <= 1
    assert sizes[0] == min(sizes.values())
    for f, q in zip(fitness, disclosed, strict=True):
        assert all(q <= other_q for g, other_q in zip(fitness, disclosed, strict=True) if g < f), (
            "nobody worse is in a better quantile"
        )


def sizes_from_the_best(n: int, k: int) -> list[int]:
    return [int(size) for size in np.bincount(Quantiles(k).disclose(np.arange(n)), minlength=k)]


@given(st.integers(1, 400), st.data())
def test_the_j_worst_quantiles_hold_their_share_rounded_up(n: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, n))
    held = np.cumsum(sizes_from_the_best(n, k)[::-1]).tolist()
    assert held == [-(-n * j // k) for j in range(1, k + 1)]
    assert all(0 <= count - n * j / k < 1 for j, count in enumerate(held, start=1))


def test_sizes_of_quantiles_beside_the_usual_conventions() -> None:
    """What docs/protocols/disclosure.md says of them."""

    def split(n: int, k: int) -> list[int]:  # numpy.array_split and NTILE, from the worst
        return [len(part) for part in np.array_split(np.arange(n), k)][::-1]

    def cut(n: int, k: int) -> list[int]:  # pandas.qcut: at interpolated quantiles
        borders = np.quantile(np.arange(n), np.arange(1, k) / k)
        places = np.searchsorted(borders, np.arange(n))
        return [int(size) for size in np.bincount(places, minlength=k)][::-1]

    assert [make(11, 3) for make in (sizes_from_the_best, split, cut)] == [
        [3, 4, 4],
        [3, 4, 4],
        [4, 3, 4],
    ]
    assert [make(7, 5) for make in (sizes_from_the_best, split, cut)] == [
        [1, 1, 2, 1, 2],
        [1, 1, 1, 2, 2],
        [2, 1, 1, 1, 2],
    ]
    off = np.abs(np.cumsum(split(30, 20)) - np.arange(1, 21) * 30 / 20)
    assert off.max() == 20 / 4
    assert all(300 % k == 0 for k in (5, 10, 20))


@given(FITNESS, st.integers(1, 30))
def test_buckets_are_the_intervals_of_the_definition(fitness: list[int], k: int) -> None:
    disclosed = Buckets(k).disclose(array(fitness)).tolist()
    assert disclosed == definitions.buckets(fitness, k)
    assert disclosed[fitness.index(max(fitness))] == 0
    assert all(0 <= bucket < k for bucket in disclosed)


@pytest.mark.parametrize("k", [1, 2, 3, 7, 100])
def test_the_worst_is_in_the_last_bucket_unless_all_are_equal(k: int) -> None:
    assert Buckets(k).disclose(array([5, -5]))[1] == k - 1
    assert Buckets(k).disclose(array([5, 5])).tolist() == [0, 0]


def test_three_buckets_of_0_to_100_are_those_the_design_names() -> None:
    disclosed = Buckets(3).disclose(np.arange(101))
    assert np.flatnonzero(disclosed == 0).tolist() == list(range(67, 101))
    assert np.flatnonzero(disclosed == 1).tolist() == list(range(34, 67))
    assert np.flatnonzero(disclosed == 2).tolist() == list(range(34))


@given(FITNESS, st.data())
def test_top_names_exactly_k_and_ties_go_to_the_lower_index(
    fitness: list[int], data: st.DataObject
) -> None:
    k = data.draw(st.integers(1, len(fitness)))
    disclosed = Top(k).disclose(array(fitness)).tolist()
    assert disclosed == definitions.top(fitness, k)
    assert sum(disclosed) == k


@given(FITNESS, st.integers(0, 100))
def test_above_is_the_threshold_and_always_the_three_best(fitness: list[int], p: int) -> None:
    disclosed = Above(p).disclose(array(fitness)).tolist()
    assert disclosed == definitions.above(fitness, p)
    assert sum(disclosed) >= min(3, len(fitness))


@given(FITNESS)
def test_above_0_names_everybody_and_above_100_the_best_or_three(fitness: list[int]) -> None:
    assert Above(0).disclose(array(fitness)).all()
    best = fitness.count(max(fitness))
    assert Above(100).disclose(array(fitness)).sum() == max(best, min(3, len(fitness)))


@given(FITNESS)
def test_none_reveals_a_copy_of_the_fitness_and_estimates_nothing(fitness: list[int]) -> None:
    given_fitness = array(fitness)
    disclosed = Exact().disclose(given_fitness)
    assert disclosed.tolist() == fitness
    assert not np.shares_memory(disclosed, given_fitness)
    estimates = Exact().estimates(disclosed, best=max(fitness))
    assert estimates.tolist() == [float(f) for f in fitness]
    assert Exact().levels(disclosed).tolist() == [max(fitness) - f for f in fitness]


ALL = ("none", "order", "quantiles:2", "buckets:3", "top:2", "above:60")


@pytest.mark.parametrize("text", ALL)
@given(st.lists(st.integers(-50, 50), min_size=2, max_size=25))
def test_disclosing_changes_nothing_and_levels_and_u_agree(text: str, fitness: list[int]) -> None:
    disclosure = parse_disclosure(text)
    given_fitness = array(fitness)
    disclosed = disclosure.disclose(given_fitness)
    assert given_fitness.tolist() == fitness
    levels = disclosure.levels(disclosed)
    assert levels.min() == 0
    assert levels[fitness.index(max(fitness))] == 0
    if text != "none":
        assert levels.max() < disclosure.distinct_values(len(fitness))


@pytest.mark.parametrize("text", ["order", "quantiles:2", "buckets:3", "top:2", "above:60"])
@given(
    st.lists(st.integers(-50, 50), min_size=2, max_size=25),
    st.integers(-1000, 1000),
    st.integers(1, 9),
)
def test_a_shift_and_a_positive_factor_reveal_nothing_else(
    text: str, fitness: list[int], shift: int, factor: int
) -> None:
    disclosure = parse_disclosure(text)
    moved = array([factor * f + shift for f in fitness])
    assert disclosure.disclose(moved).tolist() == disclosure.disclose(array(fitness)).tolist()


@pytest.mark.parametrize("text", ALL[1:])
def test_one_individual_is_the_best_level(text: str) -> None:
    disclosure = parse_disclosure(text.split(":")[0] + (":1" if ":" in text else ""))
    for fitness in (-4, 0, 4):
        disclosed = disclosure.disclose(array([fitness]))
        assert disclosure.levels(disclosed).tolist() == [0]
        assert disclosure.estimates(disclosed, best=fitness).tolist() == [float(fitness)]


@pytest.mark.parametrize(
    ("text", "fewest"),
    [
        ("none", 1),
        ("order", 1),
        ("above:80", 1),
        ("quantiles:5", 5),
        ("buckets:7", 7),
        ("top:9", 9),
    ],
)
def test_k_larger_than_the_population_is_refused(text: str, fewest: int) -> None:
    disclosure = parse_disclosure(text)
    disclosure.check_population(fewest)
    with pytest.raises(DisclosureError, match=rf"^{text} needs at least {fewest} individuals"):
        disclosure.check_population(fewest - 1)


def test_ranks_are_stable_on_many_ties() -> None:
    # Long enough that an unstable sort would not get it right by accident.
    fitness = np.tile([3, 1, 2], 200)
    assert ranks(fitness)[::3].tolist() == list(range(200))
