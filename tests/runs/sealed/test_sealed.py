"""`solve` with sealed objectives: what it finds, what it says, and what it cannot do."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tacit.disclosure import BestMode, Exact
from tacit.engine.local.cluster import LocalCluster
from tacit.engine.records.ledger import OpenedPlan, load_ledger
from tacit.errors import ParameterError
from tacit.problems import (
    Assignment,
    Objective,
    Problem,
    generate_assignment,
    load_problem,
    save_problem,
    shipped_problem,
)
from tacit.runs import Checkpointing, EngineChoice, Limits, Progress, Result
from tacit.runs.result import Timing
from tacit.runs.sealed.pace import OPENING_SECONDS
from tacit.search.moves import SealedParameters
from tests.runs.flat import solve_with
from tests.support.cpu_waits import CpuWaits
from tests.support.simulated import solve

LATE = 0.1


def simulated(problem: Problem, **options: object) -> Result:
    return solve_with(problem, disclose="sealed", engine="simulated", **options)


@pytest.mark.slow
def test_a_sealed_search_is_as_good_as_promised() -> None:
    found = simulated(generate_assignment(1), generations=1000, seed=1)
    assert found.percent_of_optimum is not None
    assert found.percent_of_optimum > 99
    tour = simulated(shipped_problem("kroD100"), generations=1500, seed=1)
    assert tour.percent_of_optimum is not None
    assert tour.percent_of_optimum < 104


def test_a_run_is_a_function_of_its_seed_and_its_schedule() -> None:
    problem = generate_assignment(1, rows=20)
    one, two = (simulated(problem, generations=30, seed=7) for _ in range(2))
    other = simulated(problem, generations=30, seed=8)
    assert one.to_json(timing=False) == two.to_json(timing=False)
    assert one.plan != other.plan
    assert one.parameters["schedule"] == [[[0, 30, 30]]]


def test_nothing_is_told_unless_it_was_asked_for() -> None:
    problem = generate_assignment(1, rows=10)
    silent = simulated(problem, generations=12)
    assert silent.best_known.disclosed == [None]
    assert silent.history.disclosed_best == [[None]] * 12
    valued = simulated(problem, generations=12, best="value")
    assert valued.best_known.disclosed == valued.value
    bits = simulated(problem, generations=12, best="improvement").history.disclosed_best
    assert len(bits) == 12
    assert {type(each[0]) for each in bits} == {bool}
    assert silent.plan == valued.plan


def test_several_objectives_give_a_front() -> None:
    problem = generate_assignment(1, rows=30, objectives=2)
    found = simulated(problem, generations=200, seed=1)
    assert found.best_known.actual is not None
    first, second = zip(*found.best_known.actual, strict=True)
    assert len(first) == 5
    assert first[0] == max(first)
    assert second[-1] == max(second)
    chosen = simulated(problem, generations=20, weightings=[(1, 2)])
    assert len(chosen.best_known.plans) == 1


def test_forbidden_pairs_are_left_alone_or_owned_up_to() -> None:
    rng = np.random.default_rng(1)
    forbidden = rng.random((12, 14)) < 0.5
    forbidden[np.arange(12), np.arange(12)] = False
    pay = Objective("pay", rng.integers(0, 50, (12, 14)))
    problem = Assignment(name="p", rows=12, columns=14, objectives=(pay,), forbidden=forbidden)
    problem.check_plan(simulated(problem, generations=200).plan)
    hurried = simulated(problem, generations=1, parameters=SealedParameters(block=2))
    assert any("forbidden pairs" in note for note in hurried.notes)


def test_a_problem_file_may_ask_for_it(tmp_path: Path) -> None:
    problem = generate_assignment(1, rows=6, disclosures=[Exact()])
    save_problem(problem, tmp_path / "p.json")
    text = (tmp_path / "p.json").read_text()
    assert '"none"' in text
    text = text.replace('"none"', '"sealed"').replace('"best": "value",', "")
    (tmp_path / "p.json").write_text(text)
    loaded = load_problem(tmp_path / "p.json")
    assert loaded.objectives[0].best_mode is BestMode.NOTHING
    assert solve(loaded, limits=Limits(generations=5), engine="simulated").algorithm == "sealed"


def late_by(timing: Timing, begun: float, waits: CpuWaits, *, deadline: float) -> float:
    """By how much a run was late, without the time that it waited for a core.

    From when it began to open its plan: what it waits there it lacks at the deadline.
    """
    waited = waits.between(begun + deadline - OPENING_SECONDS, begun + timing.seconds)
    return timing.seconds - deadline - waited


@pytest.mark.processes
def test_on_nodes_with_a_deadline_and_a_ledger(tmp_path: Path) -> None:
    seen: list[Progress] = []
    problem = generate_assignment(1, rows=12, participants=2)
    with CpuWaits() as waits:
        called = time.monotonic()
        found = solve(
            problem,
            disclose="sealed",
            deadline=1.5,
            engine=EngineChoice(ledger=tmp_path / "ledger.jsonl"),
            observe=seen.append,
        )
    assert found.timing is not None
    begun = called + found.timing.set_up_seconds
    assert late_by(found.timing, begun, waits, deadline=1.5) < LATE
    assert found.timing.seconds > 1.0
    assert found.stopped == "deadline"
    # Nodes that wait for a core do as much less.
    assert found.generations >= 4 * (1 - waits.between(begun, begun + 1.5) / 1.5)
    assert max([0, *(view.generation for view in seen)]) == found.generations
    problem.check_plan(found.plan)
    entries = load_ledger(tmp_path / "ledger.jsonl")
    (entry,) = entries
    assert isinstance(entry, OpenedPlan)
    assert (entry.plan, entry.value) == (found.plan, None)


def test_a_node_that_dies_does_not_cost_the_answer(own_cluster: LocalCluster) -> None:
    problem = generate_assignment(1, rows=12, participants=2)

    killed_at = 0

    def kill_one(view: Progress) -> None:
        nonlocal killed_at
        killed_at = killed_at or view.generation
        own_cluster.kill(2)

    with CpuWaits() as waits:
        called = time.monotonic()
        found = solve(
            problem,
            disclose="sealed",
            deadline=2.5,
            engine=EngineChoice(cluster=own_cluster.folder / "cluster.toml"),
            observe=kill_one,
        )
    assert found.timing is not None
    begun = called + found.timing.set_up_seconds
    assert late_by(found.timing, begun, waits, deadline=2.5) < LATE
    assert found.generations == killed_at > 0
    assert any("node 2" in note for note in found.notes)
    problem.check_plan(found.plan)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"target": 5}, "discloses no values"),
        ({"stall": 5}, "discloses no values"),
        ({"checkpointing": Checkpointing(file="x")}, "nodes keep its state"),
        ({"engine": EngineChoice(engine="simulated", reveal_best=True)}, "opens its best plan"),
        ({"weightings": [(1, 2)]}, "needs 1 factors"),
        ({"seed": -1}, "give 0 or more"),
        ({"preset": "paper-ap"}, "settings of its own"),
        ({"algorithm": "genetic"}, "settings of its own"),
        ({"parameters": SealedParameters(parents=2), "best": "improvement"}, "with one parent"),
    ],
)
def test_what_a_sealed_search_cannot_do_is_refused(options: dict[str, object], words: str) -> None:
    given = {"engine": "simulated", **options}
    with pytest.raises(ParameterError, match=words):
        solve_with(generate_assignment(1, rows=5), disclose="sealed", **given)


def test_all_objectives_are_sealed_or_none() -> None:
    problem = generate_assignment(1, rows=5, objectives=2)
    with pytest.raises(ParameterError, match="is not sealed"):
        solve(problem, disclose={problem.objectives[0].name: "sealed"}, engine="simulated")
    public = replace(problem.objectives[1], confidential=False)
    with pytest.raises(ParameterError, match="is not sealed"):
        simulated(replace(problem, objectives=(problem.objectives[0], public)))


def test_settings_reach_the_search() -> None:
    found = simulated(
        generate_assignment(1, rows=9),
        generations=5,
        parameters=SealedParameters(block=2, cycles=3),
    )
    assert (found.parameters["block"], found.parameters["cycles"]) == (2, 3)
