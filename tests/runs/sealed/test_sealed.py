"""`solve` with sealed objectives: what it finds, what it says, and what it cannot do."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from tacit.disclosure import BestMode, Exact
from tacit.errors import ParameterError
from tacit.local.cluster import LocalCluster
from tacit.problems import (
    Problem,
    generate_assignment,
    generate_tour,
    load_problem,
    save_problem,
    shipped_problem,
)
from tacit.records import DisclosedPlan, load_ledger
from tacit.runs import Checkpointing, EngineChoice, Limits, Progress, Result
from tacit.runs.pace import OPENING_SECONDS
from tacit.runs.result import Timing
from tacit.search.moves import TourParameters
from tests.runs.flat import solve_with
from tests.support.cpu_waits import CpuWaits
from tests.support.simulated import solve

LATE = 0.1


def simulated(problem: Problem, **options: object) -> Result:
    return solve_with(problem, disclose="sealed", engine="simulated", **options)


@pytest.mark.slow
def test_a_sealed_tour_is_as_good_as_promised() -> None:
    tour = simulated(shipped_problem("kroD100"), generations=1500, seed=1)
    assert tour.percent_of_optimum is not None
    assert tour.percent_of_optimum < 104


@pytest.mark.parametrize("problem", [generate_assignment(1, rows=20), generate_tour(1, cities=20)])
def test_a_run_is_a_function_of_its_seed_and_its_schedule(problem: Problem) -> None:
    one, two = (simulated(problem, generations=12, seed=7) for _ in range(2))
    other = simulated(problem, generations=12, seed=8)
    assert one.to_json(timing=False) == two.to_json(timing=False)
    assert one.plan != other.plan
    assert sum(count for _, count, _ in one.parameters["schedule"][0]) == 12


@pytest.mark.parametrize("problem", [generate_assignment(1, rows=10), generate_tour(1, cities=9)])
def test_no_value_is_disclosed_unless_it_was_asked_for(problem: Problem) -> None:
    silent = simulated(problem, generations=12)
    assert silent.best_known.disclosed == [None]
    assert silent.history.disclosed_best == [[None]] * 12
    valued = simulated(problem, generations=12, best="value")
    assert valued.best_known.disclosed == valued.value
    assert valued.history.disclosed_best == [[None]] * 12
    assert silent.plan == valued.plan
    with pytest.raises(ParameterError, match="disclose the best value or nothing"):
        simulated(problem, best="improvement")


def test_a_tour_ends_with_its_public_length() -> None:
    for limits, stopped, generations in (
        ({"deadline": 3600.0}, "generations", 40 * 4),
        ({"deadline": 3600.0, "generations": 70}, "generations", 70),
        ({"deadline": 3600.0, "evaluations": 500}, "generations", 40 * 4),
        ({"generations": 200}, "generations", 200),
    ):
        found = simulated(generate_tour(3, cities=4), **limits)
        assert (found.stopped, found.generations) == (stopped, generations)
        assert found.proved is None


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
def test_a_tour_on_nodes_uses_its_time_and_is_not_late() -> None:
    seen: list[Progress] = []
    problem = generate_tour(1, cities=40, participants=2)
    with CpuWaits() as waits:
        called = time.monotonic()
        found = solve(problem, disclose="sealed", deadline=1.5, engine="nodes", observe=seen.append)
    assert found.timing is not None
    begun = called + found.timing.set_up_seconds
    assert late_by(found.timing, begun, waits, deadline=1.5) < LATE
    if found.stopped == "deadline":
        assert found.timing.seconds > 1.0
    else:
        assert found.generations == 40 * 40
    # Nodes that wait for a core do as much less.
    assert found.generations >= 4 * (1 - waits.between(begun, begun + 1.5) / 1.5)
    assert max([0, *(view.generation for view in seen)]) == found.generations
    problem.check_plan(found.plan)


@pytest.mark.processes
def test_an_assignment_on_nodes_ends_with_its_proof_long_before_its_deadline(
    tmp_path: Path,
) -> None:
    seen: list[Progress] = []
    problem = generate_assignment(1, rows=12, participants=2)
    found = solve(
        problem,
        disclose="sealed",
        deadline=300.0,
        engine=EngineChoice(ledger=tmp_path / "ledger.jsonl"),
        observe=seen.append,
    )
    assert (found.stopped, found.proved, found.percent_of_optimum) == ("generations", True, 100.0)
    assert found.notes == []
    assert found.timing is not None
    assert found.timing.seconds < 200
    assert [view.steps for view in seen] == [found.generations] * len(seen)
    last = seen[-1]
    assert (last.generation, last.iteration) == (found.generations, found.parameters["iterations"])
    (entry,) = load_ledger(tmp_path / "ledger.jsonl")
    assert entry.payload == DisclosedPlan(found.plan, None, "optimum")


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
        ({"parameters": TourParameters(parents=2)}, "settings of a tour"),
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
        generate_tour(1, cities=9), generations=5, parameters=TourParameters(children=9, cycles=3)
    )
    assert (found.parameters["children"], found.parameters["cycles"]) == (9, 3)
