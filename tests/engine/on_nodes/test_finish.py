"""A search with its finish on real nodes: the twin's plan, before and after the turn."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from msgspec import structs

from tacit.engine.agreement.finished import FinishedCourse
from tacit.engine.agreement.sealed import course_of, pin_sealed
from tacit.engine.coordinator.sealed_search import Opened, SealedSearch
from tacit.engine.local.cluster import LocalCluster
from tacit.engine.records.ledger import OpenedPlan
from tacit.errors import LogError, MpcError, RefusedError
from tacit.problems import Assignment, Objective, Problem
from tacit.runs import EngineChoice, Limits, SimulatedSealedSearch, solve
from tacit.runs.sealed.searching import SealedPlan
from tacit.search.moves import SealedParameters
from tacit.search.sealed import ClearSealedSearch, value_table
from tacit.verify.sealed.generations import check_asked
from tacit.verify.sealed.opened import check_opened
from tests.engine.agreed_cluster import AgreedCluster, run
from tests.engine.on_nodes.test_loss import back
from tests.engine.sealed_agreed_cluster import SEVEN, begin, draft, sealed, start_of
from tests.support.mending import mend

pytestmark = pytest.mark.processes
SETTINGS = SealedParameters(block=4, children=20, finish=5)


def finished(
    cluster: LocalCluster, problem: Problem, best: str = "value", **changes: Any
) -> AgreedCluster:
    return draft(cluster, sealed(problem, best), search=pin_sealed(SETTINGS), **changes)


class Twin:
    """The same in the clear, from the secret start that the nodes have drawn."""

    def __init__(self, agreed: AgreedCluster, seed: int) -> None:
        problem = agreed.problem
        self._clear = SimulatedSealedSearch(problem, SETTINGS, (1,), seed=seed, stream=0)
        self._clear.twin = ClearSealedSearch(
            value_table(problem, (1,)),
            self._clear.twin.schedule,
            start_of(agreed),
            problem.sealed_items,
        )

    def opens(self, generations: int, phases: int) -> SealedPlan:
        """The plan after so many generations, in a run of 20, and phases."""
        self._clear.advance(generations, 20, until=None)
        if phases:
            self._clear.advance(phases, 20, until=None, turn=generations)
        return self._clear.open(until=None)


def same(opened: Opened, clear: SealedPlan) -> None:
    assert (opened.plan, opened.value, opened.outcome) == (clear.plan, clear.value, clear.outcome)
    assert opened.generation == clear.generation


@pytest.mark.parametrize("name", ["imbalanced", "forbidden", "capacitated"])
def test_three_nodes_find_the_plan_of_the_twin(cluster: LocalCluster, name: str) -> None:
    agreed = finished(cluster, SEVEN[name]())

    async def work() -> None:
        async with agreed.coordinator() as coordinator:
            search = await begin(agreed, coordinator)
            twin = Twin(agreed, search.seed)
            await search.advance(4, 20, until=None)
            await search.advance(2, 9, until=None, turn=4)
            await search.advance(3, 9, until=None, turn=4)
            opened = await search.open(until=None)
            assert opened.outcome == "optimum"
            same(opened, twin.opens(4, 5))

    run(work())


def test_what_is_opened_before_the_turn_is_the_plan_of_the_search(four: LocalCluster) -> None:
    agreed = finished(four, SEVEN["balanced"]())

    async def work() -> None:
        async with agreed.coordinator() as coordinator:
            search = await begin(agreed, coordinator)
            twin = Twin(agreed, search.seed)
            await search.advance(7, 20, until=None)
            opened = await search.open(until=None)
            assert opened.outcome == "feasible"
            same(opened, twin.opens(7, 0))

    run(work())


def test_words_that_the_forest_needs_wide_are_wide_from_the_start(cluster: LocalCluster) -> None:
    weights = np.random.default_rng(3).integers(0, 3_000_000, (12, 12))
    problem = Assignment(
        name="wide",
        rows=12,
        columns=12,
        objectives=(Objective("km", weights, sense="minimize", weight_bound=3_000_000),),
    )
    agreed = finished(cluster, problem)
    course = course_of(agreed.agreement, 0, seed=0)
    assert isinstance(course, FinishedCourse)
    assert course.forest.shape.word == np.uint64
    assert course.table.word == np.uint64
    assert replace(course.table, wide=False).word == np.uint32

    async def work() -> None:
        async with agreed.coordinator() as coordinator:
            search = await begin(agreed, coordinator)
            twin = Twin(agreed, search.seed)
            await search.advance(3, 20, until=None)
            await search.advance(4, 7, until=None, turn=3)
            same(await search.open(until=None), twin.opens(3, 4))

    run(work())


def test_a_killed_node_comes_back_to_the_phase_before(own_cluster: LocalCluster) -> None:
    """Once as the finish begins, once in its course; then another coordinator goes on."""
    agreed = finished(own_cluster, SEVEN["balanced"]())

    async def work() -> None:
        async with agreed.coordinator() as coordinator:
            search = await begin(agreed, coordinator)
            twin = Twin(agreed, search.seed)
            await search.advance(3, 20, until=None)
            for node in (1, 2):
                own_cluster.kill(node)
                with pytest.raises(MpcError):
                    await search.advance(1, 8, until=time.monotonic() + 1, turn=3)
                assert search.turn == 3
                mend(own_cluster)
                await search.advance(1, 8, until=time.monotonic() + 40, turn=3)
        async with agreed.coordinator() as coordinator:
            await coordinator.start_agreement(agreed.signatures, within=20)
            again = SealedSearch(coordinator, 0)
            await again.start(until=None)
            assert (again.generation, again.turn) == (5, 3)
            await again.advance(1, 8, until=None, turn=again.turn)
            same(await again.open(until=None), twin.opens(3, 3))

    run(work())


def test_a_node_that_is_back_gets_its_share_of_the_forest(four: LocalCluster) -> None:
    agreed = finished(four, SEVEN["imbalanced"](), on_loss="three")

    async def work() -> None:
        async with agreed.coordinator() as coordinator:
            search = await begin(agreed, coordinator)
            twin = Twin(agreed, search.seed)
            await search.advance(3, 20, until=None)
            four.kill(1)
            await search.advance(1, 8, until=time.monotonic() + 20, turn=3)
            four.restart(1)
            await back(coordinator)
            by_all = await search.advance(1, 8, until=time.monotonic() + 20, turn=3)
            assert (by_all.without, by_all.unchecked) == (None, True)
            same(await search.open(until=time.monotonic() + 20), twin.opens(3, 2))

    run(work())
    logs = [agreed.log(node) for node in range(4)]
    assert "same 5 generations, the last 2 of them phases" in check_asked(logs)


def test_what_contradicts_the_turn_is_refused(cluster: LocalCluster) -> None:
    agreed = finished(cluster, SEVEN["balanced"]())

    async def work() -> None:
        async with agreed.coordinator() as coordinator:
            search = await begin(agreed, coordinator)
            await search.advance(4, 20, until=None)
            await refused(search, "begins there, not at 3", count=1, turn=3)
            await refused(search, "allows 5 phases", count=6, turn=4)
            await search.advance(1, 9, until=None, turn=4)
            await refused(search, "began after generation 4", count=1, turn=None)
            await refused(search, "began after generation 4", count=1, turn=5)
            await refused(search, "allows 5 phases", count=5, turn=4)
            await search.advance(4, 9, until=None, turn=4)
            opened = await search.open(until=None)
            assert opened.outcome == "optimum"
            checked(opened)

    def checked(opened: Opened) -> None:
        """The logs show what was opened, and that nothing less was proved."""
        logs = [agreed.log(node) for node in range(3)]
        entry = OpenedPlan(0, opened.plan, opened.value, opened.parts, outcome="optimum")
        assert "only the plan was opened, as 3 parts" in check_opened(
            agreed.agreement, logs, [entry]
        )
        with pytest.raises(LogError, match="another plan than the ledger"):
            check_opened(agreed.agreement, logs, [structs.replace(entry, outcome="feasible")])

    async def refused(search: SealedSearch, why: str, *, count: int, turn: int | None) -> None:
        with pytest.raises(RefusedError, match=why):
            await search.advance(count, 9, until=None, turn=turn)
        search._batches.pop(search.generation)

    run(work())


def test_only_its_owners_get_it(four: LocalCluster) -> None:
    found = solve(
        SEVEN["balanced"](),
        disclose="sealed",
        limits=Limits(generations=6),
        settings=SETTINGS,
        engine=EngineChoice(cluster=four.folder / "cluster.toml", plan="owners"),
    )
    assert found.proved
    assert found.percent_of_optimum == 100
    assert (found.generations, found.parameters["turns"]) == (11, [6])
