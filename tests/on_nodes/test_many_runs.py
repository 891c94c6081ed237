"""Many more runs than a node keeps places for, one after the other.

`make many-runs` has 500 of them with 50 places; `make test` fewer of both.
"""

from __future__ import annotations

import os

import pytest

from tacit.coordinator.evaluations import Evaluations
from tacit.errors import RefusedError
from tacit.identity.config import load_node_config
from tacit.local.cluster import LocalCluster
from tacit.node import rooms_on_disk
from tacit.records.events import AgreementEnded
from tacit.records.log import verify_log
from tacit.records.messages import RefusalKind
from tests.on_nodes.agreed_cluster import AgreedCluster, populations, run
from tests.support.mending import mend

pytestmark = pytest.mark.processes

RUNS = int(os.environ.get("TACIT_MANY_RUNS", "10"))
PLACES = max(2, RUNS // 10)


async def short_run(agreed: AgreedCluster) -> None:
    """All of a run: agree, submit, prepare, evaluate, and say that it is over."""
    async with agreed.coordinator() as coordinator:
        await coordinator.start(agreed.signatures, agreed.sealed(), within=60)
        await Evaluations(coordinator, 0).evaluate(populations(1)[0], until=None)
        await coordinator.end_agreement(within=60)


async def log_of(agreed: AgreedCluster) -> bytes:
    async with agreed.coordinator() as coordinator:
        await coordinator.start_agreement(agreed.signatures, within=60)
        return (await coordinator.fetch_logs())[0].log


def test_runs_follow_each_other_for_as_long_as_the_disk_has_room() -> None:
    with LocalCluster(chosen_populations=True) as cluster:
        for node in range(3):
            path = cluster.folder / f"node-{node}.toml"
            cluster.kill(node)
            path.write_text(f"most_agreements = {PLACES}\n{path.read_text()}")
        mend(cluster)
        first = AgreedCluster.draft(cluster)
        run(short_run(first))
        for _ in range(RUNS - 1):
            run(short_run(AgreedCluster.draft(cluster)))
        # The last places are taken by drafts, and the next one is refused before anybody signs.
        drafts = [AgreedCluster.draft(cluster) for _ in range(PLACES)]
        with pytest.raises(RefusedError) as refused:
            AgreedCluster.draft(cluster)
        assert refused.value.kind == RefusalKind.FULL
        run(short_run(drafts[0]))
        AgreedCluster.draft(cluster)
        # After a restart as well, nothing of what has ended is missing, or in the way.
        cluster.kill(0)
        mend(cluster)
        (room,) = rooms_on_disk(load_node_config(cluster.folder / "node-0.toml")).values()
        assert (room.drafted, room.open, room.ended) == (PLACES, 0, RUNS + 1)
        events = verify_log(run(log_of(first)))
        assert isinstance(events[-1], AgreementEnded)
