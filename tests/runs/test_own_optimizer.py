"""Optimizers of others search by what is disclosed: pymoo's own, in the clear and on nodes.

The nodes and their clear twin tell the same, so the same seed gives the same plans.
"""

from __future__ import annotations

import re
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.algorithms.soo.nonconvex.ga import GA
from pymoo.core.algorithm import Algorithm
from pymoo.core.result import Result
from pymoo.operators.crossover.ox import OrderCrossover
from pymoo.operators.mutation.inversion import InversionMutation
from pymoo.operators.sampling.rnd import PermutationRandomSampling
from pymoo.optimize import minimize

from tacit.errors import ParameterError
from tacit.local import LocalCluster
from tacit.problems import Problem, generate_assignment, generate_capacitated
from tacit.pymoo import ComparedTogether, DisclosedProblem, FeasiblePlans
from tacit.runs import Asking, EngineChoice, open_evaluations

POPULATION = 20


def algorithm(kind: type[Algorithm]) -> Algorithm:
    return kind(
        pop_size=POPULATION,
        sampling=PermutationRandomSampling(),
        crossover=OrderCrossover(),
        mutation=InversionMutation(),
        repair=FeasiblePlans(),
        evaluator=ComparedTogether(),
    )


def searched(
    problem: Problem,
    kind: type[Algorithm],
    disclose: str,
    *,
    generations: int = 30,
    choice: EngineChoice | None = None,
) -> tuple[DisclosedProblem, Result]:
    with open_evaluations(
        problem,
        disclose=disclose,
        best="nothing",
        sets=generations,
        largest=2 * POPULATION,
        choice=choice or EngineChoice(engine="simulated"),
    ) as asking:
        disclosed = DisclosedProblem(asking)
        found = minimize(disclosed, algorithm(kind), ("n_gen", generations), seed=3)
        assert asking.asked == generations
        return disclosed, found


@pytest.mark.parametrize("disclose", ["none", "order", "top:8"])
def test_a_genetic_algorithm_of_pymoo_gets_better_by_what_is_disclosed(disclose: str) -> None:
    problem = generate_assignment(3, rows=10)
    disclosed, found = searched(problem, GA, disclose)
    best = int(problem.fitness(0, disclosed.plans(found.X))[0])
    drawn = np.random.default_rng(1).permuted(
        np.tile(np.arange(10, dtype=np.int32), (600, 1)), axis=1
    )
    assert best > problem.fitness(0, drawn).max()
    if disclose != "none":
        assert found.F.tolist() == [0.0], "a rank, and not the value"


def test_nsga2_of_pymoo_finds_a_front_by_ranks_alone() -> None:
    problem = generate_assignment(3, rows=10, objectives=2)
    disclosed, found = searched(problem, NSGA2, "order")
    plans = disclosed.plans(found.pop.get("X"))
    values = np.stack([problem.fitness(k, plans) for k in range(2)], axis=1)
    drawn = np.random.default_rng(1).permuted(
        np.tile(np.arange(10, dtype=np.int32), (20, 1)), axis=1
    )
    for k in range(2):
        assert np.median(values[:, k]) > np.median(problem.fitness(k, drawn))
    assert len(np.unique(values, axis=0)) > 3


@pytest.mark.processes
@pytest.mark.parametrize(("kind", "objectives"), [(GA, 1), (NSGA2, 2)])
def test_nodes_tell_pymoo_what_their_clear_twin_tells(
    kind: type[Algorithm],
    objectives: int,
    cluster: LocalCluster,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tacit.local.LocalCluster", lambda **_: nullcontext(cluster))
    problem = generate_assignment(3, rows=8, objectives=objectives, participants=2)
    runs = [
        searched(problem, kind, "order", generations=5, choice=choice)
        for choice in (EngineChoice(engine="simulated"), EngineChoice())
    ]
    (_, clear), (_, secure) = runs
    assert np.array_equal(clear.pop.get("X"), secure.pop.get("X"))
    assert np.array_equal(clear.pop.get("F"), secure.pop.get("F"))


def test_parents_are_compared_with_their_offspring() -> None:
    """With pymoo's own evaluator, a rank of 0 in any earlier set would survive for ever."""
    problem = generate_assignment(3, rows=8)
    _, found = searched(problem, GA, "order", generations=6)
    fitness = problem.fitness(0, problem.plans(found.pop.get("X").astype(np.int32)))
    assert found.pop.get("F")[:, 0].tolist() == sorted(found.pop.get("F")[:, 0])
    assert np.all(np.diff(fitness) <= 0)


def test_forbidden_pairs_are_repaired_and_refused() -> None:
    problem = replace(generate_assignment(3, rows=8), forbidden=np.eye(8, dtype=np.bool_))
    disclosed, found = searched(problem, GA, "order", generations=4)
    assert problem.fault(disclosed.plans(found.pop.get("X"))) is None
    with (
        open_evaluations(problem, disclose="order", sets=1, largest=9) as asking,
        pytest.raises(ParameterError, match="plan 1 of the set takes a pair that is forbidden"),
    ):
        asking.evaluate([list(range(8))])


def test_what_an_optimizer_may_ask_is_limited() -> None:
    problem = generate_capacitated(1, rows=4, columns=3)
    plan = [
        int(item)
        for item in problem.plans(np.arange(problem.genome_length, dtype=np.int32)[None])[0]
    ]

    def refused(asking: Asking, plans: list[list[int]], match: str) -> None:
        with pytest.raises(ParameterError, match=match):
            asking.evaluate(plans)

    with open_evaluations(problem, disclose="top:2", best="nothing", sets=1, largest=3) as asking:
        refused(asking, [plan], "a set has 2 to 3 plans")
        refused(asking, [plan] * 4, "a set has 2 to 3 plans")
        told = asking.evaluate([plan] * 3)
        assert told.disclosed[0].dtype == np.bool_
        assert told.best == (None,)
        refused(asking, [plan] * 3, "all 1 sets were evaluated")
    for given, match in (
        ({"disclose": "sealed", "sets": 1, "largest": 3}, "no optimizer outside can search"),
        ({"disclose": "top:5", "sets": 1, "largest": 3}, "at least 1 set, and 5 plans"),
    ):
        with pytest.raises(ParameterError, match=match), open_evaluations(problem, **given):  # type: ignore[arg-type]
            pass


def test_the_program_of_the_document_runs(capsys: pytest.CaptureFixture[str]) -> None:
    document = (Path(__file__).parents[2] / "docs" / "extending.md").read_text()
    (program,) = re.findall(r"```python\n(from pymoo.*?)```", document, flags=re.DOTALL)
    exec(program, {})
    assert capsys.readouterr().out.endswith(", 10)\n")
