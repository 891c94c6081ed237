"""Whole runs on three nodes and in the simulation give the same bytes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from msgspec import structs

from tacit.local.cluster import LocalCluster
from tacit.problems import (
    Assignment,
    Problem,
    generate_assignment,
    generate_capacitated,
    generate_routing,
    generate_tour,
)
from tacit.runs import Checkpointing, EngineChoice, Limits, Result, SolveSettings, solve
from tacit.search import SearchParameters, preset_named

DISCLOSURES = ("none", "order", "quantiles:4", "buckets:4", "top:5", "above:80")
BESTS = ("value", "improvement", "nothing")
SMALL = {"population": 24, "elites": 2, "tournament": 4}


def small(preset: str) -> SearchParameters:
    return preset_named(preset).with_changes(**SMALL)


def same_bytes(
    cluster: LocalCluster,
    problem: Problem,
    *,
    parameters: SearchParameters,
    disclose: str | dict[str, str],
    best: str = "value",
    reveal_best: bool = False,
    front: str = "nothing",
    generations: int = 6,
) -> None:
    results = [
        solve(
            problem,
            disclose=disclose,
            best=best,
            settings=parameters,
            limits=Limits(generations=generations),
            seed=7,
            engine=choice,
        )
        for choice in (
            EngineChoice(
                cluster=cluster.folder / "cluster.toml", reveal_best=reveal_best, front=front
            ),
            EngineChoice(engine="simulated", reveal_best=reveal_best, front=front),
        )
    ]
    assert results[0].nodes == len(cluster.config.nodes)
    results[0] = structs.replace(results[0], nodes=0)
    real, twin = (result.to_json(timing=False) for result in results)
    assert real.replace(b'"engine":"nodes"', b'"engine":"simulated"') == twin
    assert results[0].engine == "nodes"


@pytest.mark.parametrize("best", BESTS)
@pytest.mark.parametrize("disclose", DISCLOSURES)
def test_assignments(cluster: LocalCluster, disclose: str, best: str) -> None:
    problem = generate_assignment(3, rows=9, participants=3)
    same_bytes(cluster, problem, parameters=small("paper-ap"), disclose=disclose, best=best)


@pytest.mark.parametrize(("disclose", "best"), [("top:5", "improvement"), ("above:80", "value")])
def test_large_populations(cluster: LocalCluster, disclose: str, best: str) -> None:
    """Nodes compute these away from their event loops."""
    problem = generate_assignment(3, rows=150, participants=3)
    parameters = preset_named("paper-ap").with_changes(population=450)
    same_bytes(cluster, problem, parameters=parameters, disclose=disclose, best=best, generations=2)


@pytest.mark.parametrize("disclose", ["top:5", "buckets:3"])
def test_imbalanced_assignments(cluster: LocalCluster, disclose: str) -> None:
    problem = generate_assignment(4, rows=5, columns=11)
    same_bytes(cluster, problem, parameters=small("paper-ap"), disclose=disclose)


@pytest.mark.parametrize("disclose", DISCLOSURES)
def test_capacitated_assignments(cluster: LocalCluster, disclose: str) -> None:
    problem = generate_capacitated(3, rows=9, columns=3, participants=3)
    forbidden = np.zeros((9, 3), dtype=np.bool_)
    forbidden[0, 1] = forbidden[4, 2] = True
    problem = replace(problem, forbidden=forbidden, capacities=(4, 0, 6))
    same_bytes(cluster, problem, parameters=small("paper-ap"), disclose=disclose)


@pytest.mark.parametrize("disclose", DISCLOSURES)
def test_routes_with_a_vehicle_to_spare(cluster: LocalCluster, disclose: str) -> None:
    problem = generate_routing(3, places=8, vehicles=3, participants=3)
    weights = np.array(problem.objectives[0].weights)
    weights[0, 0] = 500  # No way leads from the depot to itself, so it must not count.
    objective = replace(problem.objectives[0], weights=weights)
    capacities = (sum(problem.demands), 40, 25)
    problem = replace(problem, objectives=(objective,), capacities=capacities)
    same_bytes(
        cluster, problem, parameters=small("paper-tsp"), disclose=disclose, best="improvement"
    )


def test_costs_with_ties_and_forbidden_pairs(cluster: LocalCluster) -> None:
    made = generate_assignment(5, rows=7)
    weights = np.random.default_rng(5).integers(0, 2, (7, 7))
    forbidden = np.zeros((7, 7), dtype=np.bool_)
    forbidden[np.arange(7), (np.arange(7) + 1) % 7] = True
    objective = replace(made.objectives[0], weights=weights, sense="minimize", weight_bound=1)
    problem = Assignment(
        name="ties", rows=7, columns=7, objectives=(objective,), forbidden=forbidden
    )
    same_bytes(cluster, problem, parameters=small("paper-ap"), disclose="order", best="improvement")


def test_more_than_256_columns(cluster: LocalCluster) -> None:
    problem = generate_assignment(6, rows=4, columns=300)
    same_bytes(cluster, problem, parameters=small("paper-ap"), disclose="top:3", generations=2)


@pytest.mark.parametrize("disclose", DISCLOSURES)
def test_tours(cluster: LocalCluster, disclose: str) -> None:
    same_bytes(
        cluster, generate_tour(2, cities=10), parameters=small("paper-tsp"), disclose=disclose
    )


def test_several_objectives_with_a_public_one(cluster: LocalCluster) -> None:
    made = generate_assignment(8, rows=8, objectives=3)
    objectives = (*made.objectives[:2], replace(made.objectives[2], confidential=False))
    problem = replace(made, objectives=objectives)
    names = [objective.name for objective in objectives]
    parameters = preset_named("paper-moap").with_changes(population=16)
    disclose = {names[0]: "order", names[1]: "above:70"}
    same_bytes(cluster, problem, parameters=parameters, disclose=disclose, best="improvement")


def test_the_final_reveal(cluster: LocalCluster) -> None:
    problem = generate_assignment(9, rows=9)
    same_bytes(cluster, problem, parameters=small("paper-ap"), disclose="top:5", reveal_best=True)


def test_a_run_resumes_on_nodes(cluster: LocalCluster, tmp_path: object) -> None:
    problem = generate_assignment(3, rows=9)
    file = f"{tmp_path}/run.checkpoint"
    choice = EngineChoice(cluster=cluster.folder / "cluster.toml")

    def solved(generations: int, saving: Checkpointing) -> Result:
        return solve(
            problem,
            disclose="top:5",
            limits=Limits(generations=generations),
            settings=SolveSettings(parameters=small("paper-ap"), checkpointing=saving),
            seed=1,
            engine=choice,
        )

    solved(3, Checkpointing(file=file))
    half, whole = solved(6, Checkpointing(resume=file)), solved(6, Checkpointing())
    assert half.to_json(timing=False) == whole.to_json(timing=False)
