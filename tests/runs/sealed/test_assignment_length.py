"""How long a sealed assignment is follows from sizes and times, and from nothing that is secret."""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import Any

import pytest

from tacit.derived import KnownTime
from tacit.errors import AgreementError
from tacit.problems import Problem, generate_assignment, generate_named
from tacit.runs import Limits, even_weightings, sealed_settings, solve
from tacit.search.moves import AssignmentParameters

HUNDRED = generate_assignment(1, rows=100)


def chosen(
    problem: Problem, time: KnownTime | None, given: AssignmentParameters | None = None, /,
    **changes: Any,
) -> AssignmentParameters:  # fmt: skip
    settings = sealed_settings(problem, changes, given, time=time)
    assert isinstance(settings, AssignmentParameters)
    return settings


@pytest.mark.parametrize(
    "time",
    [
        None,
        KnownTime(deadline=None),
        KnownTime(deadline=0.1),
        KnownTime(deadline=2),
        KnownTime(deadline=2.7),
        KnownTime(deadline=60),
        KnownTime(deadline=60, nodes=4),
        KnownTime(deadline=5, delay=0.05),
        KnownTime(deadline=60, steps=1),
        KnownTime(deadline=60, steps=31),
    ],
)
@pytest.mark.parametrize("rows", [1, 2, 30, 100, 300])
def test_lengths_have_their_bounds(rows: int, time: KnownTime | None) -> None:
    settings = chosen(generate_assignment(1, rows=rows), time)
    most = max(ceil(1.2 * rows), rows + 12)
    assert 1 <= settings.iterations <= most
    assert settings.least == ceil(settings.iterations / 3)
    if time is None or time.deadline is None:
        assert settings.seconds == 0
    else:
        assert time.deadline - 1 < settings.seconds <= max(1, time.deadline)
    assert settings.generations <= 40
    if time is not None and time.steps is not None:
        assert settings.steps <= time.steps
    if time is None or time.deadline is None:
        assert settings.iterations == most


def test_more_time_gives_more_steps_up_to_a_length() -> None:
    problem = generate_assignment(1, rows=300)
    fitted = [chosen(problem, KnownTime(deadline=each)) for each in (2, 5, 20, 60)]
    lengths = [each.iterations for each in fitted]
    assert lengths == sorted(lengths)
    assert lengths[0] < lengths[-1] == 360
    assert {each.generations for each in fitted} == {25}


def test_where_few_iterations_fit_the_descent_takes_all_the_time() -> None:
    problem = generate_assignment(1, rows=500)
    fitted = [chosen(problem, KnownTime(deadline=each)) for each in (1, 2, 5, 20, 60)]
    assert [each.iterations for each in fitted[:3]] == [1, 1, 1]
    generations = [each.generations for each in fitted]
    # With time for iterations the descent is as long as pays, however much time there is.
    assert generations[0] < generations[1] < generations[2] > generations[3] == generations[4] > 20
    assert min(each.iterations for each in fitted[3:]) > 100
    # Over slow links a generation takes about as long as an iteration.
    assert chosen(problem, KnownTime(deadline=600, delay=0.05)).generations == 42


def test_slow_links_have_a_lag_and_fewer_iterations() -> None:
    problem = generate_assignment(1, rows=300)
    near, far = (chosen(problem, KnownTime(deadline=5, delay=each)) for each in (0.0, 0.05))
    assert (near.lag, far.lag) == (0, 1)
    assert far.iterations < near.iterations


def test_several_weightings_share_the_time() -> None:
    problem = generate_assignment(1, rows=100, objectives=2)
    known = KnownTime(deadline=5)
    one, many = (
        sealed_settings(problem, {}, time=known, weightings=each)
        for each in ([(1, 1)], even_weightings(problem, 101))
    )
    assert isinstance(one, AssignmentParameters)
    assert isinstance(many, AssignmentParameters)
    assert many.iterations < one.iterations


def test_only_where_most_pairs_are_allowed_is_there_a_descent() -> None:
    known = KnownTime(deadline=20)
    for family, generations in (("ap", 20), ("delays", 20), ("slots", 20), ("sparse", 0)):
        assert chosen(generate_named(family, 1, rows=100), known).generations == generations


def test_costs_of_many_bits_leave_the_descent_out_where_its_keys_do_not_fit() -> None:
    problem = generate_assignment(1, rows=3)
    objective = replace(problem.objectives[0], weights=None, weight_bound=1 << 46)
    wide = replace(problem, objectives=(objective,))
    settings = [sealed_settings(wide, {}, weightings=[(1 << bits,)]) for bits in (0, 12)]
    assert [vars(each)["generations"] for each in settings] == [20, 0]
    with pytest.raises(AgreementError, match="do not fit words"):
        sealed_settings(wide, {}, weightings=[(1 << 16,)])


def test_what_is_named_stands() -> None:
    known = KnownTime(deadline=60)
    assert chosen(HUNDRED, known, iterations="7").iterations == 7
    assert chosen(HUNDRED, known, iterations="7").least == 3
    assert chosen(HUNDRED, known, checkpoints="48:64").told_after == (48, 64)
    assert chosen(HUNDRED, KnownTime(deadline=60, steps=50), iterations=1000).iterations == 30


def test_what_was_fitted_before_stands() -> None:
    before = chosen(HUNDRED, KnownTime(deadline=2))
    assert chosen(HUNDRED, KnownTime(deadline=60), before) == before
    assert chosen(HUNDRED, KnownTime(deadline=60), before, gap=2) == replace(before, gap=2)
    fewer = chosen(HUNDRED, KnownTime(deadline=60), before, iterations=9)
    assert (fewer.iterations, fewer.least) == (9, 3)


@pytest.mark.parametrize("generations", [0, 1, 7, 30])
def test_a_run_makes_as_many_steps_as_it_was_given(generations: int) -> None:
    found = solve(
        generate_assignment(1, rows=20),
        disclose="sealed",
        engine="simulated",
        limits=Limits(generations=generations),
    )
    assert found.generations == max(1, generations)
    assert found.stopped == "generations"
