"""Sealed boxes and manifests that are not what they should be, sent to real nodes."""

from __future__ import annotations

import secrets
import time
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace as changed
from nacl.public import PublicKey, SealedBox

from tacit.engine.agreement import agreement_hash, canonical
from tacit.engine.cast import example_cast, participant_keys
from tacit.engine.coordinator import Coordinator
from tacit.engine.evaluations import Evaluations
from tacit.engine.local_cluster import LocalCluster
from tacit.engine.messages import Agree, Submit
from tacit.engine.node_client import NodeClient
from tacit.engine.sealing import (
    Manifest,
    SealedRows,
    _Body,
    _Contents,
    box_hash,
    open_box,
    read_manifest,
    seal_rows,
)
from tacit.engine.signatures import sign, sign_agreement
from tacit.errors import RefusedError
from tests.engine.trio import Trio, ask, outcomes, populations, run

SET_UP = 20.0


def submit_error(trio: Trio, rows: SealedRows, *, node: int = 0) -> str:
    """What a node says to a submission."""

    async def attack() -> str:
        async with trio.coordinator() as coordinator:
            await coordinator._connect()
            await outcomes(
                coordinator.clients,
                lambda client: Agree(
                    id=client.new_id(),
                    agreement=canonical(trio.agreement),
                    signatures=trio.signatures,
                ),
            )
            client = coordinator.clients[node]
            with pytest.raises(RefusedError) as refusal:
                await ask(
                    client,
                    Submit(
                        id=client.new_id(),
                        agreement=agreement_hash(trio.agreement),
                        manifest=rows.manifest,
                        signature=rows.signature,
                        box=rows.boxes[node],
                    ),
                )
            # Nothing is lost: the honest rows are still taken, and all works.
            await coordinator.start(trio.signatures, trio.sealed(), within=SET_UP)
            return refusal.value.reason

    reason = run(attack())
    assert reason in trio.refusals(node)
    return reason


def with_boxes(trio: Trio, who: str, boxes: list[bytes]) -> SealedRows:
    """An honest manifest about these boxes."""
    digest = agreement_hash(trio.agreement).hex()
    told = msgspec.json.encode(
        Manifest(digest, who, 0, [box_hash(box) for box in boxes]), order="sorted"
    )
    return SealedRows(tuple(boxes), told, sign(trio.keys[who], "manifest", told))


def box_with(trio: Trio, who: str, *, signer: str | None = None, **changes: Any) -> list[bytes]:
    """Three boxes that differ from honest ones in one thing."""
    rows = trio.agreement.rows_of(who, 0)
    boxes = []
    for node in range(3):
        part = secrets.token_bytes(8 * len(rows) * 6)
        honest = _Body(agreement_hash(trio.agreement), who, 0, rows, node, bytes(32), part, part)
        body = msgspec.msgpack.encode(changed(honest, **changes))
        signature = sign(trio.keys[signer or who], "box", body)
        sealed = msgspec.msgpack.encode(_Contents(body, signature))
        to = PublicKey(bytes.fromhex(trio.agreement.nodes[node].sealing_key))
        boxes.append(SealedBox(to).encrypt(sealed))
    return boxes


def test_a_box_of_another_agreement_is_refused(cluster: LocalCluster) -> None:
    trio = Trio.draft(cluster)
    who = next(iter(trio.keys))
    # The same participant, the same keys, an earlier agreement: a replay.
    earlier = replace(trio, agreement=changed(trio.agreement, nonce="ab" * 16))
    replayed = earlier.seal(who)
    assert "another agreement" in submit_error(trio, replayed)
    trio = Trio.draft(cluster)
    earlier = replace(trio, agreement=changed(trio.agreement, nonce="ab" * 16))
    rebound = with_boxes(trio, who, list(earlier.seal(who).boxes))
    assert "another agreement" in submit_error(trio, rebound)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"node": 2}, "another node"),
        ({"objective": 1}, "another node, objective or participant"),
        ({"participant": "somebody"}, "another node, objective or participant"),
        ({"rows": [0]}, "other rows"),
        ({"mine": b"short"}, "does not hold"),
    ],
)
def test_a_rebound_box_is_refused(
    cluster: LocalCluster, changes: dict[str, Any], reason: str
) -> None:
    trio = Trio.draft(cluster)
    who = next(iter(trio.keys))
    assert reason in submit_error(trio, with_boxes(trio, who, box_with(trio, who, **changes)))


def test_truncated_and_foreign_boxes_are_refused(cluster: LocalCluster) -> None:
    trio = Trio.draft(cluster)
    who = next(iter(trio.keys))
    honest = trio.seal(who)
    cut = with_boxes(trio, who, [box[:-5] for box in honest.boxes])
    assert "does not open" in submit_error(trio, cut)
    trio = Trio.draft(cluster)
    honest = trio.seal(who)
    first, second, third = honest.boxes
    assert "does not open" in submit_error(trio, with_boxes(trio, who, [second, first, third]))


def test_unsigned_boxes_and_manifests_are_refused(cluster: LocalCluster) -> None:
    trio = Trio.draft(cluster)
    who, other = trio.keys
    boxes = box_with(trio, who, signer=other)
    assert "not signed by" in submit_error(trio, with_boxes(trio, who, boxes))
    trio = Trio.draft(cluster)
    honest = trio.seal(who)
    unsigned = SealedRows(honest.boxes, honest.manifest, bytes(64))
    assert "manifest is not signed" in submit_error(trio, unsigned)
    trio = Trio.draft(cluster)
    other_boxes = with_boxes(trio, who, [b"1", b"2", b"3"])
    swapped = SealedRows(trio.seal(who).boxes, other_boxes.manifest, other_boxes.signature)
    assert "not the one that the manifest" in submit_error(trio, swapped)


def test_a_participant_cannot_be_substituted(cluster: LocalCluster) -> None:
    """The platform puts its own key in a participant's place: nobody else signed that."""
    trio = Trio.draft(cluster)
    victim = next(iter(trio.keys))
    fake = participant_keys([victim])[victim]
    public = fake.public_key().public_bytes_raw().hex()
    participants = [
        changed(each, signing_key=public) if each.name == victim else each
        for each in trio.agreement.participants
    ]
    forged = changed(trio.agreement, participants=participants)
    signatures = {**trio.signatures, victim: sign_agreement(forged, fake)}

    async def attack() -> str:
        async with trio.coordinator() as coordinator:
            await coordinator._connect()
            client = coordinator.clients[1]
            with pytest.raises(RefusedError) as refusal:
                await ask(
                    client,
                    Agree(id=client.new_id(), agreement=canonical(forged), signatures=signatures),
                )
            return refusal.value.reason

    assert "has not signed" in run(attack())
    assert any("has not signed" in str(e.get("reason")) for e in trio.node_log(1))


def test_an_agreement_with_other_nodes_or_platform_is_refused(cluster: LocalCluster) -> None:
    trio = Trio.draft(cluster)
    nodes = trio.agreement.nodes
    for forged, reason in (
        (changed(trio.agreement, platform="ab" * 32), "another platform"),
        (
            changed(trio.agreement, nodes=[*nodes[:2], changed(nodes[2], certificate="cd" * 32)]),
            "another certificate",
        ),
        (
            changed(trio.agreement, nodes=[changed(nodes[0], sealing_key="ef" * 32), *nodes[1:]]),
            "other keys",
        ),
    ):
        other = replace(trio, agreement=forged)

        async def attack(other: Trio = other) -> str:
            async with other.coordinator() as coordinator:
                await coordinator._connect()
                client = coordinator.clients[0]
                with pytest.raises(RefusedError) as refusal:
                    await ask(
                        client,
                        Agree(
                            id=client.new_id(),
                            agreement=canonical(other.agreement),
                            signatures=other.signatures,
                        ),
                    )
                return refusal.value.reason

        assert reason in run(attack())


def _submit_own(coordinator: Coordinator, version: list[SealedRows], client: NodeClient) -> Submit:
    return coordinator._submit(version[client.number], client)


async def set_up(trio: Trio, submissions: list[list[SealedRows]]) -> None:
    """Hand each node its own version of the sealed rows, then have them prepared."""
    async with trio.coordinator() as coordinator:
        await coordinator.start_agreement(trio.signatures, within=SET_UP)
        for version in submissions:
            await outcomes(
                coordinator.clients,
                partial(_submit_own, coordinator, version),
            )
        await coordinator.prepare(0, until=time.monotonic() + SET_UP)


def test_a_manifest_that_differs_between_nodes_is_refused(cluster: LocalCluster) -> None:
    trio = Trio.draft(cluster)
    who, other = trio.keys
    one, two, rest = trio.seal(who), trio.seal(who), trio.seal(other)
    with pytest.raises(RefusedError, match="manifests here and at"):
        run(set_up(trio, [[one, one, two], [rest] * 3]))
    refusals = [each for node in range(3) for each in trio.refusals(node)]
    assert any("manifests here and at" in each for each in refusals)


def test_inconsistent_shares_are_refused(cluster: LocalCluster) -> None:
    trio = Trio.draft(cluster)
    who, other = trio.keys
    # One manifest, honestly signed, over parts that do not belong together.
    wrong = with_boxes(trio, who, box_with(trio, who))
    with pytest.raises(RefusedError, match="common shares here and at"):
        run(set_up(trio, [[wrong] * 3, [trio.seal(other)] * 3]))


@pytest.mark.parametrize("weight", [1001, -1, 2**63 - 1, -(2**63)])
def test_a_weight_out_of_range_is_found_and_can_be_corrected(
    cluster: LocalCluster, weight: int
) -> None:
    trio = Trio.draft(cluster)
    who, other = trio.keys
    weights = trio.problem.objectives[0].weights
    assert weights is not None
    bad = weights.copy()
    bad[trio.agreement.rows_of(who, 0)[0], 2] = weight
    with pytest.raises(RefusedError, match=f"a weight of '{who}' for .* is outside 0..1000"):
        run(set_up(trio, [[trio.seal(who, weights=bad)] * 3, [trio.seal(other)] * 3]))
    assert [e["participant"] for e in trio.log(1) if e["event"] == "out of range"] == [who]

    async def go_on() -> list[int]:
        async with trio.coordinator() as coordinator:
            await coordinator.start(trio.signatures, [trio.seal(who)], within=SET_UP)
            told = await Evaluations(coordinator, 0).evaluate(populations(1)[0], until=None)
            return [int(label) for label in told.outcome.labels]

    expected = trio.problem.objectives[0].disclosure.disclose(
        trio.problem.fitness(0, populations(1)[0])
    )
    assert run(go_on()) == expected.tolist()


def test_inputs_are_sealed_once_and_frozen_by_the_check(cluster: LocalCluster) -> None:
    trio = Trio.draft(cluster)
    who, other = trio.keys

    async def attack() -> None:
        async with trio.coordinator() as coordinator:
            await coordinator.start_agreement(trio.signatures, within=SET_UP)
            first, second = trio.seal(who), trio.seal(who)
            for rows, refused in ((first, False), (first, False), (second, True)):
                replies = await outcomes(
                    coordinator.clients,
                    partial(coordinator._submit, rows),
                )
                assert all(isinstance(each, RefusedError) is refused for each in replies)
            await outcomes(
                coordinator.clients,
                partial(coordinator._submit, trio.seal(other)),
            )
            await coordinator.prepare(0, until=time.monotonic() + SET_UP)
            replies = await outcomes(coordinator.clients, partial(coordinator._submit, second))
            assert all("frozen" in str(each) for each in replies)

    run(attack())


def test_a_box_says_nothing_of_the_weights() -> None:
    """Each node's part alone is uniformly random, whatever the weights are."""
    cast = example_cast()
    weights = np.array([[1, 9], [8, 3]])
    seen = set()
    for _ in range(20):
        sealed = seal_rows(cast.agreement, "owner", 0, weights, key=cast.participants["owner"])
        manifest = read_manifest(cast.agreement, sealed.manifest, sealed.signature)
        share = open_box(cast.agreement, manifest, sealed.boxes[0], node=0, keys=cast.nodes[0])
        seen |= {int(x) for x in (*share.mine.flat, *share.next.flat)}
    assert len(seen) == 20 * 8
