"""Four real nodes of which one lies: what it signs proves it, and the others go on without it."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from tacit.engine.local.cluster import LocalCluster
from tacit.engine.records.events import NodeNamed, RequestFailed
from tacit.engine.wire.messages import OpenEpoch
from tacit.errors import PeerTimeoutError, RefusedError
from tests.engine.agreed_cluster import AgreedCluster, populations, problem, run
from tests.engine.lying_node import restart_lying
from tests.engine.on_nodes.test_failures import expected

pytestmark = pytest.mark.processes


@pytest.fixture
def lied_to(four: LocalCluster) -> Iterator[LocalCluster]:
    """Four nodes, of which node 0 is honest again afterwards."""
    yield four
    four.kill(0)


def test_a_node_that_is_proven_to_cheat_is_gone_on_without(lied_to: LocalCluster) -> None:
    """No leave to lose a node is needed, and no grace: the proof is enough."""
    agreed = AgreedCluster.draft(lied_to, problem("top:3", "improvement"))
    first, second, third = populations(3)

    async def evaluate() -> None:
        async with agreed.ready() as (coordinator, evaluations):
            await evaluations.evaluate(first, until=None)
            restart_lying(lied_to, 0, "pieces", 3)
            for plans in (second, third):
                told = await evaluations.evaluate(plans, until=time.monotonic() + 40)
                assert told.without == 0
                assert told.outcome.labels.tolist() == expected(agreed, plans)
            (note,) = coordinator.loss.notes
            assert note.startswith("computed by three since node 0 was proven to cheat, from ")
            # It is never let in again, by nobody.
            epoch = time.time_ns()
            request = OpenEpoch(agreement=coordinator.hash, epoch=epoch)
            for client in coordinator.clients[1:]:
                with pytest.raises(RefusedError, match="node 0 is proven to have cheated"):
                    await (await client.ask(request))

    run(evaluate())
    for node in (1, 2, 3):
        (named,) = agreed.events(node, NodeNamed)
        assert named.node == 0


def test_an_undecided_pair_is_waited_for(lied_to: LocalCluster) -> None:
    agreed = AgreedCluster.draft(lied_to, problem("top:3", "nothing"), on_loss="three")
    # So that it is not lost while it starts again.
    agreed.agreement = replace(agreed.agreement, grace_seconds=20.0)
    first, second = populations(2)

    async def evaluate() -> None:
        async with agreed.ready() as (coordinator, evaluations):
            await evaluations.evaluate(first, until=None)
            restart_lying(lied_to, 0, "hash 2", 3)
            with pytest.raises(PeerTimeoutError, match="departed from the protocol: their signed"):
                await evaluations.evaluate(second, until=time.monotonic() + 6)
            assert coordinator.loss.without is None
            assert coordinator.naming.suspects == {0, 2}

    run(evaluate())
    assert any(event.evidence for event in agreed.events(3, RequestFailed))
