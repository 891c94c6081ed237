"""Sealed boxes and manifests that are not what they should be, sent to real nodes."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace as changed
from nacl.public import PublicKey, SealedBox

from tacit.agreement.sealing import (
    Manifest,
    SealedRows,
    _Body,
    _component_hash,
    _Contents,
    box_hash,
    open_box,
    read_manifest,
    seal_rows,
)
from tacit.agreement.signatures import sign, sign_agreement
from tacit.agreement.terms import agreement_hash, canonical
from tacit.coordinator.coordinator import Coordinator
from tacit.coordinator.evaluations import Evaluations
from tacit.coordinator.node_client import NodeClient
from tacit.errors import RefusedError
from tacit.local.cluster import LocalCluster
from tacit.local.engine import participant_keys
from tacit.records.events import InputDropped
from tacit.records.messages import Agree, Submit
from tests.on_nodes.agreed_cluster import AgreedCluster, ask, outcomes, populations, run
from tests.on_nodes.fixtures import example_cast

SET_UP = 60.0
SALT = b"s" * 32


def submit_error(agreed: AgreedCluster, rows: SealedRows, *, node: int = 0) -> str:
    """What a node says to a submission."""

    async def attack() -> str:
        async with agreed.coordinator() as coordinator:
            await coordinator.loss.connect(everybody=True)
            await outcomes(
                coordinator.clients,
                lambda client: agreed.agree_request(),
            )
            client = coordinator.clients[node]
            with pytest.raises(RefusedError) as refusal:
                await ask(
                    client,
                    Submit(
                        agreement=agreement_hash(agreed.agreement),
                        manifest=rows.manifest,
                        signature=rows.signature,
                        box=rows.boxes[node],
                    ),
                )
            # Nothing is lost: the honest rows are still taken, and all works.
            await coordinator.start(agreed.signatures, agreed.sealed(), within=SET_UP)
            return refusal.value.reason

    reason = run(attack())
    assert reason in agreed.refusals(node)
    return reason


def with_boxes(agreed: AgreedCluster, who: str, boxes: list[bytes]) -> SealedRows:
    """An honest manifest about these boxes, as if the parts in them were those it names."""
    digest = agreement_hash(agreed.agreement).hex()
    parts = [_component_hash(SALT, part_of(agreed, who))] * len(boxes)
    told = msgspec.json.encode(
        Manifest(digest, who, 0, [box_hash(box) for box in boxes], parts, 1), order="sorted"
    )
    return SealedRows(tuple(boxes), told, sign(agreed.keys[who], "manifest", told))


def part_of(agreed: AgreedCluster, who: str) -> bytes:
    return bytes(8 * len(agreed.agreement.rows_of(who, 0)) * 6)


def box_with(
    agreed: AgreedCluster, who: str, *, signer: str | None = None, **changes: Any
) -> list[bytes]:
    """Boxes that differ from honest ones in one thing."""
    rows = agreed.agreement.rows_of(who, 0)
    boxes = []
    nodes = len(agreed.agreement.nodes)
    for node in range(nodes):
        parts, salts = [part_of(agreed, who)] * (nodes - 1), [SALT] * (nodes - 1)
        honest = _Body(agreement_hash(agreed.agreement), who, 0, rows, node, parts, salts)
        body = msgspec.msgpack.encode(changed(honest, **changes))
        signature = sign(agreed.keys[signer or who], "box", body)
        sealed = msgspec.msgpack.encode(_Contents(body, signature))
        to = PublicKey(bytes.fromhex(agreed.agreement.nodes[node].sealing_key))
        boxes.append(SealedBox(to).encrypt(sealed))
    return boxes


def test_a_box_of_another_agreement_is_refused(cluster: LocalCluster) -> None:
    agreed = AgreedCluster.draft(cluster)
    who = next(iter(agreed.keys))
    # The same participant, the same keys, an earlier agreement: a replay.
    earlier = replace(agreed, agreement=changed(agreed.agreement, nonce="ab" * 16))
    replayed = earlier.seal(who)
    assert "another agreement" in submit_error(agreed, replayed)
    agreed = AgreedCluster.draft(cluster)
    earlier = replace(agreed, agreement=changed(agreed.agreement, nonce="ab" * 16))
    rebound = with_boxes(agreed, who, list(earlier.seal(who).boxes))
    assert "another agreement" in submit_error(agreed, rebound)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"node": 2}, "another node"),
        ({"objective": 1}, "another node, objective or participant"),
        ({"participant": "somebody"}, "another node, objective or participant"),
        ({"rows": [0]}, "other rows"),
        ({"components": [b"short", b"short"]}, "does not hold"),
        ({"components": []}, "does not hold"),
        ({"salts": []}, "does not hold"),
        ({"salts": [bytes(32), SALT]}, "other shares than its manifest names"),
        ({"salts": [SALT, bytes(32)]}, "other shares than its manifest names"),
    ],
)
def test_a_rebound_box_is_refused(
    cluster: LocalCluster, changes: dict[str, Any], reason: str
) -> None:
    agreed = AgreedCluster.draft(cluster)
    who = next(iter(agreed.keys))
    assert reason in submit_error(agreed, with_boxes(agreed, who, box_with(agreed, who, **changes)))


def test_truncated_and_foreign_boxes_are_refused(cluster: LocalCluster) -> None:
    agreed = AgreedCluster.draft(cluster)
    who = next(iter(agreed.keys))
    honest = agreed.seal(who)
    cut = with_boxes(agreed, who, [box[:-5] for box in honest.boxes])
    assert "does not open" in submit_error(agreed, cut)
    agreed = AgreedCluster.draft(cluster)
    honest = agreed.seal(who)
    first, second, third = honest.boxes
    assert "does not open" in submit_error(agreed, with_boxes(agreed, who, [second, first, third]))


def test_unsigned_boxes_and_manifests_are_refused(cluster: LocalCluster) -> None:
    agreed = AgreedCluster.draft(cluster)
    who, other = agreed.keys
    boxes = box_with(agreed, who, signer=other)
    assert "not signed by" in submit_error(agreed, with_boxes(agreed, who, boxes))
    agreed = AgreedCluster.draft(cluster)
    honest = agreed.seal(who)
    unsigned = SealedRows(honest.boxes, honest.manifest, bytes(64))
    assert "manifest is not signed" in submit_error(agreed, unsigned)
    agreed = AgreedCluster.draft(cluster)
    other_boxes = with_boxes(agreed, who, [b"1", b"2", b"3"])
    swapped = SealedRows(agreed.seal(who).boxes, other_boxes.manifest, other_boxes.signature)
    assert "not the one that the manifest" in submit_error(agreed, swapped)


def test_a_participant_cannot_be_substituted(cluster: LocalCluster) -> None:
    """The platform puts its own key in a participant's place: nobody else signed that."""
    agreed = AgreedCluster.draft(cluster)
    victim = next(iter(agreed.keys))
    fake = participant_keys([victim])[victim]
    public = fake.public_key().public_bytes_raw().hex()
    participants = [
        changed(each, signing_key=public) if each.name == victim else each
        for each in agreed.agreement.participants
    ]
    forged = changed(agreed.agreement, participants=participants)
    signatures = {**agreed.signatures, victim: sign_agreement(forged, fake)}

    async def attack() -> str:
        async with agreed.coordinator() as coordinator:
            await coordinator.loss.connect(everybody=True)
            client = coordinator.clients[1]
            with pytest.raises(RefusedError) as refusal:
                await ask(
                    client,
                    Agree(agreement=canonical(forged), signatures=signatures),
                )
            return refusal.value.reason

    assert "has not signed" in run(attack())
    assert any("has not signed" in getattr(e, "reason", "") for e in agreed.node_log(1))


def test_an_agreement_with_other_nodes_or_platform_is_refused(cluster: LocalCluster) -> None:
    agreed = AgreedCluster.draft(cluster)
    nodes = agreed.agreement.nodes
    for forged, reason in (
        (changed(agreed.agreement, platform="ab" * 32), "another platform"),
        (
            changed(agreed.agreement, nodes=[*nodes[:2], changed(nodes[2], certificate="cd" * 32)]),
            "another certificate",
        ),
        (
            changed(agreed.agreement, nodes=[changed(nodes[0], sealing_key="ef" * 32), *nodes[1:]]),
            "not signed by the node",
        ),
    ):
        other = replace(agreed, agreement=forged)

        async def attack(other: AgreedCluster = other) -> str:
            async with other.coordinator() as coordinator:
                await coordinator.loss.connect(everybody=True)
                client = coordinator.clients[0]
                with pytest.raises(RefusedError) as refusal:
                    await ask(
                        client,
                        other.agree_request(),
                    )
                return refusal.value.reason

        assert reason in run(attack())


def _submit_own(coordinator: Coordinator, version: list[SealedRows], client: NodeClient) -> Submit:
    return coordinator.submission(version[client.number], client)


async def set_up(agreed: AgreedCluster, submissions: list[list[SealedRows]]) -> None:
    """Hand each node its own version of the sealed rows, then have them prepared."""
    async with agreed.coordinator() as coordinator:
        await coordinator.start_agreement(agreed.signatures, within=SET_UP)
        for version in submissions:
            await outcomes(
                coordinator.clients,
                partial(_submit_own, coordinator, version),
            )
        await coordinator.prepare(0, until=time.monotonic() + SET_UP)


def test_a_manifest_that_differs_between_nodes_is_refused(cluster: LocalCluster) -> None:
    agreed = AgreedCluster.draft(cluster)
    who, other = agreed.keys
    one, two, rest = agreed.seal(who), agreed.seal(who), agreed.seal(other)
    with pytest.raises(RefusedError, match="manifests here and at"):
        run(set_up(agreed, [[one, one, two], [rest] * 3]))
    refusals = [each for node in range(3) for each in agreed.refusals(node)]
    assert any("manifests here and at" in each for each in refusals)


@pytest.mark.parametrize("node", [0, 2])
def test_shares_that_do_not_fit_are_refused_by_a_node_alone(
    cluster: LocalCluster, node: int
) -> None:
    """One manifest, honestly signed, and in one box a component that it does not name."""
    agreed = AgreedCluster.draft(cluster)
    who = next(iter(agreed.keys))
    honest, parts = box_with(agreed, who), [part_of(agreed, who)] * 2
    parts[node and 1] = b"1" + parts[0][1:]
    honest[node] = box_with(agreed, who, components=parts)[node]
    wrong = with_boxes(agreed, who, honest)
    assert "other shares than its manifest names" in submit_error(agreed, wrong, node=node)


@pytest.mark.parametrize("weight", [1001, -1, 2**63 - 1, -(2**63)])
def test_a_weight_out_of_range_is_found_and_can_be_corrected(
    cluster: LocalCluster, weight: int
) -> None:
    agreed = AgreedCluster.draft(cluster)
    who, other = agreed.keys
    weights = agreed.problem.objectives[0].weights
    assert weights is not None
    bad = weights.copy()
    bad[agreed.agreement.rows_of(who, 0)[0], 2] = weight
    with pytest.raises(RefusedError, match=f"a weight of '{who}' for .* is outside 0..1000"):
        run(set_up(agreed, [[agreed.seal(who, weights=bad)] * 3, [agreed.seal(other)] * 3]))
    assert [e.participant for e in agreed.events(1, InputDropped)] == [who]

    async def go_on() -> list[int]:
        async with agreed.coordinator() as coordinator:
            await coordinator.start(agreed.signatures, [agreed.seal(who)], within=SET_UP)
            told = await Evaluations(coordinator, 0).evaluate(populations(1)[0], until=None)
            return told.payload.labels

    expected = agreed.problem.objectives[0].disclosure.disclose(
        agreed.problem.fitness(0, populations(1)[0])
    )
    assert run(go_on()) == expected.tolist()


def test_inputs_are_sealed_once_and_frozen_by_the_check(cluster: LocalCluster) -> None:
    agreed = AgreedCluster.draft(cluster)
    who, other = agreed.keys

    async def attack() -> None:
        async with agreed.coordinator() as coordinator:
            await coordinator.start_agreement(agreed.signatures, within=SET_UP)
            first, second = agreed.seal(who), agreed.seal(who)
            for rows, refused in ((first, False), (first, False), (second, True)):
                replies = await outcomes(
                    coordinator.clients,
                    partial(coordinator.submission, rows),
                )
                assert all(isinstance(each, RefusedError) is refused for each in replies)
            await outcomes(
                coordinator.clients,
                partial(coordinator.submission, agreed.seal(other)),
            )
            await coordinator.prepare(0, until=time.monotonic() + SET_UP)
            replies = await outcomes(coordinator.clients, partial(coordinator.submission, second))
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
        share = open_box(cast.agreement, manifest, sealed.boxes[0], node=0, key=cast.sealing[0])
        seen |= {int(x) for part in share.parts.values() for x in part.flat}
    assert len(seen) == 20 * 8
