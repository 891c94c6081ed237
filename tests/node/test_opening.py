"""A node opens a plan for its owners: it binds itself first, and believes no peer alone."""

from __future__ import annotations

import asyncio
import secrets
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from tacit.agreement.plan_parts import PlanHeads
from tacit.errors import PeerTimeoutError, RefusedError
from tacit.local.engine import all_sign
from tacit.mpc import ArithmeticShare
from tacit.node import opening
from tacit.node.agreement_state import AgreementState
from tacit.node.opening import (
    bind_for_peer,
    confirm_binding,
    differing,
    open_for_owners,
    sealed_parts,
)
from tacit.node.sealed_progress import KeptState, PlanBoxes, SealedProgress, StoredParts
from tacit.node.store import Store
from tacit.records.events import PlanSealed, Sent
from tacit.records.ledger import HeardBoxes
from tacit.records.messages import OpenPlan
from tacit.records.peer_messages import Bind, Bound
from tacit.records.requests import NO_ATTEMPT, Attempt
from tests.on_nodes.agreed_cluster import run
from tests.on_nodes.owners_cast import OwnersCast, owners_cast

ATTEMPT = Attempt("9:1:1")


class Cluster:
    """The states of all nodes after a search, each on its own disk, and no links."""

    def __init__(self, folder: Path, nodes: int) -> None:
        self.cast: OwnersCast = owners_cast(nodes)
        shares = self.cast.shares()
        keys = {c: secrets.token_bytes(32) for c in range(nodes)}
        self.kept: list[KeptState] = []
        self.held: list[AgreementState] = []
        for node in range(nodes):
            with_value = {
                c: np.concatenate([np.zeros(2, dtype=part.dtype), part])
                for c, part in shares[node].parts.items()
            }
            plan = ArithmeticShare(with_value)
            state = [plan]
            mine = {c: keys[c] for c in with_value}
            self.kept.append(KeptState(9, ATTEMPT, state, mine))
            self.held.append(self.restarted(folder / str(node), node))

    def restarted(self, folder: Path, node: int) -> AgreementState:
        """The node as it starts, with what is on its disk."""
        agreement = self.cast.agreement
        signatures = all_sign(agreement, self.cast.participants)
        store = Store.create(folder, agreement, signatures)
        return AgreementState(store, node=node, key=X25519PrivateKey.generate())

    def node(self, number: int, peers: dict[int, Any] | None = None) -> Any:
        return SimpleNamespace(
            number=number,
            name=f"node {number}",
            own_keys=SimpleNamespace(signing=lambda _: self.cast.nodes[number].signing),
            agreement_states={self.held[number].hash: self.held[number]},
            peers=SimpleNamespace(lines=lambda: peers or {}),
            note=lambda _: None,
        )

    async def heads(self, number: int) -> PlanHeads:
        parts = await sealed_parts(self.node(number), self.held[number], 0, self.kept[number])
        return parts.sealed.heads

    async def opened(self, number: int, peers: dict[int, PlanHeads | None]) -> None:
        """Open at one node, whose peers say this."""
        lines = {peer: SaysThis(Bound(1, ATTEMPT, heads)) for peer, heads in peers.items()}
        held = self.held[number]
        request = OpenPlan(agreement=held.hash, search=0, attempt=ATTEMPT)
        await open_for_owners(self.node(number, lines), held, request, self.kept[number])


class SaysThis:
    """A link to a peer that is bound to something."""

    def __init__(self, said: Bound) -> None:
        self.said = said

    async def bind(self, *_: object, **__: object) -> Bound:
        return self.said


def events(held: AgreementState) -> list[str]:
    return [event.name for event in held.store.log.recent()]


def other(heads: PlanHeads, place: int) -> PlanHeads:
    roots = [*heads.commitments]
    roots[place] = "00" * 32
    return msgspec.structs.replace(heads, commitments=roots)


def test_boxes_are_released_once_enough_others_are_bound_to_the_same(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, 3)

    async def work() -> None:
        second = await cluster.heads(1)
        await cluster.opened(0, {1: second, 2: None})
        assert events(cluster.held[0]) == ["sealed plan", "sent"]
        log = cluster.held[0].store.log.recent()
        (sealed,) = [each for each in log if isinstance(each, PlanSealed)]
        (released,) = [each for each in log if isinstance(each, Sent)]
        assert released.known == HeardBoxes([sealed.boxes, second.boxes, ""])

    run(work())


@pytest.mark.parametrize("nodes", [3, 4])
def test_nothing_is_released_where_a_holder_is_bound_to_other_numbers(
    tmp_path: Path, nodes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "EPOCH_SECONDS", 0.1)
    cluster = Cluster(tmp_path, nodes)
    context = cluster.cast.context

    async def work() -> None:
        ours, theirs = await cluster.heads(0), await cluster.heads(1)
        common = [c for c in context.held_by(1) if c in context.held_by(0)]
        assert differing(context, ours, 0, theirs, 1) is None
        for component in common:
            lie = other(theirs, context.held_by(1).index(component))
            assert differing(context, ours, 0, lie, 1) == component
            with pytest.raises(PeerTimeoutError, match=f"node 1.*component {component}"):
                await cluster.opened(0, {1: lie})
        with pytest.raises(PeerTimeoutError, match="has not sealed its part"):
            await cluster.opened(0, {1: None})
        assert differing(context, ours, 0, PlanHeads([], ""), 1) is not None
        assert events(cluster.held[0]) == ["sealed plan"]
        # What only the other holds is none of our business, and one that lies is outvoted.
        (alone,) = set(context.held_by(1)) - set(common)
        strange = other(theirs, context.held_by(1).index(alone))
        assert differing(context, ours, 0, strange, 1) is None
        liar = other(await cluster.heads(nodes - 1), 0)
        honest = {peer: await cluster.heads(peer) for peer in range(1, nodes - 1)}
        await cluster.opened(0, {**honest, nodes - 1: liar})
        assert events(cluster.held[0]) == ["sealed plan", "sent"]

    run(work())


def test_boxes_are_the_same_after_a_crash_at_any_point(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, 3)

    async def work() -> None:
        first = await sealed_parts(cluster.node(0), cluster.held[0], 0, cluster.kept[0])
        # After the boxes are on the disk and in the log.
        cluster.held[0] = cluster.restarted(tmp_path / "0", 0)
        again = await sealed_parts(cluster.node(0), cluster.held[0], 0, cluster.kept[0])
        assert again == first
        assert events(cluster.held[0]) == ["sealed plan"]
        assert cluster.held[0].plan_boxes[0].released(ATTEMPT) is None
        await cluster.opened(0, {1: await cluster.heads(1)})
        cluster.held[0] = cluster.restarted(tmp_path / "0", 0)
        assert cluster.held[0].plan_boxes[0].released(ATTEMPT) == first
        assert cluster.held[0].plan_boxes[0].released(Attempt("8:1:1")) is None
        # Boxes that the log names and nobody has any more are not sealed anew.
        cluster.held[0].store.erase_states()
        cluster.held[0] = cluster.restarted(tmp_path / "0", 0)
        assert cluster.held[0].plan_boxes[0].released(ATTEMPT) == first
        (cluster.held[0].store.folder / "parts-0").unlink()
        cluster.held[0] = cluster.restarted(tmp_path / "0", 0)
        with pytest.raises(RefusedError, match="in the log and gone from the disk"):
            await cluster.heads(0)

    run(work())


def test_whoever_is_cancelled_leaves_the_boxes_that_the_log_names(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, 3)

    async def work() -> None:
        sealing = asyncio.ensure_future(cluster.heads(0))
        await asyncio.sleep(0)
        sealing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sealing
        held = cluster.held[0]
        (named,) = [each for each in held.store.log.recent() if isinstance(each, PlanSealed)]
        assert (await cluster.heads(0)).boxes == named.boxes
        cluster.held[0] = cluster.restarted(tmp_path / "0", 0)
        assert (await cluster.heads(0)).boxes == named.boxes

    run(work())


def test_boxes_that_were_changed_on_the_disk_are_not_released(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, 3)

    async def work() -> None:
        await cluster.heads(0)
        store = cluster.held[0].store
        data = store.load_parts(0)
        assert data is not None
        stored = msgspec.msgpack.decode(data)
        stored["sealed"]["boxes"][0] = bytes(8)
        store.save_parts(0, msgspec.msgpack.encode(stored))
        changed = PlanBoxes(store, 0)

        def never() -> StoredParts:
            raise AssertionError("they are there")

        with pytest.raises(RefusedError, match="not those that the log names"):
            await changed.sealed(ATTEMPT, never)
        with pytest.raises(RefusedError, match="of another plan of this search"):
            await changed.sealed(Attempt("8:1:1"), never)

    run(work())


def test_a_peer_hears_what_binds_us_to_our_boxes(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, 3)

    async def work() -> None:
        held = cluster.held[2]
        await held.searches[0].keep(cluster.kept[2])
        for attempt, answered in (("4:1:1", NO_ATTEMPT), (ATTEMPT, ATTEMPT)):
            asked = Bind(5, held.hash, 0, Attempt(attempt))
            said = await bind_for_peer(cluster.node(2), asked, "node 1")
            assert (said.number, said.attempt) == (5, answered)
            assert said.heads == (None if answered == NO_ATTEMPT else await cluster.heads(2))
        assert events(held) == ["open plan", "sealed plan"]
        kept = SealedProgress(held.store, (0,)).state(ATTEMPT)
        assert kept.plan_keys == cluster.kept[2].plan_keys

    run(work())


def test_a_peer_that_comes_over_several_links_confirms_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "EPOCH_SECONDS", 0.5)
    cluster = Cluster(tmp_path, 4)

    class EverNew(dict[int, SaysThis]):
        """Node 3 opens one link after the other."""

        def items(self) -> Any:
            return {3: SaysThis(Bound(1, ATTEMPT))}.items()

    async def work() -> None:
        held = cluster.held[0]
        node = cluster.node(0)
        node.peers.lines = EverNew
        with pytest.raises(PeerTimeoutError, match="did not confirm"):
            await confirm_binding(node, held, 0, ATTEMPT)

    asyncio.run(work())
