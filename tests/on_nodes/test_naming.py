"""Four real nodes of which one lies: what it signs proves it, and the others go on without it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from tacit.errors import PeerTimeoutError, RefusedError
from tacit.local.cluster import LocalCluster
from tacit.records.events import NodeNamed, RequestFailed
from tacit.records.ledger import Disclosed
from tacit.records.messages import OpenEpoch
from tacit.verify import check_evidence, describe_loss
from tacit.verify.disclosed import check_answers
from tests.on_nodes.agreed_cluster import AgreedCluster, populations, problem, run
from tests.on_nodes.deadlines import AMPLE
from tests.on_nodes.lying_node import restart_lying
from tests.on_nodes.sealed_agreed_cluster import PROBLEMS, begin, draft, sealed, twin
from tests.on_nodes.test_failures import expected

pytestmark = pytest.mark.processes


@pytest.fixture
def lied_to(four: LocalCluster) -> Iterator[LocalCluster]:
    """Four nodes, of which node 0 is honest again afterwards."""
    yield four
    four.kill(0)


def test_a_node_that_is_proven_to_cheat_is_gone_on_without(lied_to: LocalCluster) -> None:
    """No leave to lose a node is needed, and no grace: the proof is enough."""
    agreed = AgreedCluster.draft(lied_to, problem("top:3", "improvement"))
    plans = populations(3)
    ledger: list[Disclosed] = []

    async def evaluate() -> None:
        async with agreed.ready() as (coordinator, evaluations):
            ledger.append((await evaluations.evaluate(plans[0], until=None)).entry(0))
            restart_lying(lied_to, 0, "pieces", 3)
            for each in plans[1:]:
                told = await evaluations.evaluate(each, until=time.monotonic() + AMPLE)
                assert told.without == 0
                assert told.payload.labels == expected(agreed, each)
                ledger.append(told.entry(0))
            await evaluations.settle(until=None)
            (note,) = coordinator.loss.notes
            assert note.startswith("computed by three since node 0 was proven to cheat, from ")
            # It is never let in again, by nobody.
            request = OpenEpoch(agreement=coordinator.hash, epoch=time.time_ns())
            for client in coordinator.clients[1:]:
                with pytest.raises(RefusedError, match="node 0 is proven to have cheated"):
                    await (await client.ask(request))
        async with agreed.coordinator() as again:
            await again.start_agreement(agreed.signatures, within=60)
            await again.epoch()
            assert again.loss.without == 0

    run(evaluate())
    logs = [agreed.log(node) for node in range(4)]
    assert [[e.node for e in log if isinstance(e, NodeNamed)] for log in logs] == [
        [],
        [0],
        [0],
        [0],
    ]
    assert check_evidence(agreed.agreement, logs).startswith("node 0 departed from the protocol")
    assert check_answers(agreed.agreement, logs, ledger).counts == (3, 0)
    assert describe_loss(logs) == "computed by three since node 0 was proven to cheat"


def test_a_sealed_search_goes_on_without_a_node_that_cheats(lied_to: LocalCluster) -> None:
    agreed = draft(lied_to, sealed(PROBLEMS["balanced"]()))

    async def search() -> None:
        async with agreed.coordinator() as coordinator:
            on_nodes = await begin(agreed, coordinator)
            clear = twin(agreed, on_nodes.seed)
            await on_nodes.advance(4, 8, until=None)
            restart_lying(lied_to, 0, "pieces", 3)
            await on_nodes.advance(4, 8, until=time.monotonic() + AMPLE)
            assert coordinator.loss.without == 0
            clear.advance(8, horizon=8)
            opened = await on_nodes.open(until=time.monotonic() + 60)
            assert opened.plan == clear.plan()
            assert opened.entry.parts[0] == []

    run(search())


def test_an_undecided_pair_is_waited_for(lied_to: LocalCluster) -> None:
    agreed = AgreedCluster.draft(lied_to, problem("top:3", "nothing"), on_loss="three")
    # So that it is not lost while it starts again.
    agreed.agreement = replace(agreed.agreement, grace_seconds=AMPLE)
    first, second = populations(2)

    async def evaluate() -> None:
        async with agreed.ready() as (coordinator, evaluations):
            await evaluations.evaluate(first, until=None)
            restart_lying(lied_to, 0, "hash 2", 3)
            asked = asyncio.create_task(evaluations.evaluate(second, until=None))
            async with asyncio.timeout(AMPLE):
                while coordinator.naming.suspects != {0, 2}:
                    await asyncio.sleep(0.02)
            asked.cancel()
            await asyncio.gather(asked, return_exceptions=True)
            with pytest.raises(PeerTimeoutError, match="departed from the protocol: their signed"):
                await evaluations.evaluate(second, until=time.monotonic() + 1)
            assert coordinator.loss.without is None
            assert coordinator.naming.suspects == {0, 2}

    run(evaluate())
    assert any(event.evidence for event in agreed.events(3, RequestFailed))
