"""Sealed assignments, exactly solved or ended by the clock."""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from tacit.agreement.sealed_groups import (
    GROUP_BYTES,
    AssignmentGroup,
    assignment_groups,
)
from tacit.derived import KnownTime
from tacit.errors import AgreementError, ParameterError
from tacit.problems import (
    Assignment,
    Objective,
    Problem,
    generate_assignment,
    generate_capacitated,
    generate_delays,
    generate_named,
    generate_tour,
)
from tacit.problems.generators import FAMILIES
from tacit.runs import Limits, Result, even_weightings, sealed_settings, solve
from tacit.runs.pace import OPENING_SECONDS
from tacit.search import weighted_values
from tacit.search.moves import AssignmentParameters
from tests.runs.clock import count_processor_time
from tests.runs.flat import solve_with

ALL_FAMILIES = ("ap", "delays", *FAMILIES)


def solved(problem: Problem, best: str = "value", **options: object) -> Result:
    return solve_with(problem, disclose="sealed", best=best, engine="simulated", **options)


def with_decimals() -> Problem:
    weights = np.random.default_rng(3).integers(0, 9999, (9, 9))
    objective = Objective("late", weights, sense="minimize", scale=100, weight_bound=10_000)
    return Assignment(name="decimals", rows=9, columns=9, objectives=(objective,))


def masked(
    forbidden: NDArray[np.bool_], *, seed: int = 5, name: str = "masked", minimize: bool = False
) -> Problem:
    weights = np.random.default_rng(seed).integers(0, 99, forbidden.shape)
    pay = Objective("pay", weights, sense="minimize" if minimize else "maximize")
    rows, columns = forbidden.shape
    return Assignment(name=name, rows=rows, columns=columns, objectives=(pay,), forbidden=forbidden)


def with_forbidden() -> Problem:
    return masked(np.random.default_rng(6).random((8, 10)) < 0.4, name="some")


KINDS = [
    generate_assignment(1, rows=15),
    generate_assignment(2, rows=6, columns=13),
    generate_assignment(2, rows=1, columns=1),
    generate_assignment(2, rows=1, columns=9),
    generate_capacitated(3, rows=10, columns=4),
    generate_delays(4, flights=8, slots=12),
    with_decimals(),
    with_forbidden(),
]


@pytest.mark.parametrize("problem", KINDS, ids=lambda problem: f"{problem.name} {problem.columns}")
@pytest.mark.parametrize("deadline", [None, 60.0, OPENING_SECONDS + 0.2])
def test_the_optimum_is_found_and_proved(
    monkeypatch: pytest.MonkeyPatch, problem: Problem, deadline: float | None
) -> None:
    count_processor_time(monkeypatch)
    found = solved(problem, deadline=deadline)
    assert (found.proved, found.stopped, found.notes) == (True, "generations", [])
    assert found.value == [found.optimum]
    assert found.value is not None
    assert found.best_known.disclosed == found.value
    steps = found.parameters["generations"] + found.parameters["iterations"]
    assert (found.generations, len(found.history.generation)) == (steps, steps)


@pytest.mark.parametrize("family", ALL_FAMILIES)
def test_every_family_is_proved_with_what_is_usual(family: str) -> None:
    for seed in (1, 2, 3):
        problem = generate_named(family, seed, rows=40)
        found = solved(problem, deadline=60.0)
        places = problem.columns
        assert found.parameters["iterations"] <= max(1.2 * places + 1, places + 12)
        if not found.proved:
            found = solved(problem, deadline=60.0, changes={"iterations": 4 * places})
        assert found.proved is True
        assert found.value == [found.optimum]


@pytest.mark.parametrize("family", ALL_FAMILIES)
def test_more_steps_never_give_a_worse_plan(family: str) -> None:
    """From the first generation on, and the start of a mask is that of the clear."""
    problem = generate_named(family, 4, rows=40)
    sense = -1 if problem.objectives[0].sense == "minimize" else 1
    settings = AssignmentParameters(generations=10, iterations=30, least=1)
    values: list[float] = []
    for steps in (11, 13, 16, 20, 30, 40):
        found = solved(problem, parameters=settings, generations=steps)
        assert found.generations == steps
        assert found.value is not None
        values.append(sense * found.value[0])
    assert values == sorted(values)


def one_feasible(rows: int, columns: int, seed: int) -> tuple[Problem, list[int]]:
    """A mask whose only plan is a drawn permutation: the pairs before it in a drawn order are
    forbidden for all rows, and those of the last one but its own."""
    rng = np.random.default_rng([rows, columns, seed])
    row_order, column_order = rng.permutation(rows), rng.permutation(columns)[:rows]
    forbidden = np.ones((rows, columns), dtype=bool)
    above = rng.random((rows, rows)) < rng.choice([0.1, 0.5, 1.0])
    allowed = np.triu(above, 1) | np.eye(rows, dtype=bool)
    forbidden[np.ix_(row_order, column_order)] = ~allowed
    plan = np.empty(rows, dtype=int)
    plan[row_order] = column_order
    return masked(forbidden, seed=seed, minimize=bool(seed % 2)), plan.tolist()


SIZES = [
    (1, 1),
    (2, 2),
    (2, 3),
    (3, 3),
    (5, 5),
    (5, 8),
    (8, 8),
    (12, 12),
    (12, 20),
    (30, 30),
    (40, 50),
]
CASES = [(rows, columns, seed) for rows, columns in SIZES for seed in range(11)]


@pytest.mark.parametrize(("rows", "columns", "seed"), [*CASES, (90, 90, 1)])
def test_the_only_feasible_plan_is_found_in_one_step(rows: int, columns: int, seed: int) -> None:
    problem, plan = one_feasible(rows, columns, seed)
    found = solved(problem, generations=1)
    assert (found.plan, found.generations) == (plan, 1)
    assert found.percent_of_optimum in (100.0, None)


def test_a_plan_is_feasible_however_few_steps_there_are() -> None:
    for seed in range(4):
        for problem in (
            generate_named("sparse", seed, rows=12),
            generate_named("slots", seed, rows=12),
            generate_delays(seed, flights=9, slots=12),
        ):
            for steps in (0, 1, 2, 5):
                found = solved(problem, generations=steps, seed=seed)
                problem.check_plan(found.plan)
                assert found.generations == max(1, steps)


def test_a_plan_that_is_not_proved_is_said_not_to_be() -> None:
    problem = generate_assignment(1, rows=60)
    found = solved(problem, changes={"iterations": 1})
    assert found.proved is False
    assert any("not proved to be the optimum" in note for note in found.notes)
    assert sorted(found.plan) == list(range(60))


def test_one_plan_for_each_weighting() -> None:
    problem = generate_assignment(3, rows=8, objectives=2)
    weightings = [(1, 0), (1, 1), (0, 1), (1000, 1)]
    found = solved(problem, weightings=weightings)
    assert found.proved is True
    for factors, plan in zip(weightings, found.best_known.plans, strict=True):
        values = weighted_values(problem, factors)
        rows, columns = linear_sum_assignment(values, maximize=True)
        assert values[range(8), plan].sum() == values[rows, columns].sum()


def test_weightings_in_groups_give_the_plans_that_they_give_alone() -> None:
    problem = generate_assignment(5, rows=9, objectives=2)
    weightings = even_weightings(problem, 7)

    def plans(together: int) -> tuple[object, list[list[int]]]:
        found = solved(problem, changes={"together": together}, weightings=weightings)
        assert found.proved is True
        return found.parameters.get("groups"), found.best_known.plans

    groups, found = plans(0)
    assert groups == [list(range(7))]
    alone, apart = plans(1), plans(3)
    assert alone[0] is None
    assert found == alone[1] == apart[1]


def test_no_plan_of_even_weightings_is_dominated() -> None:
    """Ends where one objective alone counts have ties, of which the other one decides."""
    problem = generate_assignment(4, rows=8, objectives=2, weights_up_to=2)
    weightings = even_weightings(problem, 3)
    assert weightings == [(1, 17), (1, 1), (17, 1)]
    found = solved(problem, weightings=weightings)
    assert found.best_known.actual is not None
    ends = [found.best_known.actual[0], found.best_known.actual[-1]]
    first, second = (each.weights for each in problem.objectives)
    assert first is not None
    assert second is not None
    for end, (one, other) in zip(ends, [(second, first), (first, second)], strict=True):
        rows, columns = linear_sum_assignment(100 * one + other, maximize=True)
        best = [int(each[rows, columns].sum()) for each in (first, second)]
        assert end == best


def groups_for(problem: Problem, weightings: list[tuple[int, ...]]) -> list[AssignmentGroup]:
    return assignment_groups(problem, weightings, AssignmentParameters(), seed=1)


def test_groups_are_of_one_word_where_there_are_many_and_no_message_of_theirs_is_large() -> None:
    problem = generate_assignment(1, rows=100, objectives=2)
    weightings = even_weightings(problem, 101)
    groups = groups_for(problem, weightings)
    numbers = sorted(search for group in groups for search in group.searches)
    assert numbers == list(range(101))
    for group in groups:
        assert group.largest_message <= GROUP_BYTES
        assert group.shape.weightings == len(group.searches) > 1
        for search in group.searches:
            (alone,) = groups_for(problem, [weightings[search]])
            assert alone.shape.word == group.shape.word
    # A group of its own takes all rounds: not where everything fits one.
    few = groups_for(problem, weightings[::10])
    assert [len(group.searches) for group in few] == [11]


@pytest.mark.parametrize("count", [1, 0])
def test_there_are_no_fewer_weightings_than_objectives(count: int) -> None:
    with pytest.raises(ParameterError, match="give at least as many"):
        even_weightings(generate_assignment(1, rows=3, objectives=2), count)


def test_checkpoints_end_a_run_and_a_gap_bounds_what_is_lacking() -> None:
    problem = generate_named("ties", 2, rows=40)
    early = solved(problem, deadline=60.0, changes={"checkpoints": "16:24:32"})
    assert (early.proved, early.stopped) == (True, "optimal")
    descent = early.parameters["generations"]
    assert early.generations in (descent + 16, descent + 24, descent + 32)
    hard = generate_assignment(2, rows=60)
    bounded = solved(hard, changes={"gap": 2, "iterations": 2})
    assert bounded.proved is False
    assert bounded.gaps is not None
    assert bounded.optimum is not None
    assert bounded.value is not None
    assert bounded.optimum - bounded.value[0] <= bounded.gaps[0]
    proved = solved(hard, changes={"gap": 2})
    assert (proved.proved, proved.gaps) == (True, [0])


@pytest.mark.parametrize(
    ("problem", "changes", "words"),
    [
        (KINDS[0], {"gap": 1}, "gap is 1"),
        (KINDS[0], {"checkpoints": "8:4"}, "in their order"),
        (KINDS[0], {"checkpoints": "soon"}, "in their order"),
        (KINDS[0], {"iterations": -1}, "iterations is -1"),
        (KINDS[0], {"method": "exact"}, "'method' is not a setting"),
        (KINDS[0], {"finish": 3}, "'finish' is not a setting"),
        (KINDS[0], {"generations": 3}, "'generations' is not a setting"),
        (KINDS[0], {"parents": 3}, "is a setting of a sealed tour"),
        (KINDS[0], {"elites": 3}, "is a setting of the genetic search"),
        (generate_tour(1, cities=6), {"iterations": 3}, "is a setting of a sealed assignment"),
    ],
)
def test_settings_that_do_not_fit_are_refused(
    problem: Problem, changes: dict[str, object], words: str
) -> None:
    with pytest.raises(ParameterError, match=words):
        solved(problem, changes=changes)


def test_a_problem_that_no_message_holds_is_refused_before_anything_is_built() -> None:
    wide = generate_assignment(1, rows=2, columns=6000)
    with pytest.raises(ParameterError, match="more than a message holds"):
        solve(wide, disclose="sealed", engine="simulated", limits=Limits(deadline=9.0))


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
    assert chosen(HUNDRED, known, checkpoints="48:64").checkpoint_iterations == (48, 64)
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
