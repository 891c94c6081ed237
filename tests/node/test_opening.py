"""A node opens a plan for its owners: once enough others are bound to the same components."""

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
from tacit.node.agreement_state import AgreementState
from tacit.node.opening import open_for_owners, open_plan
from tacit.node.plan_boxes import PlanBoxes, StoredParts, differing, sealed_parts
from tacit.node.sealed_progress import KeptState
from tacit.node.store import Store
from tacit.records.ballots import Phase, Subject, SubjectKind, Vote, heads_digest
from tacit.records.events import PlanSealed, Sent
from tacit.records.ledger import HeardBoxes
from tacit.records.messages import OpenPlan
from tacit.records.recording_mux import sent_digest
from tacit.records.requests import Attempt
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

    def node(self, number: int) -> Any:
        return SimpleNamespace(
            number=number,
            name=f"node {number}",
            own_keys=SimpleNamespace(signing=lambda _: self.cast.nodes[number].signing),
        )

    async def heads(self, number: int) -> PlanHeads:
        parts = await sealed_parts(self.node(number), self.held[number], 0, self.kept[number])
        return parts.sealed.heads

    def vote(self, number: int, heads: PlanHeads | None) -> bytes:
        """A node's vote by which it is bound to the plan."""
        subject = Subject(SubjectKind.PLAN, 0)
        digest = "" if heads is None else heads_digest([heads])
        vote = Vote(number, subject, 0, Phase.BOUND, ATTEMPT, heads=digest)
        return vote.sign(self.cast.nodes[number].signing, self.held[number].hash)

    async def opened(self, number: int, peers: dict[int, PlanHeads | None]) -> None:
        """Open at one node, whose peers have voted so."""
        held = self.held[number]
        request = OpenPlan(
            agreement=held.hash,
            search=0,
            attempt=ATTEMPT,
            votes=[self.vote(peer, heads) for peer, heads in peers.items()],
            heads={peer: [heads] for peer, heads in peers.items() if heads is not None},
        )
        await open_for_owners(self.node(number), held, request, self.kept[number])


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
    tmp_path: Path, nodes: int
) -> None:
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
        stored[0]["sealed"]["boxes"][0] = bytes(8)
        store.save_parts(0, msgspec.msgpack.encode(stored))
        changed = PlanBoxes(store, 0)

        def never() -> StoredParts:
            raise AssertionError("they are there")

        with pytest.raises(RefusedError, match="not those that the log names"):
            await changed.sealed(ATTEMPT, never)

    run(work())


def test_heads_that_a_node_did_not_sign_count_for_nothing(tmp_path: Path) -> None:
    """The platform brings them, and could put others in their place."""
    cluster = Cluster(tmp_path, 3)

    async def work() -> None:
        held, theirs = cluster.held[0], await cluster.heads(1)
        request = OpenPlan(
            agreement=held.hash,
            search=0,
            attempt=ATTEMPT,
            votes=[cluster.vote(1, theirs)],
            heads={1: [other(theirs, 0)]},
        )
        with pytest.raises(PeerTimeoutError, match="has not sealed its part"):
            await open_for_owners(cluster.node(0), held, request, cluster.kept[0])

    run(work())


def test_the_boxes_of_a_state_are_sealed_once_also_if_another_was_in_between(
    tmp_path: Path,
) -> None:
    """Ballots may bind a node to one state, then to another, then to the first again."""
    cluster = Cluster(tmp_path, 3)

    async def work() -> None:
        held, kept = cluster.held[0], cluster.kept[0]
        first = await sealed_parts(cluster.node(0), held, 0, kept)
        later = KeptState(10, Attempt("10:1:1"), kept.shares, kept.plan_keys)
        second = await sealed_parts(cluster.node(0), held, 0, later)
        assert second.sealed.heads != first.sealed.heads
        assert await sealed_parts(cluster.node(0), held, 0, kept) == first
        again = cluster.restarted(tmp_path / "0", 0)
        assert await sealed_parts(cluster.node(0), again, 0, kept) == first
        assert await sealed_parts(cluster.node(0), again, 0, later) == second
        assert events(again) == ["sealed plan"] * 2
        again.plan_boxes[0].release(second, [])
        (left,) = msgspec.msgpack.decode(again.store.load_parts(0) or b"")
        assert left["attempt"] == later.attempt
        for each in (again, cluster.restarted(tmp_path / "0", 0)):
            assert each.plan_boxes[0].released(ATTEMPT) is None
            assert each.plan_boxes[0].released(later.attempt) == second
            with pytest.raises(RefusedError, match="of another plan of this search"):
                await sealed_parts(cluster.node(0), each, 0, kept)

    run(work())


class ForEverybody:
    """One node of four, with two states that it could open a plan of."""

    def __init__(self, folder: Path) -> None:
        self.cast = owners_cast(4, plan_for="everybody")
        agreement = self.cast.agreement
        store = Store.create(folder, agreement, all_sign(agreement, self.cast.participants))
        self.held = AgreementState(store, node=0, key=X25519PrivateKey.generate())
        self.held.inputs.seed_contributions[0] = "00"
        words = np.zeros(8, dtype=np.uint32)
        shares = [ArithmeticShare(dict.fromkeys((1, 2, 3), words))]
        states = [KeptState(at.number, at, shares, {}) for at in (EARLIER, ATTEMPT)]
        self.held.searches[0]._kept = states

    async def opened(self, attempt: Attempt, *, bound: list[int], to: Attempt) -> Any:
        subject = Subject(SubjectKind.PLAN, 0)
        votes = [
            Vote(node, subject, 0, Phase.BOUND, to).sign(
                self.cast.nodes[node].signing, self.held.hash
            )
            for node in bound
        ]
        request = OpenPlan(
            agreement=self.held.hash, search=0, attempt=attempt, votes=votes, heads={}
        )
        return await open_plan(SimpleNamespace(number=0), self.held, request)  # type: ignore[arg-type]


EARLIER = Attempt("8:1:1")


def test_a_part_leaves_by_the_votes_of_a_quorum_and_with_a_line(tmp_path: Path) -> None:
    async def work() -> None:
        node = ForEverybody(tmp_path)
        for attempt, bound in ((EARLIER, [1, 2, 3]), (ATTEMPT, [1, 2])):
            with pytest.raises(RefusedError, match="no quorum is bound to this state"):
                await node.opened(attempt, bound=bound, to=ATTEMPT)
        opened = await node.opened(ATTEMPT, bound=[1, 2, 3], to=ATTEMPT)
        *_, line = node.held.store.log.recent()
        assert isinstance(line, Sent)
        assert line.digest == sent_digest(bytes.fromhex(line.salt), [(0, opened.components)])
        with pytest.raises(RefusedError, match="another plan of this search was opened"):
            await node.opened(EARLIER, bound=[1, 2, 3], to=EARLIER)

    run(work())


def test_no_part_leaves_before_the_run_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        node = ForEverybody(tmp_path)

        def not_yet() -> None:
            raise RefusedError("the node", "the run is not counted yet")

        monkeypatch.setattr(node.held, "check_counted", not_yet)
        with pytest.raises(RefusedError, match="not counted yet"):
            await node.opened(ATTEMPT, bound=[1, 2, 3], to=ATTEMPT)
        assert not any(isinstance(each, Sent) for each in node.held.store.log.recent())

    run(work())
