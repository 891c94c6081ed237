"""Whoever records links and takes keys later reads nothing; no mask is drawn twice."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from nacl.public import PrivateKey, SealedBox

from tacit.coordinator.evaluations import Evaluations
from tacit.errors import RefusedError
from tacit.local.cluster import LocalCluster
from tacit.problems import generate_assignment
from tacit.records.events import AgreementEnded
from tacit.records.log import check_log
from tacit.runs import EngineChoice, Limits, solve
from tests.on_nodes.agreed_cluster import SOON_THREE, AgreedCluster, populations, problem, run
from tests.on_nodes.recording_node import RecordingCluster
from tests.on_nodes.test_loss import back

pytestmark = pytest.mark.processes

HEXADECIMAL = re.compile(rb"[0-9a-f]{64}")


def possible_keys(cluster: LocalCluster, node: int) -> Iterator[bytes]:
    """Whatever in a node's files could be a secret key: all strings of 32 bytes."""
    files = [cluster.folder / f"node-{node}.key", cluster.folder / f"node-{node}.tls.key"]
    files += [path for path in data_of(cluster, node).rglob("*") if path.is_file()]
    for path in files:
        data = path.read_bytes()
        yield from (bytes.fromhex(each.decode()) for each in HEXADECIMAL.findall(data))
        yield from (data[at : at + 32] for at in range(len(data) - 31))


def data_of(cluster: LocalCluster, node: int) -> Path:
    return cluster.folder / f"node-{node}.data"


def opens(agreed: AgreedCluster, node: int, box: bytes) -> bool:
    """Whether the files of a node hold a key that opens a recorded box."""
    public = bytes.fromhex(agreed.agreement.nodes[node].sealing_key)
    for secret in set(possible_keys(agreed.cluster, node)):
        if bytes(PrivateKey(secret).public_key) == public:
            return bool(SealedBox(PrivateKey(secret)).decrypt(box))
    return False


def test_once_a_run_is_over_a_stolen_node_opens_none_of_its_boxes(
    fresh_cluster: LocalCluster,
) -> None:
    agreed = AgreedCluster.draft(fresh_cluster, problem(best="improvement"))
    recorded = agreed.sealed()[0]
    plans = populations(3)
    folder = agreed.folder_at(0)

    async def work() -> None:
        async with agreed.coordinator() as coordinator:
            rows = [recorded, *agreed.sealed()[1:]]
            await coordinator.start(agreed.signatures, rows, within=60)
            evaluations = Evaluations(coordinator, 0)
            await evaluations.evaluate(plans[0], until=None)
            # In the middle of a run, a node that restarts still opens its inputs.
            fresh_cluster.kill(0)
            fresh_cluster.restart(0)
            await evaluations.evaluate(plans[1], until=None)
            assert (folder / "best-0").exists()
            assert opens(agreed, 0, recorded.boxes[0]), "else the attack proves nothing"
            await coordinator.end_agreement(within=60)
            with pytest.raises(RefusedError, match="the agreement has ended"):
                await evaluations.evaluate(plans[2], until=None)

    run(work())
    for node in range(3):
        assert not opens(agreed, node, recorded.boxes[node])
    kept = {path.name for path in folder.iterdir()}
    told = {"contribution-0", "peer-heads"}
    assert kept - told == {
        *("agreement.json", "signatures", "inputs", "log.jsonl", "lease", "ended")
    }
    assert not list((folder / "inputs").iterdir())

    fresh_cluster.kill(0)
    fresh_cluster.restart(0)

    async def look_again() -> None:
        async with agreed.coordinator() as coordinator:
            await coordinator.start_agreement(agreed.signatures, within=60)
            with pytest.raises(RefusedError, match="the agreement has ended"):
                await coordinator.epoch()
            await coordinator.end_agreement(within=60)
            nonce = b"n" * 16
            for node, page in enumerate(await coordinator.fetch_logs(nonce)):
                events = check_log(
                    agreed.agreement,
                    node,
                    page.log,
                    nonce=nonce,
                    seconds=page.seconds,
                    signature=page.signature,
                )
                assert [event.why for event in events if isinstance(event, AgreementEnded)] == [
                    "the platform says that the run is over"
                ]

    run(look_again())


def test_solve_on_nodes_elsewhere_leaves_no_inputs_there(cluster: LocalCluster) -> None:
    before = set(cluster.folder.glob("node-*.data/*/inputs"))
    solve(
        generate_assignment(1, rows=6, participants=2),
        disclose="order",
        limits=Limits(generations=2),
        engine=EngineChoice(cluster=cluster.folder / "cluster.toml"),
    )
    places = set(cluster.folder.glob("node-*.data/*/inputs")) - before
    assert len(places) == 3
    until = time.monotonic() + 60
    while any(list(place.iterdir()) for place in places):
        assert time.monotonic() < until
        time.sleep(0.02)


def test_no_mask_is_drawn_twice_over_a_kill_and_a_return() -> None:
    plans = populations(4)
    cluster = RecordingCluster(nodes=4, chosen_populations=True)
    with cluster:
        agreed = AgreedCluster.draft(cluster, problem("top:3", "improvement"), **SOON_THREE)
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
