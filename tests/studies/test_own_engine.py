"""The paper's comparison with times of our own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from studies.report.own_engine import (
    Certainty,
    EngineTimes,
    Timed,
    ends,
    generations_table,
    leaders,
)
from studies.report.results import COLUMNS, Standing

QUIET = {"none": 2.1, "order": 10.1, "quantiles:5": 10.7, "top:10": 10.9, "above:75": 16.0,
         "buckets:5": 14.6}  # fmt: skip
"""Milliseconds."""


def times(*measurements: dict[str, float]) -> EngineTimes:
    entries = {}
    for text in measurements[0]:
        seconds = tuple(round(each[text] / 1000, 6) for each in measurements)
        entries[text] = Timed(float(np.median(seconds)), seconds)
    return EngineTimes(300, 100, 0, entries)


def falling(start: float, noise: float) -> NDArray[np.float64]:
    """Eight runs that get better by one each generation."""
    return start - np.arange(501.0) + noise * np.arange(8.0)[:, None]


def test_the_budget_is_501_evaluations_in_the_clear_on_the_same_engine() -> None:
    # 501 x 2.1 ms = 1.0521 s: 104.2 evaluations of 10.1 ms, the first of which is generation 0.
    found = times(QUIET).generations()
    assert found == {
        "none": 500, "order": 103, "quantiles": 97, "top": 95, "above": 64, "buckets": 71
    }  # fmt: skip
    assert set(times(QUIET).generations_in_papers_seconds().values()) == {500}


def test_each_measurement_has_a_budget_of_its_own() -> None:
    # Everything twice as slow leaves the generations as they are; a slow order does not.
    slower = {text: 2 * seconds for text, seconds in QUIET.items()}
    measured = times(QUIET, slower, {**QUIET, "order": 20.2})
    low, high = ends(measured)
    assert low == {**high, "order": 51}
    assert high == times(QUIET).generations()
    shown = generations_table([measured]).markdown()
    assert "| order | 20.20 (10.10 to 20.20) | 51 (51 to 103) |" in shown


def test_the_best_is_sure_only_if_it_stays_so_at_the_ends() -> None:
    # By as much as top is ahead at the start, quantiles must be later to win.
    curves = {"quantiles:20": falling(1000, 0.1), "top:15": falling(997, 0.1)}
    standing = Standing(COLUMNS["tsp"], [curves])
    apart = {**QUIET, "top:10": 12.0}
    sure = leaders(standing, times(apart, apart))
    assert (sure.best, sure.worst) == ("quantiles:20", "top:15")
    assert sure.best_sure == sure.worst_sure == Certainty(2, 2, 2, True, True)
    close = leaders(standing, times(apart, apart, {**QUIET, "top:10": 10.7}))
    assert close.best == "quantiles:20"
    assert close.best_sure == close.worst_sure == Certainty(3, 2, 2, False, False)


def test_the_method_may_be_surer_than_its_configuration() -> None:
    # The two of one method change places with the generation; both are behind the third.
    early, late = falling(1200, 0.1), falling(1200, 0.1)
    late[:, 60:] -= 1
    early[:, :60] -= 1
    curves = {"above:95": early, "above:80": late, "top:15": falling(1000, 0.1)}
    standing = Standing(COLUMNS["tsp"], [curves])
    slow = {**QUIET, "above:75": 20.0}
    found = leaders(standing, times(QUIET, QUIET, slow))
    assert found.worst == "above:95"
    assert found.worst_sure == Certainty(3, 2, 3, True, True)


def test_without_single_measurements_there_is_one() -> None:
    once = EngineTimes(300, 100, 0, {"none": Timed(0.002), "top:10": Timed(0.01)})
    assert once.measurements() == [{"none": 0.002, "top": 0.01}]
    assert ends(once) == (once.generations(), once.generations())


def test_equal_wins_are_ranked_by_medians() -> None:
    # Three runs are too few for a significant win.
    shorter, longer = falling(1000, 0.1)[:3], falling(1001, 0.1)[:3]
    curves = {"top:15": longer, "quantiles:20": shorter}
    tours, assignments = (Standing(COLUMNS[name], [curves]) for name in ("tsp", "ap"))
    assert set(tours.wins({}).values()) == {0}
    assert tours.ranked(["top:15", "quantiles:20"], {}) == ["quantiles:20", "top:15"]
    assert assignments.ranked(["quantiles:20", "top:15"], {}) == ["top:15", "quantiles:20"]
