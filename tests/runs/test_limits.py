"""Limits, and times as people write them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import ParameterError
from tacit.problems import Assignment, Objective, Tour
from tacit.runs import Limits, StopReason, parse_duration, show_duration
from tacit.search import SearchParameters
from tests.runs.flat import solve_with
from tests.support.simulated import solve


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"deadline": 0}, "deadline is 0; give a positive number"),
        ({"deadline": float("nan")}, "deadline is nan"),
        ({"evaluations": 0}, "evaluations is 0; give a positive number"),
        ({"stall": -2}, "stall is -2; give a positive number"),
        ({"generations": -1}, "generations is -1; give 0 or more"),
    ],
)
def test_limits_that_leave_nothing_are_refused(limits: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError) as refused:
        Limits(**limits)
    assert message in str(refused.value)


def test_no_limit_at_all_is_noticed() -> None:
    assert Limits().is_unlimited
    assert not Limits(generations=0).is_unlimited
    assert not Limits(target=0.0).is_unlimited


OPTIONAL = st.one_of(st.none(), st.integers(1, 6))


@given(OPTIONAL, OPTIONAL, OPTIONAL, st.integers(0, 8), st.integers(0, 8), st.booleans())
def test_a_limit_is_reached_exactly_when_one_of_those_given_is(
    generations: int | None,
    evaluations: int | None,
    stall: int | None,
    generation: int,
    stalled_for: int,
    target_met: bool,
) -> None:
    limits = Limits(generations=generations, evaluations=evaluations, stall=stall, target=1.0)
    reason = limits.reached(
        generation=generation,
        evaluations=generation + 1,
        stalled_for=stalled_for,
        target_met=target_met,
    )
    reached = {
        StopReason.TARGET: target_met,
        StopReason.GENERATIONS: generations is not None and generation >= generations,
        StopReason.EVALUATIONS: evaluations is not None and generation + 1 >= evaluations,
        StopReason.STALLED: stall is not None and stalled_for >= stall,
    }
    assert (reason is None) == (not any(reached.values()))
    assert reason is None or reached[reason]


def test_without_a_target_no_value_ends_the_run() -> None:
    assert (
        Limits(generations=9).reached(generation=1, evaluations=2, stalled_for=0, target_met=True)
        is None
    )


def test_500_generations_if_nothing_is_said(
    small_assignment: Assignment, small_search: SearchParameters
) -> None:
    result = solve(small_assignment, settings=small_search)
    assert (result.generations, result.evaluations, result.stopped) == (500, 501, "generations")


@pytest.mark.parametrize(
    ("limits", "stopped", "generations"),
    [
        ({"generations": 0}, "generations", 0),
        ({"generations": 7}, "generations", 7),
        ({"evaluations": 1}, "evaluations", 0),
        ({"evaluations": 8}, "evaluations", 7),
        ({"generations": 7, "evaluations": 5}, "evaluations", 4),
        ({"generations": 3, "evaluations": 5}, "generations", 3),
        ({"generations": 7, "deadline": 3600.0}, "generations", 7),
        ({"generations": 7, "deadline": "1h", "target": 1e9, "stall": 100}, "generations", 7),
    ],
)
def test_the_first_limit_reached_ends_the_run(
    small_assignment: Assignment,
    small_search: SearchParameters,
    limits: dict[str, Any],
    stopped: str,
    generations: int,
) -> None:
    result = solve_with(small_assignment, parameters=small_search, **limits)
    assert (result.stopped, result.generations) == (stopped, generations)
    assert result.evaluations == generations + 1
    assert result.history.generation == list(range(generations + 1))


def test_a_stalled_run_ends_so_many_generations_after_its_last_better_value(
    small_assignment: Assignment, small_search: SearchParameters
) -> None:
    result = solve_with(small_assignment, parameters=small_search, generations=5000, stall=9)
    assert result.stopped == "stalled"
    told = [values[0] for values in result.history.disclosed_best]
    best = [max(float(t or 0) for t in told[: i + 1]) for i in range(len(told))]
    rises = [i for i in range(1, len(best)) if best[i] > best[i - 1]]
    assert result.generations == rises[-1] + 9
    assert all(b - a <= 9 for a, b in zip([0, *rises], rises, strict=False))


def test_a_stall_counts_told_improvements_where_the_value_is_withheld(
    small_assignment: Assignment, small_search: SearchParameters
) -> None:
    result = solve_with(
        small_assignment,
        disclose="order",
        best="improvement",
        parameters=small_search,
        generations=5000,
        stall=6,
    )
    told = [values[0] for values in result.history.disclosed_best]
    assert result.stopped == "stalled"
    assert told[0] is True
    assert told[-6:] == [False] * 6
    assert told[-7] is True


def test_where_nothing_is_told_a_stall_ends_the_run_at_once(
    small_assignment: Assignment, small_search: SearchParameters
) -> None:
    result = solve_with(
        small_assignment,
        disclose="order",
        best="nothing",
        parameters=small_search,
        generations=5000,
        stall=4,
    )
    assert (result.stopped, result.generations) == ("stalled", 4)


@pytest.mark.parametrize("disclosure", ["none", "order", "top:5"])
def test_a_target_ends_the_run_at_the_first_told_value_that_is_as_good(
    small_assignment: Assignment, small_search: SearchParameters, disclosure: str
) -> None:
    free = solve_with(
        small_assignment, disclose=disclosure, parameters=small_search, generations=60
    )
    told = [float(values[0] or 0) for values in free.history.disclosed_best]
    rises = [i for i in range(1, len(told)) if told[i] > max(told[:i])]
    first = rises[len(rises) // 2]
    target = told[first]
    result = solve_with(
        small_assignment,
        disclose=disclosure,
        parameters=small_search,
        generations=60,
        target=target,
    )
    assert (result.stopped, result.generations) == ("target", first)
    better = solve_with(
        small_assignment,
        disclose=disclosure,
        parameters=small_search,
        generations=60,
        target=target + 1,
    )
    assert better.generations > first, "one more is not met by the same value"


@pytest.mark.parametrize("scale", [1, 100])
def test_a_target_for_a_cost_is_met_from_above_in_the_users_unit(
    small_tour: Tour, small_search: SearchParameters, scale: int
) -> None:
    weights = small_tour.objectives[0].weights
    length = Objective("length", weights, sense="minimize", scale=scale)
    problem = Tour(name="t", rows=12, columns=12, objectives=(length,))
    free = solve(problem, settings=small_search, limits=Limits(generations=80))
    told = [float(values[0] or 0) for values in free.history.disclosed_best]
    assert told[0] > told[-1] > 0
    target = told[40]
    first = next(i for i, value in enumerate(told) if value <= target)
    result = solve(problem, settings=small_search, limits=Limits(generations=80, target=target))
    assert (result.stopped, result.generations) == ("target", first)
    assert result.value is not None
    assert result.value[0] <= target


def test_a_target_needs_a_single_objective(small_two_objectives: Assignment) -> None:
    with pytest.raises(ParameterError, match="a target needs a single objective"):
        solve(small_two_objectives, limits=Limits(generations=1, target=5))


@pytest.mark.parametrize("best", ["improvement", "nothing"])
def test_a_target_is_refused_where_no_value_is_told(
    small_assignment: Assignment, small_search: SearchParameters, best: str
) -> None:
    with pytest.raises(ParameterError, match="withholds it"):
        solve_with(small_assignment, disclose="order", best=best, target=1, parameters=small_search)


@pytest.mark.parametrize("value", [2.5, 2.1, 3.0])
def test_a_target_between_two_values_asks_for_the_better_one(value: float) -> None:
    assert Objective("pay", None, weight_bound=9).least_fitness(value) == 3
    assert Objective("cost", None, sense="minimize", weight_bound=9).least_fitness(3.9) == -3
    assert (
        Objective("cost", None, sense="minimize", scale=10, weight_bound=9).least_fitness(1.1)
        == -11
    )


def test_a_negative_seed_is_refused(
    small_assignment: Assignment, small_search: SearchParameters
) -> None:
    with pytest.raises(ParameterError, match="seed is -1"):
        solve(small_assignment, settings=small_search, limits=Limits(generations=1), seed=-1)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30s", 30.0),
        ("30", 30.0),
        ("0.5", 0.5),
        ("1.5s", 1.5),
        ("500ms", 0.5),
        ("2m", 120.0),
        ("1m30s", 90.0),
        ("1h", 3600.0),
        ("1h2m3s4ms", 3723.004),
        (" 1 M 30 S ", 90.0),
        ("0m1s", 1.0),
    ],
)
def test_times_are_read(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text", ["", "soon", "s", "1x", "-3s", "1e3s", "1.s", ".5s", "1m30", "30 s please", "1,5s"]
)
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="is not a time; write it like 30s, 2m"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["0", "0s", "0.0ms", "0h0m"])
def test_no_time_at_all_is_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="leaves no time at all"):
        parse_duration(text)


@given(st.integers(0, 99), st.integers(0, 59), st.integers(0, 59), st.integers(0, 999))
def test_parts_add_up(hours: int, minutes: int, seconds: int, milliseconds: int) -> None:
    total = 3600 * hours + 60 * minutes + seconds + milliseconds / 1000
    text = f"{hours}h{minutes}m{seconds}s{milliseconds}ms"
    if total == 0:
        with pytest.raises(ParameterError):
            parse_duration(text)
    else:
        assert parse_duration(text) == pytest.approx(total)


@given(st.floats(0.001, 300_000))
def test_what_is_shown_reads_back_as_precisely_as_it_was_shown(seconds: float) -> None:
    precision = 0.0005 if seconds < 1 else 0.05 if seconds < 60 else 0.5 if seconds < 3600 else 60
    assert parse_duration(show_duration(seconds)) == pytest.approx(seconds, abs=precision * 1.001)


@given(st.text(alphabet="0123456789.hms ", max_size=10))
def test_any_text_is_read_as_a_positive_time_or_refused(text: str) -> None:
    try:
        seconds = parse_duration(text)
    except ParameterError:
        return
    assert seconds > 0
