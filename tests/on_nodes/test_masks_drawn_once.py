"""Over kills in mid-evaluation, a loss and a return, no node draws a mask twice."""

from __future__ import annotations

import asyncio
import time

import pytest

from tests.on_nodes.agreed_cluster import AgreedCluster, populations, problem, run
from tests.on_nodes.recording_node import RecordingCluster
from tests.on_nodes.test_loss import back

pytestmark = pytest.mark.processes


def test_no_mask_is_drawn_twice_over_a_kill_and_a_return() -> None:
    plans = populations(4)
    cluster = RecordingCluster(nodes=4, chosen_populations=True)
    with cluster:
        agreed = AgreedCluster.draft(cluster, problem("top:3", "improvement"), on_loss="three")
        record = cluster.folder / "node-2.masks"

        async def evaluate() -> None:
            async with agreed.ready() as (coordinator, evaluations):
                await evaluations.evaluate(plans[0], until=None)
                size = record.stat().st_size
                work = evaluations.evaluate(plans[1], until=time.monotonic() + 120)
                killed = asyncio.ensure_future(work)
                while record.stat().st_size == size:
                    await asyncio.sleep(0)
                cluster.kill(2)
                await killed
                told = await evaluations.evaluate(plans[2], until=time.monotonic() + 120)
                assert told.without == 2
                cluster.restart(2)
                await back(coordinator)
                told = await evaluations.evaluate(plans[3], until=time.monotonic() + 120)
                assert told.unchecked

        run(evaluate())
        drawn = cluster.masks_drawn()
    assert drawn.repeated() == 0
    epochs = {each.partition(":")[0] for said in drawn.purposes.values() for each in said}
    assert len(epochs) >= 3
    assert len(drawn.draws) > 500
