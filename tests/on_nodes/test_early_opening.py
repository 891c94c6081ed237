"""Real nodes open no plan of an assignment early, whatever the platform asks for."""

from __future__ import annotations

import pytest

from tacit.coordinator.coordinator import Coordinator
from tacit.coordinator.sealed_search import SealedSearch
from tacit.errors import RefusedError
from tacit.records.events import PlanBound
from tacit.records.messages import OpenPlan
from tacit.search.moves import AssignmentParameters
from tests.on_nodes.agreed_cluster import AgreedCluster, outcomes, run
from tests.on_nodes.changed_node import ClockedCluster
from tests.on_nodes.sealed_agreed_cluster import PROBLEMS, assignment_twin, begin, draft, sealed
from tests.support.mending import mend

pytestmark = pytest.mark.processes
SETTINGS = AssignmentParameters(iterations=12, least=4, seconds=1000)


async def refused_by_all(
    agreed: AgreedCluster, coordinator: Coordinator, search: SealedSearch
) -> None:
    """No node opens what there is, nor is it bound to it, whoever else is asked."""
    request = OpenPlan(agreement=coordinator.hash, search=0, attempt=search._last)
    for client in coordinator.clients:
        await client.disconnect()  # one of them may just have been killed
        await client.connect()
    for answer in await outcomes(coordinator.clients, lambda _: request):
        assert isinstance(answer, RefusedError)
        assert "no plan is opened before 4 unless the deadline has come" in str(answer)
    assert not any(agreed.events(node, PlanBound) for node in range(3))


def test_a_plan_is_opened_after_few_steps_only_when_time_is_over(
    clocked: ClockedCluster,
) -> None:
    agreed = draft(clocked, sealed(PROBLEMS["forbidden"]()), SETTINGS)

    async def work() -> None:
        async with agreed.coordinator() as coordinator:
            search = await begin(agreed, coordinator)
            clear = assignment_twin(agreed, search.seed)
            await refused_by_all(agreed, coordinator, search)
            await search.advance(1, 12, until=None)
            clocked.kill(1)
            mend(clocked)
            for seconds in (0, 700, -5000):
                clocked.set_ahead(seconds)
                await refused_by_all(agreed, coordinator, search)
            clocked.set_ahead(850)
            opened = await search.open(until=None)
            clear.advance(1)
            assert (opened.plan, opened.step) == (clear.plan(), 1)

    run(work())


def test_a_plan_is_opened_after_the_least_iterations_at_any_time(clocked: ClockedCluster) -> None:
    agreed = draft(clocked, sealed(PROBLEMS["forbidden"]()), SETTINGS)

    async def work() -> None:
        async with agreed.coordinator() as coordinator:
            search = await begin(agreed, coordinator)
            await search.advance(3, 12, until=None)
            await refused_by_all(agreed, coordinator, search)
            await search.advance(1, 12, until=None)
            assert (await search.open(until=None)).outcome == "optimum"

    run(work())
