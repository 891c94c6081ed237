"""Weightings that follow from opened plans are left out, and the front is the same."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.engine.agreement.sealed import pin_sealed
from tacit.engine.local.cluster import LocalCluster
from tacit.engine.records import OpenedPlan
from tacit.errors import AgreementError, UnprovenError
from tacit.problems import Problem, generate_assignment
from tacit.runs import EngineChoice, Limits, Result, SolveSettings, even_weightings, solve
from tacit.search.moves import ExactParameters
from tacit.verify.claimed_plans import check_left_out
from tests.engine.sealed_agreed_cluster import draft, sealed


def two(rows: int) -> Problem:
    return sealed(generate_assignment(3, rows=rows, objectives=2))


def solved(
    problem: Problem, parameters: ExactParameters, engine: EngineChoice, count: int = 17
) -> Result:
    weightings = even_weightings(problem, count)
    settings = SolveSettings(parameters=parameters, weightings=weightings)
    limits = Limits(generations=parameters.phases)
    return solve(problem, limits=limits, settings=settings, engine=engine)


def values(problem: Problem, result: Result) -> set[tuple[int, ...]]:
    plans = np.array(result.best_known.plans, dtype=np.int32)
    return {*zip(*(problem.fitness(k, plans).tolist() for k in range(2)), strict=True)}


@pytest.mark.parametrize("together", [1, 0])
def test_the_front_is_that_of_all_weightings(together: int) -> None:
    problem, choice = two(9), EngineChoice(engine="simulated")
    whole = solved(problem, ExactParameters(phases=20), choice)
    parts = solved(problem, ExactParameters(phases=20, bisect=True, together=together), choice)
    assert whole.proved
    assert parts.proved
    assert values(problem, parts) == values(problem, whole)
    assert len(whole.best_known.plans) == 17
    if together == 1:
        assert len(parts.best_known.plans) < 17


@pytest.mark.processes
def test_nodes_solve_what_does_not_follow_and_the_ledger_shows_it(cluster: LocalCluster) -> None:
    problem = two(3)
    parameters = ExactParameters(phases=3, bisect=True, together=1)
    found = solved(problem, parameters, EngineChoice(cluster=cluster.folder / "cluster.toml"), 9)
    count = len(found.best_known.plans)
    assert found.proved
    assert 2 <= count < 9
    weightings = even_weightings(problem, 9)
    pinned = pin_sealed(parameters, weightings)
    agreed = draft(cluster, problem, search=pinned, evaluations=3)
    opened = [weightings.index(tuple(each)) for each in found.parameters["weightings"]]
    ledger = [
        OpenedPlan(search, plan, None, [], outcome="optimum")
        for search, plan in zip(opened, found.best_known.plans, strict=True)
    ]
    said = check_left_out(agreed.agreement, ledger)
    assert f"{9 - count} of 9 weightings follow" in said
    assert 0 in opened
    assert 8 in opened
    with pytest.raises(UnprovenError, match="no plan for the weighting"):
        check_left_out(agreed.agreement, [each for each in ledger if each.search])


@pytest.mark.processes
def test_weightings_in_no_order_are_refused(cluster: LocalCluster) -> None:
    pinned = pin_sealed(ExactParameters(phases=6, bisect=True), [(1, 0), (0, 1), (1, 1)])
    with pytest.raises(AgreementError, match="in the order of their ratio"):
        draft(cluster, two(4), search=pinned, evaluations=6)
