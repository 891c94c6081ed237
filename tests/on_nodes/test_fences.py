"""Of several processes of a platform, nodes serve the one that took a run over last."""

from __future__ import annotations

import asyncio

import pytest

from tacit.coordinator import Coordinator
from tacit.coordinator.node_client import clients_of
from tacit.coordinator.secure import SecureEngine, SecureObjective
from tacit.errors import RefusedError
from tacit.local.cluster import LocalCluster
from tacit.records.events import EvaluationBegun
from tacit.records.messages import RefusalKind
from tests.on_nodes.agreed_cluster import AgreedCluster, populations

pytestmark = pytest.mark.processes
AMPLE = 60.0


def refused(agreed: AgreedCluster, engine: SecureEngine) -> bool:
    with pytest.raises(RefusedError) as caught:
        engine.enter(agreed.signatures, within=AMPLE)
    return caught.value.kind == RefusalKind.FENCED


def test_whoever_resumes_is_known_by_its_fence_at_once(own_cluster: LocalCluster) -> None:
    agreed = AgreedCluster.draft(own_cluster)
    config, agreement = own_cluster.config, agreed.agreement
    with SecureEngine(agreement, config, fence=7) as first:
        first.start(agreed.signatures, agreed.sealed())

    async def resume(fence: int) -> None:
        coordinator = Coordinator(agreement, clients_of(config), fence=fence)
        try:
            await coordinator.start_agreement(agreed.signatures, within=AMPLE, resumes=True)
        finally:
            await coordinator.close()

    # The agreement is all that it has asked about when the one before wakes up.
    asyncio.run(resume(8))
    with pytest.raises(RefusedError) as caught:
        asyncio.run(resume(7))
    assert caught.value.kind == RefusalKind.FENCED


def test_whoever_was_taken_over_from_can_ask_nothing(own_cluster: LocalCluster) -> None:
    agreed = AgreedCluster.draft(own_cluster)
    first_plans, second_plans, third_plans = populations(3)
    config, agreement = own_cluster.config, agreed.agreement
    with (
        SecureEngine(agreement, config, fence=7) as first,
        SecureEngine(agreement, config, fence=8) as second,
    ):
        first.start(agreed.signatures, agreed.sealed())
        evaluator = SecureObjective(first, 0)
        evaluator.evaluate(first_plans, until=None)
        # The first one is suspended now, and its links live on.
        second.enter(agreed.signatures, within=AMPLE)
        second.evaluations(0).go_on_after(1, first_plans)
        SecureObjective(second, 0).evaluate(second_plans, until=None)
        with pytest.raises(RefusedError) as caught:
            evaluator.evaluate(third_plans, until=None)
        assert caught.value.kind == RefusalKind.FENCED
        assert refused(agreed, first)
    # On links that it makes anew, too, and after a restart of the nodes.
    for node in range(3):
        own_cluster.kill(node)
        own_cluster.restart(node)
    with SecureEngine(agreement, config, fence=7) as woken:
        assert refused(agreed, woken)
    for node in range(3):
        assert [event.number for event in agreed.events(node, EvaluationBegun)] == [1, 2]
