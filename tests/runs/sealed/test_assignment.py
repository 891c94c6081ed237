"""Sealed assignments, simulated: the optimum, proved, for all kinds; and always a feasible plan."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from tacit.agreement.sealed_groups import (
    GROUP_BYTES,
    AssignmentGroup,
    assignment_groups,
)
from tacit.errors import ParameterError
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
from tacit.runs import Limits, Result, even_weightings, solve
from tacit.search import weighted_values
from tacit.search.moves import AssignmentParameters
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
@pytest.mark.parametrize("deadline", [None, 60.0, 0.5])
def test_the_optimum_is_found_and_proved(problem: Problem, deadline: float | None) -> None:
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
