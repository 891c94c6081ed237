"""Ctrl-C in a sealed run on nodes: it goes on to the least steps, and opens a plan."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest

from tacit.coordinator import SecureEngine
from tacit.local.cluster import LocalCluster
from tacit.problems import generate_assignment, generate_named
from tacit.runs import EngineChoice, Limits, Progress, solve

pytestmark = pytest.mark.processes


@pytest.mark.parametrize("in_mid_batch", [True, False])
@pytest.mark.parametrize("limits", [Limits(), Limits(deadline=300.0)])
def test_a_run_is_interrupted_as_soon_as_its_plan_may_be_opened(
    in_mid_batch: bool, limits: Limits, cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = generate_assignment(1, rows=30, participants=2)
    due, wait = [False], SecureEngine.wait

    def interrupt(_: Progress) -> None:
        if not in_mid_batch:
            raise KeyboardInterrupt
        due[0] = True

    def interrupted(engine: SecureEngine, future: Future[Any], /, *, until: float | None) -> Any:
        if due[0]:
            monkeypatch.setattr(SecureEngine, "wait", wait)
            future.cancel()
            raise KeyboardInterrupt
        return wait(engine, future, until=until)

    monkeypatch.setattr(SecureEngine, "wait", interrupted)
    choice = EngineChoice(cluster=cluster.folder / "cluster.toml")
    found = solve(problem, disclose="sealed", limits=limits, engine=choice, observe=interrupt)
    least = found.parameters["generations"] + found.parameters["least"]
    assert found.stopped == "interrupted"
    assert least <= found.generations <= found.parameters["generations"] + 42
    assert (found.proved, not found.notes) in {(True, True), (False, False)}
    problem.check_plan(found.plan)


def test_one_step_is_enough_where_no_more_were_agreed_on(cluster: LocalCluster) -> None:
    problem = generate_named("sparse", 2, rows=12)
    choice = EngineChoice(cluster=cluster.folder / "cluster.toml")
    for steps in (0, 1, 2):
        limits = Limits(generations=steps)
        found = solve(problem, disclose="sealed", limits=limits, engine=choice)
        assert found.generations == max(1, steps)
        problem.check_plan(found.plan)
