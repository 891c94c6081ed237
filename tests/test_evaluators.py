"""Evaluators give the search what a disclosure reveals, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tacit.disclosure import BestMode, exponential, parse_disclosure
from tacit.errors import ProblemError
from tacit.evaluators import ClearObjective, SeparateObjectives, SimulatedObjective
from tacit.problems import Assignment, Objective, Problem, generate_assignment, generate_tour
from tacit.search.genomes import random_permutations
from tests.search.words_for import random_words


def plans_of(problem: Problem, count: int, seed: int = 1) -> NDArray[np.int32]:
    return problem.plans(random_permutations(random_words(seed, count, problem.genome_length)))


def with_objective(problem: Problem, **changes: object) -> Problem:
    # Typed by Objective itself; a test that passes rubbish fails there.
    changed = replace(problem.objectives[0], **changes)  # type: ignore[arg-type]
    return replace(problem, objectives=(changed, *problem.objectives[1:]))


PROBLEMS = {
    "maximize": generate_assignment(3, rows=6, columns=8),
    "minimize": generate_assignment(3, rows=6, sense="minimize"),
    "tour": generate_tour(3, cities=7),
}
DISCLOSURES = ("none", "order", "quantiles:4", "buckets:4", "top:5", "above:75")


@pytest.mark.parametrize("kind", PROBLEMS)
def test_clear_fitness_is_the_sum_of_the_weights_that_a_plan_picks(kind: str) -> None:
    problem = PROBLEMS[kind]
    weights, sign = problem.objectives[0].weights, problem.objectives[0].sign
    assert weights is not None
    plans = plans_of(problem, 20)
    told = ClearObjective(problem, 0).evaluate(plans, until=None)
    expected = []
    for plan in plans.tolist():
        cells = zip(plan, plan[1:] + plan[:1], strict=True) if kind == "tour" else enumerate(plan)
        expected.append(sign * sum(int(weights[cell]) for cell in cells))
    assert told.disclosed.tolist() == expected
    assert told.estimates.tolist() == [float(fitness) for fitness in expected]
    assert told.best == max(expected)


@pytest.mark.parametrize("kind", PROBLEMS)
@pytest.mark.parametrize("text", DISCLOSURES)
def test_the_simulation_tells_what_the_disclosure_reveals_of_the_fitness(
    kind: str, text: str
) -> None:
    disclosure = parse_disclosure(text)
    problem = with_objective(PROBLEMS[kind], disclosure=disclosure)
    plans = plans_of(problem, 20)
    fitness = problem.fitness(0, plans)
    told = SimulatedObjective(problem, 0).evaluate(plans, until=None)
    assert told.disclosed.tolist() == disclosure.disclose(fitness).tolist()
    assert told.best == int(fitness.max())
    assert type(told.best) is int
    estimates = disclosure.estimates(told.disclosed, best=int(fitness.max()))
    assert told.estimates.tolist() == estimates.tolist()


@pytest.mark.parametrize("text", DISCLOSURES[1:])
@pytest.mark.parametrize("mode", ["improvement", "nothing"])
def test_a_withheld_best_shows_neither_in_the_answer_nor_in_the_estimates(
    text: str, mode: str
) -> None:
    problem = with_objective(
        PROBLEMS["maximize"], disclosure=parse_disclosure(text), best_mode=BestMode(mode)
    )
    evaluator = SimulatedObjective(problem, 0)
    told = evaluator.evaluate(plans_of(problem, 20), until=None)
    assert told.best is (True if mode == "improvement" else None)
    levels = parse_disclosure(text).levels(told.disclosed)
    assert told.estimates.tolist() == [-float(level) for level in levels]


def test_an_improvement_is_told_once_and_only_when_it_is_one() -> None:
    problem = with_objective(
        PROBLEMS["maximize"],
        disclosure=parse_disclosure("order"),
        best_mode=BestMode.IMPROVEMENT,
    )
    evaluator = SimulatedObjective(problem, 0)
    best: int | None = None
    for seed in range(12):
        plans = plans_of(problem, 5, seed)
        largest = int(problem.fitness(0, plans).max())
        expected = best is None or largest > best
        assert evaluator.evaluate(plans, until=None).best is expected
        assert evaluator.evaluate(plans, until=None).best is False
        best = largest if best is None else max(best, largest)
        assert evaluator.best_so_far == best


def test_another_estimator_reaches_the_estimates() -> None:
    problem = with_objective(PROBLEMS["maximize"], disclosure=parse_disclosure("quantiles:4"))
    plans = plans_of(problem, 20)
    told = SimulatedObjective(problem, 0, estimator=exponential).evaluate(plans, until=None)
    assert set(told.estimates.tolist()) == set(exponential(int(told.best or 0), 4).tolist())


def test_objectives_side_by_side_keep_their_order_and_their_own_best() -> None:
    problem = generate_assignment(
        4, rows=6, objectives=2, disclosures=(parse_disclosure("order"), parse_disclosure("top:3"))
    )
    evaluator = SeparateObjectives((SimulatedObjective(problem, 0), ClearObjective(problem, 1)))
    plans = plans_of(problem, 10)
    told = evaluator.evaluate(plans, until=None)
    first, second = (problem.fitness(k, plans) for k in range(2))
    assert told.estimates.shape == (10, 2)
    assert told.best == (int(first.max()), int(second.max()))
    assert told.disclosed[0].tolist() == parse_disclosure("order").disclose(first).tolist()
    assert told.disclosed[1].tolist() == second.tolist()
    assert told.estimates[:, 1].tolist() == second.astype(float).tolist()
    assert evaluator.best_so_far == (int(first.max()), None)


@given(st.integers(0, 10_000), st.integers(0, 10_000))
def test_a_restored_evaluator_goes_on_as_if_it_never_stopped(first: int, second: int) -> None:
    problem = with_objective(
        PROBLEMS["maximize"],
        disclosure=parse_disclosure("order"),
        best_mode=BestMode.IMPROVEMENT,
    )
    whole, part = (SeparateObjectives((SimulatedObjective(problem, 0),)) for _ in range(2))
    whole.evaluate(plans_of(problem, 4, first), until=None)
    part.restore(whole.best_so_far)
    plans = plans_of(problem, 4, second)
    assert whole.evaluate(plans, until=None).best == part.evaluate(plans, until=None).best


def test_restoring_the_wrong_number_of_objectives_is_an_error() -> None:
    evaluator = SeparateObjectives((ClearObjective(PROBLEMS["maximize"], 0),))
    with pytest.raises(ValueError, match="zip"):
        evaluator.restore((1, 2))


def test_weights_that_only_participants_know_cannot_be_evaluated_here() -> None:
    sealed = Objective("pay", None, weight_bound=9)
    problem = Assignment(name="sealed", rows=2, columns=2, objectives=(sealed,))
    plans = np.array([[0, 1]], dtype=np.int32)
    for evaluator in (ClearObjective(problem, 0), SimulatedObjective(problem, 0)):
        with pytest.raises(ProblemError, match="its participants hold them; evaluate it on nodes"):
            evaluator.evaluate(plans, until=None)
