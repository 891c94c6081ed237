"""What is frozen is what was checked, whoever crashes or submits in between."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tacit.agreement.sealing import SealedRows, box_hash, seal_rows, search_seed
from tacit.agreement.terms import agreement_hash
from tacit.coordinator.coordinator import Coordinator
from tacit.coordinator.evaluations import Evaluations
from tacit.errors import RefusedError
from tacit.local.cluster import LocalCluster
from tacit.node.agreement_state import AgreementState
from tacit.node.store import Store
from tacit.records.events import InputDropped
from tacit.records.log import frozen_inputs
from tacit.records.messages import Submit
from tests.on_nodes.agreed_cluster import AgreedCluster, ask, outcomes, populations, run
from tests.on_nodes.changed_node import ClockedCluster
from tests.on_nodes.fixtures import Cast, example_cast

SET_UP = 60.0


def seal(cast: Cast) -> SealedRows:
    weights = np.array([[1, 9], [8, 3]])
    return seal_rows(cast.agreement, "owner", 0, weights, key=cast.participants["owner"])


def submit(agreement_state: AgreementState, rows: SealedRows) -> None:
    message = Submit(
        id=1,
        agreement=agreement_state.hash,
        manifest=rows.manifest,
        signature=rows.signature,
        box=rows.boxes[0],
    )
    agreement_state.inputs.submit(message)


def test_only_what_was_checked_is_frozen(tmp_path: Path) -> None:
    cast = example_cast()
    store = Store.create(tmp_path, cast.agreement, cast.signatures)
    agreement_state = AgreementState(store, node=0, key=cast.sealing[0])
    good, bad = seal(cast), seal(cast)
    commitments = [agreement_state.inputs.commit(0).hex(), "01" * 32, "02" * 32]
    submit(agreement_state, good)
    checked = store.inputs(0)
    # A check that ran beside drops the rows, and others are submitted in their place.
    agreement_state.inputs.forget(0, "owner", box_hash(good.boxes[0]))
    submit(agreement_state, bad)
    with pytest.raises(RefusedError, match="changed while they were checked"):
        agreement_state.inputs.freeze(0, checked, commitments=commitments)
    assert not agreement_state.inputs.frozen
    # A verdict on rows that are gone does not touch those that are here.
    agreement_state.inputs.forget(0, "owner", box_hash(good.boxes[0]))
    agreement_state.inputs.freeze(0, store.inputs(0), commitments=commitments)
    again = AgreementState(Store(store.folder), node=0, key=cast.sealing[0])
    assert again.inputs.frozen == agreement_state.inputs.frozen
    assert list(again.inputs.frozen) == [0]
    # Frozen is not drawn: nothing is evaluated, and nothing is submitted in place of it either.
    assert again.inputs.ready == []
    with pytest.raises(RefusedError, match="not prepared yet"):
        again.inputs.check_frozen(0)
    with pytest.raises(RefusedError, match="are frozen"):
        submit(again, good)


def test_checks_side_by_side_end_alike(cluster: LocalCluster) -> None:
    agreed = AgreedCluster.draft(cluster)

    async def attack() -> None:
        async with agreed.coordinator() as coordinator:
            await coordinator.start_agreement(agreed.signatures, within=SET_UP)
            for rows in agreed.sealed():
                await outcomes(coordinator.clients, partial(coordinator.submission, rows))
            until = time.monotonic() + SET_UP
            await asyncio.gather(*(coordinator.prepare(0, until=until) for _ in range(3)))
            await Evaluations(coordinator, 0).evaluate(populations(1)[0], until=until)

    run(attack())
    frozen = [frozen_inputs(agreed.agreement, agreed.log(node))[0] for node in range(3)]
    # Together they drew one contribution, which nobody knew when the rows were sealed.
    assert frozen[0] == frozen[1] == frozen[2]
    assert len(bytes.fromhex(frozen[0].seed_contribution)) == 32


def test_the_seed_depends_on_what_the_nodes_drew() -> None:
    agreement = example_cast().agreement
    seeds = {search_seed(agreement, {0: "aa"}, {0: word}) for word in ("01", "02")}
    assert len(seeds) == 2


def test_a_node_that_missed_the_end_of_the_check_catches_up(own_cluster: LocalCluster) -> None:
    agreed = AgreedCluster.draft(own_cluster)

    async def set_up() -> None:
        async with agreed.ready():
            pass

    run(set_up())
    own_cluster.kill(2)
    name = agreement_hash(agreed.agreement).hex()[:32]
    path = own_cluster.folder / "node-2.data" / name / "log.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    (at,) = (i for i, line in enumerate(lines) if b'"frozen inputs"' in line)
    path.write_bytes(b"".join(lines[:at]))
    own_cluster.restart(2)

    async def go_on() -> None:
        async with agreed.ready() as (_, evaluations):
            await evaluations.evaluate(populations(1)[0], until=time.monotonic() + SET_UP)

    # Its rows are those of the first run, and the others are frozen: nothing new is needed.
    agreed.sealed = list  # type: ignore[method-assign]
    run(go_on())
    frozen = [frozen_inputs(agreed.agreement, agreed.log(node))[0] for node in range(3)]
    assert frozen[0] == frozen[1] == frozen[2]


@pytest.mark.parametrize("partly", ["missing", "other"])
def test_rows_that_differ_between_nodes_can_be_sealed_again(
    cluster: LocalCluster, partly: str
) -> None:
    """As when one node dropped rows that were out of range, and another died before it did."""
    agreed = AgreedCluster.draft(cluster)
    who, other = agreed.keys

    async def submit_to(coordinator: Coordinator, rows: SealedRows, node: int) -> None:
        client = coordinator.clients[node]
        await ask(client, coordinator.submission(rows, client))

    async def attack() -> None:
        async with agreed.coordinator() as coordinator:
            await coordinator.start_agreement(agreed.signatures, within=SET_UP)
            first, second, rest = agreed.seal(who), agreed.seal(who), agreed.seal(other)
            for node in range(3):
                await submit_to(coordinator, rest, node)
            for node in range(2):
                await submit_to(coordinator, first, node)
            if partly == "other":
                await submit_to(coordinator, second, 2)
            with pytest.raises(RefusedError, match="manifests here and at"):
                await coordinator.prepare(0, until=time.monotonic() + SET_UP)
            await coordinator.start(agreed.signatures, [agreed.seal(who)], within=SET_UP)
            await Evaluations(coordinator, 0).evaluate(
                populations(1)[0], until=time.monotonic() + SET_UP
            )

    run(attack())
    for node in range(3):
        assert [e.participant for e in agreed.events(node, InputDropped)] in (
            [[who]] if node < 2 or partly == "other" else [[]]
        )


def test_nothing_is_prepared_after_the_expiry(clocked: ClockedCluster) -> None:
    agreed = AgreedCluster.draft(clocked)

    async def attack() -> None:
        async with agreed.coordinator() as coordinator:
            await coordinator.start_agreement(agreed.signatures, within=SET_UP)
            for rows in agreed.sealed():
                await outcomes(coordinator.clients, partial(coordinator.submission, rows))
            clocked.set_ahead(agreed.agreement.limits.expires - time.time())
            with pytest.raises(RefusedError, match="expired"):
                await coordinator.prepare(0, until=time.monotonic() + SET_UP)

    run(attack())
