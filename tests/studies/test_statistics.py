from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import wilcoxon
from studies.report.results import COLUMNS, published_figures
from studies.statistics import (
    Duel,
    Spread,
    duel,
    duels,
    holm,
    median_error,
    median_error_from_iqr,
    rank_biserial,
    rank_correlation,
    wins,
)


def test_rank_biserial_by_hand() -> None:
    # Differences 3, -1, 2, 0, -4: ranks of the sizes 3, 1, 2, dropped, 4.
    first, second = np.array([5.0, 1, 7, 4, 1]), np.array([2.0, 2, 5, 4, 5])
    assert rank_biserial(first, second) == pytest.approx((3 + 2 - 1 - 4) / 10)
    # Ties share their mean rank: differences 1, 1, -1.
    assert rank_biserial(np.array([1.0, 1, 0]), np.array([0.0, 0, 1])) == pytest.approx(1 / 3)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=31))
def test_rank_biserial_agrees_with_the_test_statistic(pairs: list[tuple[int, int]]) -> None:
    first, second = (np.array(column, dtype=float) for column in zip(*pairs, strict=True))
    found = rank_biserial(first, second)
    assert found == pytest.approx(-rank_biserial(second, first))
    difference = first - second
    if not difference.any():
        assert found == 0
        return
    favourable = wilcoxon(difference, alternative="greater", method="approx").statistic
    count = np.count_nonzero(difference)
    assert found == pytest.approx(2 * favourable / (count * (count + 1) / 2) - 1)


def test_duel_is_the_two_sided_signed_rank_test() -> None:
    rng = np.random.Generator(np.random.PCG64(1))
    first, second = rng.normal(size=31), rng.normal(0.3, size=31)
    assert duel(first, second).p == wilcoxon(first, second).pvalue
    # Exact for five pairs that all go one way: 2 / 2^5.
    assert duel(np.arange(5.0), np.arange(5.0) - [1, 2, 3, 4, 5]).p == pytest.approx(2 / 32)
    assert duel(first, first).significant is False


def test_wins_count_significant_differences_in_the_better_direction() -> None:
    base = np.arange(31.0)
    samples = {"low": base, "same": base.copy(), "high": base + 5}
    assert wins(duels(samples), larger_is_better=True) == {"same": 0, "low": 0, "high": 2}
    assert wins(duels(samples), larger_is_better=False) == {"same": 1, "low": 1, "high": 0}


PAPER_WINS = {
    "ap": (13, 2, 1, 0, 6, 7, 5, 12, 7, 4, 3, 11, 7, 5),
    "tsp": (13, 3, 2, 0, 10, 7, 5, 12, 9, 6, 1, 11, 7, 3),
    "moap-one gd+": (13, 0, 1, 2, 2, 8, 12, 5, 8, 10, 11, 4, 5, 5),
    "moap-one igd+": (13, 10, 8, 3, 6, 6, 3, 12, 11, 5, 0, 0, 1, 5),
    "moap-two gd+": (13, 2, 2, 0, 8, 4, 0, 11, 6, 7, 5, 5, 10, 11),
    "moap-two igd+": (13, 7, 7, 6, 1, 0, 4, 12, 11, 10, 9, 0, 1, 3),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_the_papers_matrices_give_the_wins_its_text_states(name: str) -> None:
    assert tuple(published_figures(COLUMNS[name]).wins.values()) == PAPER_WINS[name]


def test_spread_and_rank_correlation() -> None:
    found = Spread.of(np.arange(31))
    assert (found.median, found.iqr) == (15.0, 15.0)
    assert rank_correlation({"a": 1, "b": 2, "c": 9}, {"c": 0, "a": 7, "b": 5}) == -1


def test_holm_by_hand() -> None:
    # Sorted 0.01, 0.02, 0.03, 0.04 of four pairs: 4 x 0.01, 3 x 0.02, 2 x 0.03, then never less.
    p = {("b", "a"): 0.04, ("c", "a"): 0.01, ("d", "a"): 0.03, ("c", "b"): 0.02}
    outcomes = {pair: Duel(-1.0, value) for pair, value in p.items()}
    outcomes |= {(b, a): Duel(1.0, value) for (a, b), value in p.items()}
    found = holm(outcomes)
    assert {pair: found[pair].p for pair in p} == pytest.approx(
        {("c", "a"): 0.04, ("c", "b"): 0.06, ("d", "a"): 0.06, ("b", "a"): 0.06}
    )
    assert all(found[a, b].p == found[b, a].p for a, b in p)
    assert wins(outcomes, larger_is_better=True) == {"a": 3, "b": 1, "c": 0, "d": 0}
    assert wins(found, larger_is_better=True) == {"a": 1, "b": 0, "c": 0, "d": 0}
    assert holm({("a", "b"): Duel(0, 0.9), ("a", "c"): Duel(0, 0.8)})["a", "b"].p == 1


def test_errors_of_medians() -> None:
    # Of three draws from 0, 1, 2 the median is 0 or 2 with 7 / 27 each.
    assert median_error([0.0, 1.0, 2.0]) == pytest.approx((14 / 27) ** 0.5, rel=0.05)
    assert median_error([0.0, 1.0, 2.0]) == median_error([2.0, 3.0, 4.0])
    normal = np.random.Generator(np.random.PCG64(1)).normal(size=(200, 31))
    truth = np.median(normal, axis=1).std()
    bootstrap = np.mean([median_error(each) for each in normal])
    known = np.mean([median_error_from_iqr(Spread.of(each).iqr, 31) for each in normal])
    assert bootstrap == pytest.approx(truth, rel=0.15)
    assert known == pytest.approx(truth, rel=0.15)
