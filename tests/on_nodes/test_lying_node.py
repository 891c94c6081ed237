"""Four real nodes of which one lies: it is noticed, and no answer comes of it."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from tacit.local.cluster import LocalCluster
from tacit.records.events import RequestFailed
from tests.on_nodes.agreed_cluster import AgreedCluster, populations, problem, run
from tests.on_nodes.deadlines import AMPLE
from tests.on_nodes.lying_node import restart_lying
from tests.on_nodes.sealed_agreed_cluster import PROBLEMS, begin, draft, sealed, twin
from tests.on_nodes.test_failures import expected
from tests.support.mending import mend

pytestmark = pytest.mark.processes


def suspects(agreed: AgreedCluster) -> list[set[str]]:
    """Whom those name who noticed that something does not fit, themselves included."""
    return [
        {event.peer, event.voucher, f"node {node}"}
        for node in range(4)
        for event in agreed.events(node, RequestFailed)
        if event.voucher
    ]


async def noticed(agreed: AgreedCluster, liar: int, asked: asyncio.Task[Any]) -> None:
    """Wait until somebody notices; whoever does suspects the liar, and nothing is answered."""
    while not suspects(agreed):
        assert not asked.done()
        await asyncio.sleep(0.1)
    await asyncio.sleep(0.5)  # the next attempt is falsified too
    assert not asked.done()
    assert all(f"node {liar}" in names for names in suspects(agreed))


def end_the_lies(cluster: LocalCluster, node: int) -> None:
    cluster.kill(node)
    mend(cluster)


@pytest.mark.parametrize(
    ("liar", "about", "to", "disclose"),
    [(0, "piece", 2, "order"), (1, "hash", 3, "top:3"), (3, "piece", 0, "above:50")],
)
def test_a_lie_in_an_evaluation_is_noticed_and_answered_by_nobody(
    four: LocalCluster, liar: int, about: str, to: int, disclose: str
) -> None:
    agreed = AgreedCluster.draft(four, problem(disclose, "nothing"))
    first, second = populations(2)

    async def evaluate() -> None:
        async with agreed.ready() as (_, evaluations):
            await evaluations.evaluate(first, until=None)
            restart_lying(four, liar, about, to)
            asked = asyncio.create_task(
                evaluations.evaluate(second, until=time.monotonic() + AMPLE)
            )
            await noticed(agreed, liar, asked)
            end_the_lies(four, liar)
            told = await asked
            assert told.payload.labels == expected(agreed, second)

    run(evaluate())


def test_a_lie_in_a_sealed_search_is_noticed_and_changes_no_plan(four: LocalCluster) -> None:
    agreed = draft(four, sealed(PROBLEMS["balanced"]()))

    async def search() -> None:
        async with agreed.coordinator() as coordinator:
            on_nodes = await begin(agreed, coordinator)
            clear = twin(agreed, on_nodes.seed)
            await on_nodes.advance(4, 8, until=None)
            restart_lying(four, 2, "piece", 1)
            asked = asyncio.create_task(on_nodes.advance(4, 8, until=time.monotonic() + AMPLE))
            await noticed(agreed, 2, asked)
            end_the_lies(four, 2)
            await asked
            clear.advance(8, horizon=8)
            assert (await on_nodes.open(until=None)).plan == clear.plan()

    run(search())
