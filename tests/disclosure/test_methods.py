"""Disclosures against their definitions and the paper."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from studies.report.results import published

from tacit.disclosure import (
    PAPER_CONFIGURATIONS,
    PARETO,
    SEALED,
    Above,
    BestMode,
    Buckets,
    Disclosure,
    Exact,
    Order,
    Quantiles,
    Top,
    parse_best_mode,
    parse_disclosure,
    ranks,
)
from tacit.disclosure.parse import BUILT_IN
from tacit.errors import DisclosureError, InputError
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


# Index and fitness, then five columns of obfuscated and five of estimated values, in the order
# of the methods below.
T, F = True, False
TABLE_1 = (
    (1, 100, 0, 0, 0, T, T, 100, 100, 100, 100, 100),
    (2, 90, 1, 0, 0, T, T, 80, 100, 100, 100, 100),
    (3, 80, 2, 0, 0, T, T, 60, 100, 100, 100, 100),
    (4, 70, 3, 1, 0, T, T, 40, 0, 100, 100, 100),
    (5, 70, 4, 1, 0, F, T, 20, 0, 100, -100, 100),
    (6, 65, 5, 1, 1, F, F, 0, 0, 0, -100, -100),
    (7, 30, 6, 1, 2, F, F, -20, 0, -100, -100, -100),
    (8, 30, 7, 2, 2, F, F, -40, -100, -100, -100, -100),
    (9, 20, 8, 2, 2, F, F, -60, -100, -100, -100, -100),
    (10, 10, 9, 2, 2, F, F, -80, -100, -100, -100, -100),
    (11, 0, 10, 2, 2, F, F, -100, -100, -100, -100, -100),
)
METHODS = ("order", "quantiles:3", "buckets:3", "top:4", "above:70")
DISTANCES = {"order": 20, "quantiles:3": 100, "buckets:3": 100, "top:4": 200, "above:70": 200}

TABLE_FITNESS = np.array([row[1] for row in TABLE_1], dtype=np.int64)


@pytest.mark.parametrize("column", range(5), ids=METHODS)
def test_obfuscated_fitness_is_that_of_table_1(column: int) -> None:
    disclosed = parse_disclosure(METHODS[column]).disclose(TABLE_FITNESS)
    expected = [row[2 + column] for row in TABLE_1]
    assert disclosed.tolist() == expected
    assert (disclosed.dtype == np.bool_) == (METHODS[column] in ("top:4", "above:70"))


@pytest.mark.parametrize("column", range(5), ids=METHODS)
def test_estimated_fitness_is_that_of_table_1(column: int) -> None:
    disclosure = parse_disclosure(METHODS[column])
    estimates = disclosure.estimates(disclosure.disclose(TABLE_FITNESS), best=100)
    assert estimates.tolist() == [float(row[7 + column]) for row in TABLE_1]


@pytest.mark.parametrize("method", METHODS)
def test_distances_between_levels_are_those_the_paper_names(method: str) -> None:
    disclosure = parse_disclosure(method)
    estimates = disclosure.estimates(disclosure.disclose(TABLE_FITNESS), best=100)
    levels = sorted(set(estimates.tolist()), reverse=True)
    assert levels[0] - levels[1] == DISTANCES[method]


@pytest.mark.parametrize("column", range(5), ids=METHODS)
def test_table_1_holds_for_any_order_of_the_solutions_that_keeps_ties_in_order(
    column: int,
) -> None:
    # Ties (70, 70 and 30, 30) keep their relative order, so every solution keeps its row.
    shuffled = [10, 3, 0, 6, 5, 4, 9, 1, 7, 8, 2]
    disclosed = parse_disclosure(METHODS[column]).disclose(TABLE_FITNESS[shuffled])
    assert disclosed.tolist() == [TABLE_1[i][2 + column] for i in shuffled]


def test_the_reports_copy_of_table_1_is_the_same() -> None:
    given = published()["example"]
    assert given["fitness"] == TABLE_FITNESS.tolist()
    for column, method in enumerate(METHODS):
        assert given["obfuscated"][method] == [row[2 + column] for row in TABLE_1]
        assert given["estimated"][method] == [row[7 + column] for row in TABLE_1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("none", Exact()),
        ("order", Order()),
        ("quantiles:5", Quantiles(5)),
        ("buckets:20", Buckets(20)),
        ("top:1", Top(1)),
        ("above:0", Above(0)),
        ("above:100", Above(100)),
        ("  top:15 ", Top(15)),
    ],
)
def test_texts_and_what_they_mean(text: str, expected: Disclosure) -> None:
    assert parse_disclosure(text) == expected


@pytest.mark.parametrize("text", PAPER_CONFIGURATIONS)
def test_every_configuration_of_the_paper_reads_back_as_it_is_written(text: str) -> None:
    disclosure = parse_disclosure(text)
    assert disclosure.text == str(disclosure) == text


def test_the_paper_has_fourteen_configurations() -> None:
    assert len(set(PAPER_CONFIGURATIONS)) == 14


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("median", "'median' is not a disclosure; use sealed, top:15"),
        ("", "'' is not a disclosure"),
        ("Top:15", "'Top:15' is not a disclosure"),
        ("order:3", "order takes no number; write 'order' instead of 'order:3'"),
        ("none:", "none takes no number"),
        ("top", "'top' needs a whole number after 'top:'"),
        ("top:", "'top:' needs a whole number"),
        ("top:-3", "'top:-3' needs a whole number"),
        ("top:1.5", "'top:1.5' needs a whole number"),
        ("top:1e3", "needs a whole number"),
        ("top:²", "needs a whole number"),
        ("top:٣", "needs a whole number"),
        ("top:1234567890", "needs a whole number"),
        ("top:0", "top:0 names no group at all"),
        ("quantiles:0", "quantiles:0 names no group at all"),
        ("buckets:0", "buckets:0 names no group at all"),
        ("above:101", "above:101 is not a percentage; use above:0 to above:100"),
        ("above:70%", "needs a whole number"),
        ("top:3:4", "needs a whole number"),
    ],
)
def test_what_is_no_disclosure_is_refused_with_a_remedy(text: str, message: str) -> None:
    with pytest.raises(DisclosureError) as refused:
        parse_disclosure(text)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


@given(st.text(max_size=15))
def test_any_text_is_either_read_or_refused(text: str) -> None:
    try:
        disclosure = parse_disclosure(text)
    except InputError:
        return
    assert parse_disclosure(disclosure.text) == disclosure


@pytest.mark.parametrize("mode", ["value", "improvement", "nothing"])
def test_best_modes_have_names(mode: str) -> None:
    assert parse_best_mode(mode).value == mode


def test_other_best_modes_are_refused() -> None:
    with pytest.raises(DisclosureError, match="use value, improvement or nothing"):
        parse_best_mode("all")


@pytest.mark.parametrize(
    ("mode", "best_so_far", "revealed"),
    [
        ("value", None, 7),
        ("value", 9, 7),
        ("improvement", None, True),
        ("improvement", 6, True),
        ("improvement", 7, False),
        ("improvement", 8, False),
        ("nothing", None, None),
        ("nothing", 6, None),
    ],
)
def test_what_is_disclosed_of_a_best_fitness_of_seven(
    mode: str, best_so_far: int | None, revealed: int | bool | None
) -> None:
    disclosed = BestMode(mode).revealed(7, best_so_far=best_so_far)
    assert disclosed == revealed
    assert type(disclosed) is type(revealed)


ONE_OF_EACH = [
    parse_disclosure(method if method in ("none", "order") else f"{method}:2")
    for method in BUILT_IN
    if method not in (SEALED, PARETO)
]


@pytest.mark.parametrize("disclosure", ONE_OF_EACH, ids=str)
def test_ranks_decide_what_it_says_that_ranks_decide(disclosure: Disclosure) -> None:
    """Equity, forms and audit rely on it; a distance that shows would tell factors."""

    def shown(fitness: list[int]) -> object:
        return np.asarray(disclosure.disclose(array(fitness))).tolist()

    alike = [([0, 1, 2, 3, 9], [0, 6, 7, 8, 9]), ([1, 2, 3, 4, 99], [1, 95, 97, 98, 99])]
    assert disclosure.by_rank == all(shown(one) == shown(other) for one, other in alike)


@given(FITNESS, st.sampled_from(ONE_OF_EACH), st.data())
def test_what_contains_a_disclosure_tells_all_of_it(
    fitness: list[int], disclosure: Disclosure, data: st.DataObject
) -> None:
    container = parse_disclosure(disclosure.contained_in)
    # Other values in the same order, mostly.
    count = len(fitness)
    drawn = data.draw(st.lists(st.integers(-1000, 1000), min_size=count, max_size=count))
    other = np.sort(array(drawn))[::-1][ranks(array(fitness))]
    first, second = (container.disclose(each).tolist() for each in (array(fitness), other))
    if first == second:
        shown = [disclosure.disclose(each).tolist() for each in (array(fitness), other)]
        assert shown[0] == shown[1]
