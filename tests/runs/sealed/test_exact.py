"""`solve` with the exact solver: the optimum, proved, for all kinds of assignments."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from tacit.engine.agreement.exact import GROUP_BYTES
from tacit.errors import AgreementError, NoPlanError, ParameterError
from tacit.problems import (
    Assignment,
    Objective,
    Problem,
    generate_assignment,
    generate_capacitated,
    generate_delays,
    generate_tour,
)
from tacit.runs import Limits, Result, SealedDriver, drive, even_weightings, phases_of
from tacit.runs.sealed.exact import SimulatedExact, courses_for
from tacit.search import weighted_values
from tacit.search.moves import ExactParameters, exact_parameters_for
from tests.runs.flat import solve_with

PHASES = 40


def exact(problem: Problem, best: str = "value", **changes: object) -> Result:
    settings = {"method": "exact", "phases": PHASES, **changes}
    return solve_with(problem, disclose="sealed", best=best, engine="simulated", changes=settings)


def with_decimals() -> Problem:
    weights = np.random.default_rng(3).integers(0, 9999, (9, 9))
    objective = Objective("late", weights, sense="minimize", scale=100, weight_bound=10_000)
    return Assignment(name="decimals", rows=9, columns=9, objectives=(objective,))


def with_forbidden(*, proven: bool = False) -> Problem:
    forbidden = np.random.default_rng(6).random((8, 10)) < 0.4
    if proven:
        forbidden[:3, 2:] = True
    weights = np.random.default_rng(5).integers(0, 99, (8, 10))
    return Assignment(
        name="some",
        rows=8,
        columns=10,
        objectives=(Objective("pay", weights),),
        forbidden=forbidden,
        proven=proven,
    )


@pytest.mark.parametrize(
    "problem",
    [
        generate_assignment(1, rows=15),
        generate_assignment(2, rows=6, columns=13),
        generate_capacitated(3, rows=10, columns=4),
        generate_delays(4, flights=8, slots=12),
        with_decimals(),
        with_forbidden(),
    ],
    ids=lambda problem: problem.name,
)
@pytest.mark.parametrize("scaling", [False, True])
def test_the_optimum_is_found_and_proved(problem: Problem, scaling: bool) -> None:
    found = exact(problem, scaling=scaling)
    assert found.proved is True
    assert found.value == [found.optimum]
    assert found.notes == []
    assert found.value is not None
    assert found.best_known.disclosed == found.value


def test_one_plan_for_each_weighting() -> None:
    problem = generate_assignment(3, rows=8, objectives=2)
    weightings = [(1, 0), (1, 1), (0, 1)]
    found = solve_with(
        problem,
        disclose="sealed",
        engine="simulated",
        changes={"method": "exact"},
        weightings=weightings,
    )
    assert found.proved is True
    for factors, plan in zip(weightings, found.best_known.plans, strict=True):
        values = weighted_values(problem, factors)
        rows, columns = linear_sum_assignment(values, maximize=True)
        assert values[range(8), plan].sum() == values[rows, columns].sum()


def test_what_is_not_proved_is_said() -> None:
    found = exact(generate_assignment(1, rows=15), phases=1)
    assert found.proved is False
    assert "not proved to be the optimum" in found.notes[0]
    assert sorted(found.plan) == list(range(15))


def test_where_every_plan_is_forbidden_there_is_none() -> None:
    settings = ExactParameters(phases=PHASES)
    limits = Limits(generations=PHASES)
    problem = with_forbidden(proven=True)
    (course,) = courses_for(problem, settings, [(1,)], seed=1)
    search = SimulatedExact(problem, course, [(1,)])
    driver = SealedDriver(problem, [search], limits, settings, [(1,)])
    with pytest.raises(NoPlanError, match="proved that every plan has a forbidden pair"):
        drive(driver)


def test_what_the_exact_solver_cannot_do() -> None:
    with pytest.raises(ParameterError, match="for assignments"):
        exact(generate_tour(1, cities=6))
    with pytest.raises(ParameterError, match="could improve"):
        exact(generate_assignment(1, rows=5), best="improvement")
    with pytest.raises(ParameterError, match="use one of search, exact"):
        exact(generate_assignment(1, rows=5), method="magic")
    with pytest.raises(ParameterError, match="'block' is a setting of the search"):
        exact(generate_assignment(1, rows=5), block=4)


def test_weightings_of_different_range_are_all_proved() -> None:
    found = solve_with(
        generate_assignment(3, rows=6, objectives=2),
        disclose="sealed",
        engine="simulated",
        changes={"method": "exact", "scaling": True},
        weightings=[(1, 0), (1000, 1)],
    )
    assert found.proved is True


def test_a_problem_that_no_message_holds_is_refused_before_anything_is_built() -> None:
    wide = generate_assignment(1, rows=2, columns=6000)
    with pytest.raises(AgreementError, match="more than a message holds"):
        phases_of(wide, ExactParameters(), [(1,)])


def test_weightings_in_groups_give_the_plans_that_they_give_alone() -> None:
    problem = generate_assignment(5, rows=9, objectives=2)
    weightings = even_weightings(problem, 7)

    def plans(together: int, *, scaling: bool) -> tuple[object, list[list[int]]]:
        found = solve_with(
            problem,
            disclose="sealed",
            engine="simulated",
            changes={"method": "exact", "together": together, "scaling": scaling},
            weightings=weightings,
        )
        assert found.proved is True
        return found.parameters.get("groups"), found.best_known.plans

    assert plans(1, scaling=False)[0] is None
    groups, found = plans(0, scaling=False)
    assert groups == [list(range(7))]
    assert found == plans(1, scaling=False)[1] == plans(3, scaling=False)[1]
    # Here the range of the group decides on the first epsilons, and so which optimum is found.
    for factors, plan, other in zip(weightings, plans(0, scaling=True)[1], found, strict=True):
        values = weighted_values(problem, factors)
        assert values[range(9), plan].sum() == values[range(9), other].sum()


def test_no_plan_of_even_weightings_is_dominated() -> None:
    """Ends where one objective alone counts have ties, of which the other one decides."""
    problem = generate_assignment(4, rows=8, objectives=2, weights_up_to=2)
    weightings = even_weightings(problem, 3)
    assert weightings == [(1, 17), (1, 1), (17, 1)]
    found = solve_with(
        problem,
        disclose="sealed",
        engine="simulated",
        changes={"method": "exact"},
        weightings=weightings,
    )
    assert found.best_known.actual is not None
    ends = [found.best_known.actual[0], found.best_known.actual[-1]]
    first, second = (each.weights for each in problem.objectives)
    assert first is not None
    assert second is not None
    for end, (one, other) in zip(ends, [(second, first), (first, second)], strict=True):
        rows, columns = linear_sum_assignment(100 * one + other, maximize=True)
        best = [int(each[rows, columns].sum()) for each in (first, second)]
        assert end == best


def test_groups_are_of_one_word_where_there_are_many_and_no_message_of_theirs_is_large() -> None:
    problem = generate_assignment(1, rows=100, objectives=2)
    weightings = even_weightings(problem, 101)
    courses = courses_for(problem, exact_parameters_for(2), weightings)
    numbers = sorted(search for course in courses for search in course.searches)
    assert numbers == list(range(101))
    for course in courses:
        assert course.largest_message <= GROUP_BYTES
        assert course.shape.weightings == len(course.searches) > 1
        for search in course.searches:
            (alone,) = courses_for(problem, exact_parameters_for(2), [weightings[search]])
            assert alone.shape.word == course.shape.word
    # A group of its own takes all rounds: not where everything fits one.
    few = courses_for(problem, exact_parameters_for(2), weightings[::10])
    assert [len(course.searches) for course in few] == [11]


@pytest.mark.parametrize("count", [1, 0])
def test_there_are_no_fewer_weightings_than_objectives(count: int) -> None:
    with pytest.raises(ParameterError, match="give at least as many"):
        even_weightings(generate_assignment(1, rows=3, objectives=2), count)
