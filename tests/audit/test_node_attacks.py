"""Attacks of a node that follows the agreed search by its seed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tacit.audit.audit import audit_of
from tacit.audit.node_attacks import (
    from_next_population,
    from_tournaments,
    is_ranked,
    replayed_search,
    view_from_tournaments,
)
from tacit.audit.recording import LARGEST_SEED, Recorder
from tacit.audit.view import View, view_of
from tacit.problems import Problem, generate_assignment, generate_tour
from tacit.runs import Limits
from tacit.search import SearchParameters
from tests.audit.example import example_record
from tests.support.simulated import solve

pytestmark = pytest.mark.slow

ASSIGNMENT = generate_assignment(11, rows=10, participants=2)


def recorded(problem: Problem, disclosure: str, **changes: object) -> View:
    settings = SearchParameters(population=60, elites=4, tournament=4).with_changes(**changes)
    recorder = Recorder()
    result = solve(
        problem,
        disclose=disclosure,
        limits=Limits(generations=25),
        seed=3,
        engine="simulated",
        observe=recorder,
        settings=settings,
    )
    return view_of(recorder.record(result.plan))


def share_right(view: View, problem: Problem) -> tuple[float, float]:
    """Of what is inferred, how much is right; and how much is inferred at all."""
    search = replayed_search(view)
    assert search is not None
    inferred = view_from_tournaments(view, search).levels
    true = view.levels[: len(inferred)]
    if is_ranked(view):
        known = inferred >= 0
        # Those that are equally good have ranks of their own, which mean nothing.
        fitness = problem.fitness(0, view.plans)[: len(inferred)]
        ends = np.cumsum(view.sizes)[:-2]
        ranked = np.concatenate([-np.sort(-each) for each in np.split(fitness, ends)])
        starts = np.repeat([0, *ends], view.sizes[:-1])
        return float((ranked[starts + inferred] == fitness)[known].mean()), float(known.mean())
    best = inferred == 0
    return float((true == 0)[best].mean()), float(best[true == 0].mean())


@pytest.mark.parametrize("disclosure", ["order", "top:10", "quantiles:5", "buckets:3", "above:90"])
@pytest.mark.parametrize("ties", ["random", "first"])
def test_children_tell_who_won_however_ties_are_broken(disclosure: str, ties: str) -> None:
    right, found = share_right(recorded(ASSIGNMENT, disclosure, ties=ties), ASSIGNMENT)
    assert right > 0.9
    assert found > (0.3 if disclosure == "order" else 0.85)


@pytest.mark.parametrize(
    "changes",
    [
        {"crossover": "edge", "mutation": "inversion", "crossover_percent": 75},
        {"crossover": "order", "mutation": "insert"},
        {"crossover": "partially-mapped", "mutation": "scramble"},
        {"crossover": "uniform-order-based", "elites": 0},
        {"reevaluate_parents": True},
        {"population": 61},
    ],
)
def test_whatever_the_operators_are(changes: dict[str, object]) -> None:
    problem = generate_tour(11, cities=10)
    right, found = share_right(recorded(problem, "order", **changes), problem)
    assert right > 0.9
    assert found > 0.1


def test_forbidden_cells_are_repaired_in_the_replay_too() -> None:
    forbidden = np.zeros((10, 10), dtype=np.bool_)
    forbidden[0, :4] = forbidden[3, 5:] = True
    problem = replace(ASSIGNMENT, forbidden=forbidden)
    right, found = share_right(recorded(problem, "order"), problem)
    assert right > 0.9
    assert found > 0.1


@pytest.mark.parametrize("disclosure", ["none", "order"])
def test_the_seed_tells_more_than_the_next_population_alone(disclosure: str) -> None:
    weights = ASSIGNMENT.objectives[0].weights
    assert weights is not None
    view = recorded(ASSIGNMENT, disclosure)
    truth = audit_of(example_record(disclosure, problem=ASSIGNMENT), weights.astype(float)).truth
    with_seed, without = from_tournaments(view), from_next_population(view)
    assert with_seed is not None
    assert without is not None
    assert truth.score(with_seed).correlation > 0.9
    assert truth.score(with_seed).correlation > truth.score(without).correlation


def test_without_the_right_seed_nothing_is_replayed() -> None:
    view = recorded(ASSIGNMENT, "order")
    assert from_tournaments(replace(view, seed=None)) is None
    assert from_tournaments(replace(view, seed=4)) is None
    assert from_tournaments(view.first(1)) is None
    wider = generate_assignment(3, rows=7, columns=9)
    assert replayed_search(recorded(wider, "order")) is None


def test_records_without_a_seed_are_audited_by_the_next_population() -> None:
    record = example_record("order", problem=ASSIGNMENT)
    weights = ASSIGNMENT.objectives[0].weights
    assert weights is not None
    audit = audit_of(record, weights.astype(float))
    assert list(audit.node()) == ["tournaments"]
    assert list(replace(audit, view=replace(audit.view, seed=None)).node()) == ["next population"]


def test_a_seed_that_is_too_large_is_left_out() -> None:
    recorder = Recorder()
    result = solve(
        ASSIGNMENT,
        disclose="order",
        limits=Limits(generations=1),
        seed=LARGEST_SEED,
        engine="simulated",
        observe=recorder,
    )
    assert recorder.record(result.plan).seed is None
