"""A search with its finish on real nodes: the twin's plan, before and after the turn."""

from __future__ import annotations

from typing import Any

import pytest

from tacit.engine.agreement.sealed import pin_sealed
from tacit.engine.coordinator.sealed_search import Opened
from tacit.engine.local.cluster import LocalCluster
from tacit.problems import Problem
from tacit.runs import SimulatedSealedSearch
from tacit.runs.sealed.searching import SealedPlan
from tacit.search.moves import SealedParameters
from tacit.search.sealed import ClearSealedSearch, value_table
from tests.engine.agreed_cluster import AgreedCluster, run
from tests.engine.sealed_agreed_cluster import PROBLEMS, begin, draft, sealed, start_of

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


@pytest.mark.parametrize("name", ["balanced", "imbalanced", "forbidden", "capacitated"])
def test_three_nodes_find_the_plan_of_the_twin(cluster: LocalCluster, name: str) -> None:
    agreed = finished(cluster, PROBLEMS[name]())

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
