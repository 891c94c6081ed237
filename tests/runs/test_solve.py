"""`solve`: what it takes and reports, and exact answers."""

from __future__ import annotations

import pickle
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from tacit import runs
from tacit.disclosure import BestMode
from tacit.errors import DisclosureError, ParameterError, TacitError
from tacit.problems import (
    Assignment,
    Objective,
    Sense,
    Tour,
    generate_assignment,
    generate_capacitated,
    generate_delays,
    generate_named,
    generate_routing,
    generate_tour,
    shipped_problem,
)
from tacit.runs import Limits, Progress, SolveSettings, open_evaluations, with_disclosures
from tacit.search import PRESETS, SearchParameters
from tests.runs.flat import solve_with
from tests.support.simulated import solve


def test_the_preset_follows_the_kind_of_problem(
    small_assignment: Assignment, small_tour: Tour, small_two_objectives: Assignment
) -> None:
    chosen = {
        "paper-ap": solve(small_assignment, limits=Limits(generations=0)),
        "paper-tsp": solve(small_tour, limits=Limits(generations=0)),
        "paper-moap": solve(small_two_objectives, limits=Limits(generations=0)),
    }
    for preset, result in chosen.items():
        assert SearchParameters(**result.parameters) == PRESETS[preset]


def test_the_caller_may_choose(small_assignment: Assignment) -> None:
    by_name = solve(small_assignment, settings="paper-tsp", limits=Limits(generations=0))
    assert by_name.parameters["crossover"] == "edge"
    other = solve_with(small_assignment, algorithm="nsga2", generations=0)
    assert other.algorithm == "nsga2"


def test_disclosures_for_all_and_by_name(small_two_objectives: Assignment) -> None:
    for_all = with_disclosures(small_two_objectives, "order", "improvement")
    assert [str(o.disclosure) for o in for_all.objectives] == ["order", "order"]
    assert [str(o.best_mode) for o in for_all.objectives] == ["improvement"] * 2
    by_name = with_disclosures(small_two_objectives, {"weight 2": "top:3"}, None)
    assert [str(o.disclosure) for o in by_name.objectives] == ["top:15", "top:3"]


def test_where_nobody_says_anything_a_run_is_sealed() -> None:
    """Not `none`, which gives everything away, wherever the problem comes from."""
    drawn = [
        generate_assignment(1, rows=4, objectives=2),
        generate_delays(1, flights=4, slots=5),
        generate_capacitated(1, rows=4, columns=2),
        generate_named("slots", 1, rows=4),
        generate_tour(1, cities=5),
        pickle.loads(pickle.dumps(generate_assignment(1, rows=4))),
        shipped_problem("kroD100"),
    ]
    for problem in drawn:
        result = runs.solve(problem, limits=Limits(generations=1), engine="simulated")
        assert {each.disclosure for each in result.objectives} == {"sealed"}
        assert {each.best_mode for each in with_disclosures(problem, None, None).objectives} == {
            BestMode.NOTHING
        }
    assert all(
        each.best_mode is BestMode.VALUE
        for each in with_disclosures(drawn[0], None, "value").objectives
    )


def test_what_cannot_be_sealed_discloses_what_is_usual_for_it() -> None:
    van = runs.solve(
        generate_routing(1, places=5, vehicles=1), limits=Limits(generations=1), engine="simulated"
    )
    assert [each.disclosure for each in van.objectives] == ["top:15"]
    first, second = generate_assignment(1, rows=4, objectives=2).objectives
    mixed = (replace(first, confidential=False), replace(second, best_mode=BestMode.IMPROVEMENT))
    problem = replace(generate_assignment(1, rows=4, objectives=2), objectives=mixed)
    usual = with_disclosures(problem, None, None).objectives[1]
    assert (str(usual.disclosure), usual.best_mode) == ("top:15", BestMode.IMPROVEMENT)
    with pytest.raises(ParameterError, match="choose another disclosure, such as top:15"):
        runs.solve(generate_assignment(1, rows=4), settings="paper-ap", engine="simulated")
    with (
        pytest.raises(ParameterError, match="disclose something, such as top:15"),
        open_evaluations(generate_assignment(1, rows=4), sets=1, largest=2),
    ):
        pass


def test_public_objectives_stay_public(small_two_objectives: Assignment) -> None:
    first, second = small_two_objectives.objectives
    problem = replace(small_two_objectives, objectives=(replace(first, confidential=False), second))
    result = solve(problem, disclose="top:5", limits=Limits(generations=2))
    assert [o.disclosure for o in result.objectives] == ["public", "top:5"]
    with pytest.raises(ParameterError, match="'weight 1' is public, so nothing of it is hidden"):
        solve(problem, disclose={"weight 1": "order"}, limits=Limits(generations=1))


def test_the_problems_own_disclosures_count_where_nothing_else_is_said(
    small_assignment: Assignment,
) -> None:
    problem = with_disclosures(small_assignment, "quantiles:7", "nothing")
    result = solve(problem, limits=Limits(generations=1))
    assert (result.objectives[0].disclosure, result.objectives[0].best) == (
        "quantiles:7",
        "nothing",
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"disclose": "top:21"}, "top:21 needs at least 21 individuals and the population has 20"),
        ({"disclose": "buckets:21"}, "buckets:21 needs at least 21"),
        ({"disclose": "quantiles:21"}, "quantiles:21 needs at least 21"),
        ({"disclose": "median"}, "'median' is not a disclosure"),
        ({"disclose": {"pay": "order"}}, "there is no objective 'pay'; there are weight"),
        ({"best": "all"}, "'all' is not a way to disclose the best fitness"),
        ({"deadline": "soon"}, "'soon' is not a time"),
        ({"algorithm": "annealing"}, "'annealing' is not an algorithm"),
    ],
)
def test_mistakes_are_named(
    small_assignment: Assignment,
    small_search: SearchParameters,
    options: dict[str, object],
    message: str,
) -> None:
    with pytest.raises(TacitError) as refused:
        solve_with(small_assignment, parameters=small_search, **options)
    assert message in str(refused.value)
    assert refused.value.exit_code == 2


def test_a_population_as_large_as_k_will_do(
    small_assignment: Assignment, small_search: SearchParameters
) -> None:
    result = solve_with(small_assignment, disclose="top:20", parameters=small_search, generations=2)
    assert result.generations == 2


def test_unknown_presets_and_estimators_are_refused(
    small_assignment: Assignment, small_search: SearchParameters
) -> None:
    with pytest.raises(ParameterError, match="'best' is not a preset"):
        solve(small_assignment, settings="best")
    with pytest.raises(ParameterError, match="'cubic' is not an estimator"):
        solve(small_assignment, settings=small_search.with_changes(estimator="cubic"))
    with pytest.raises(DisclosureError):
        solve(small_assignment, disclose="above:101")


def test_observers_see_every_generation_and_announcements_come_first(
    small_assignment: Assignment, small_search: SearchParameters
) -> None:
    events: list[str] = []

    def observe(view: Progress) -> None:
        seen = view.evaluated
        assert seen is not None
        assert seen.driver.now.search is seen.state
        assert seen.driver.history[-1] is seen.record
        assert seen.evaluation.estimates.shape == (20, 1)
        events.append(str(view.generation))

    solve_with(
        small_assignment,
        parameters=small_search,
        generations=3,
        observe=observe,
        announce=lambda line: events.append("announced"),
    )
    assert events == ["announced", "0", "1", "2", "3"]


def test_forbidden_pairs_and_extra_columns(
    small_forbidden: Assignment, small_search: SearchParameters
) -> None:
    result = solve_with(small_forbidden, disclose="top:5", parameters=small_search, generations=30)
    small_forbidden.check_plan(result.plan)
    for plan in result.estimated_best.plans:
        small_forbidden.check_plan(plan)
    assert result.percent_of_optimum is not None
    assert result.percent_of_optimum > 70


def test_an_interrupt_returns_the_best_so_far(
    small_assignment: Assignment, small_search: SearchParameters
) -> None:
    def interrupt(view: Progress) -> None:
        if view.generation == 4:
            raise KeyboardInterrupt

    result = solve(small_assignment, settings=small_search, observe=interrupt)
    whole = solve(small_assignment, settings=small_search, limits=Limits(generations=4))
    assert (result.stopped, result.generations) == ("interrupted", 4)
    assert (result.plan, result.history) == (whole.plan, whole.history)


def test_an_interrupt_before_there_is_any_result_is_passed_on(
    small_assignment: Assignment,
    small_search: SearchParameters,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tacit.runs.evaluating.record_generation", interrupted)
    with pytest.raises(KeyboardInterrupt):
        solve(small_assignment, settings=small_search, limits=Limits(generations=4))


def test_a_simulation_does_not_pretend_to_seal_a_plan_to_its_owners() -> None:
    choice = runs.EngineChoice(engine="simulated", plan="owners")
    found = runs.solve(generate_assignment(1, rows=4), engine=choice)
    assert found.notes == ["this is a simulation: nothing was sealed to the owners of the plan"]


def test_a_setting_of_another_kind_of_run_is_called_so(small_assignment: Assignment) -> None:
    for change, kind in (
        ({"iterations": 3}, "a sealed assignment"),
        ({"gap": 2}, "a sealed assignment"),
        ({"parents": 2}, "a sealed tour"),
    ):
        with pytest.raises(ParameterError, match=f"is a setting of {kind}, and this run is none"):
            solve_with(small_assignment, disclose="top:5", changes=change, generations=1)


def public(weights: NDArray[np.int64], sense: Sense = "maximize", scale: int = 1) -> Objective:
    return Objective("pay", weights, sense=sense, confidential=False, scale=scale)


@pytest.mark.parametrize("sense", ["maximize", "minimize"])
@pytest.mark.parametrize("rows", [1, 3, 5])
@given(data=st.data())
def test_no_plan_is_better(sense: Sense, rows: int, data: st.DataObject) -> None:
    weights = data.draw(arrays(np.int64, (rows, 5), elements=st.integers(0, 20)))
    problem = Assignment(name="p", rows=rows, columns=5, objectives=(public(weights, sense),))
    result = solve(problem, settings=SolveSettings(algorithm="exact"))
    values = [
        sum(int(weights[row, column]) for row, column in enumerate(plan))
        for plan in permutations(range(5), rows)
    ]
    best = max(values) if sense == "maximize" else min(values)
    assert result.value == [best]
    assert result.optimum == best
    assert sum(int(weights[row, column]) for row, column in enumerate(result.plan)) == best
    assert result.percent_of_optimum == (100 if best else None)
    assert (result.algorithm, result.engine, result.stopped) == ("exact", "clear", "optimal")


def test_values_are_in_the_users_unit() -> None:
    problem = Assignment(
        name="p",
        rows=2,
        columns=2,
        objectives=(public(np.array([[150, 225], [100, 400]]), "minimize", 100),),
    )
    result = solve(problem, settings=SolveSettings(algorithm="exact"))
    assert result.plan == [1, 0]
    assert (result.value, result.optimum, result.percent_of_optimum) == ([3.25], 3.25, 100.0)
    assert result.best_known.disclosed == [3.25]


def test_forbidden_pairs_are_left_out() -> None:
    weights = np.array([[9, 1], [1, 9]])
    problem = Assignment(
        name="p",
        rows=2,
        columns=2,
        objectives=(public(weights),),
        forbidden=np.array([[True, False], [False, False]]),
    )
    assert solve(problem, settings=SolveSettings(algorithm="exact")).plan == [1, 0]


def test_several_objectives_give_a_front_that_nothing_found_by_search_dominates() -> None:
    rng = np.random.Generator(np.random.PCG64(5))
    a, b = (rng.integers(0, 50, size=(5, 5)) for _ in range(2))
    objectives = (
        Objective("a", a, confidential=False),
        Objective("b", b, confidential=False),
    )
    problem = Assignment(name="p", rows=5, columns=5, objectives=objectives)
    front = solve(problem, settings=SolveSettings(algorithm="exact")).best_known.actual
    assert front is not None
    everything = [
        (sum(int(a[r, c]) for r, c in enumerate(p)), sum(int(b[r, c]) for r, c in enumerate(p)))
        for p in permutations(range(5))
    ]
    assert [max(v[0] for v in everything), max(v[1] for v in everything)] == [
        max(v[0] for v in front),
        max(v[1] for v in front),
    ]
    for x, y in front:
        assert not any((p >= x and q >= y) and (p, q) != (x, y) for p, q in everything)


def test_confidential_objectives_are_refused(small_assignment: Assignment) -> None:
    with pytest.raises(ParameterError, match="every objective in the clear and 'weight' is conf"):
        solve(small_assignment, settings=SolveSettings(algorithm="exact"))


def test_tours_are_refused(small_tour: Tour) -> None:
    with pytest.raises(ParameterError, match="is a tour; use genetic"):
        solve(small_tour, settings=SolveSettings(algorithm="exact"))


def test_absent_weights_are_refused() -> None:
    sealed = Objective("pay", None, weight_bound=9, confidential=False)
    problem = Assignment(name="p", rows=2, columns=2, objectives=(sealed,))
    with pytest.raises(ParameterError, match="exact needs the weights of 'p'"):
        solve(problem, settings=SolveSettings(algorithm="exact"))
