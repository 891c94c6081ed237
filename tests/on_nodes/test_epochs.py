"""Epochs have no mask in common, and a node that was set back is refused."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

from tacit.coordinator.coordinator import Coordinator
from tacit.coordinator.evaluations import Evaluations
from tacit.errors import AbortError, MpcError, RefusedError
from tacit.local.cluster import LocalCluster
from tacit.mpc import COORDINATOR, agree_epoch, open_session
from tacit.mpc.local import run_linked
from tacit.mpc.transport import Mux
from tacit.node.agreement_state import AgreementState
from tacit.node.epoch_state import HeardOfLogs, PeerHeads
from tacit.node.store import Store
from tacit.records.events import AgreementBroken, EpochBegun, RequestRefused, Sent
from tacit.records.log import NOWHERE, LogHead, has_reached
from tacit.records.messages import Computed, EpochOpened, OpenEpoch, Prepare, context_of
from tacit.records.node_log import NodeLog, head_of
from tests.on_nodes.agreed_cluster import AgreedCluster, outcomes, populations, run
from tests.on_nodes.fixtures import example_cast


def test_numbers_of_epochs_only_grow_also_after_a_restart(tmp_path: Path) -> None:
    cast = example_cast()

    def agreement_state() -> AgreementState:
        store = Store.create(tmp_path, cast.agreement, cast.signatures)
        return AgreementState(store, node=0, key=cast.sealing[0])

    first = agreement_state()
    first.epochs.begin(7)
    for again in (first, agreement_state()):
        for number in (7, 6, 0):
            with pytest.raises(RefusedError, match="only grow"):
                again.epochs.begin(number)
    again.epochs.begin(8)


def test_a_message_of_another_epoch_is_not_taken() -> None:
    """The first frame between nodes that were told different epochs already fails."""

    async def party(me: int, muxes: dict[int, Mux]) -> str:
        if me == COORDINATOR:
            return ""
        epochs = {k: await agree_epoch(me, muxes, number=k) for k in (1, 2)}
        number = 1 if me == 0 else 2
        request = Prepare(agreement=bytes(32), objective=0, epoch=number, attempt=1)
        context = context_of(request, b"prepare")
        try:
            async with open_session(
                context, me=me, muxes=muxes, epoch=epochs[number], timeout=1
            ) as session:
                await session.tell(b"a word")
        except MpcError as error:
            return str(error)
        return "computed"

    assert "computed" not in run_linked(party)


async def open_epoch(coordinator: Coordinator, number: int) -> None:
    replies = await outcomes(
        coordinator.clients,
        lambda client: OpenEpoch(agreement=coordinator.hash, epoch=number),
    )
    assert all(isinstance(reply, EpochOpened) for reply in replies)


def test_epochs_swapped_between_nodes_give_nothing(cluster: LocalCluster) -> None:
    """Node 0 computes with one epoch, the others with another, and then the other way round."""
    agreed = AgreedCluster.draft(cluster)
    plans = populations(1)[0]

    async def attack() -> list[Computed | BaseException]:
        async with agreed.ready() as (coordinator, _):
            last = await coordinator.epoch()
            replies: list[Computed | BaseException] = []
            for swapped in (False, True):
                one, two = last + 1, last + 2
                last = two
                await open_epoch(coordinator, one)
                await open_epoch(coordinator, two)
                told = (two, one, one) if swapped else (one, two, two)
                replies += await outcomes(
                    coordinator.clients,
                    partial(lambda told, who: agreed.request(plans, epoch=told[who.number]), told),
                )
            return replies

    replies = run(attack())
    assert not any(isinstance(reply, Computed) for reply in replies)
    assert "the epoch has ended" in str(replies[0])
    for node in range(3):
        assert not agreed.events(node, Sent)


SET_UP = 60.0


async def evaluate_next(agreed: AgreedCluster, number: int) -> None:
    async with agreed.coordinator() as coordinator:
        await coordinator.start_agreement(agreed.signatures, within=SET_UP)
        evaluations = Evaluations(coordinator, 0)
        told = await evaluations.evaluate(populations(number)[-1], until=time.monotonic() + SET_UP)
        await evaluations.settle(until=time.monotonic() + SET_UP)
        assert told.number == number


@pytest.mark.parametrize("nodes", [[2], [0, 1]])
def test_disks_that_were_set_back_are_refused(
    fresh_cluster: LocalCluster, nodes: Sequence[int]
) -> None:
    agreed = AgreedCluster.draft(fresh_cluster)
    places = {node: agreed.folder_at(node) for node in nodes}

    copies = fresh_cluster.folder / "copies"

    def keep_copies(kind: str) -> None:
        for node, place in places.items():
            shutil.copytree(place, copies / f"{kind}-{node}")

    def put_back(kind: str) -> None:
        for node, place in places.items():
            fresh_cluster.kill(node)
            shutil.rmtree(place)
            (copies / f"{kind}-{node}").rename(place)
            fresh_cluster.restart(node)

    async def attack() -> None:
        async with agreed.ready():
            pass
        await evaluate_next(agreed, 1)
        keep_copies("old")
        await evaluate_next(agreed, 2)
        keep_copies("new")
        put_back("old")
        with pytest.raises(RefusedError, match="was set back; put the newest copy"):
            await evaluate_next(agreed, 2)
        # Whoever was set back says so in its own log.
        for node in nodes:
            assert any("disk of this node was set back" in each for each in agreed.refusals(node))
        for node in range(3):  # and all operators find it in their node's own log
            assert len([e for e in agreed.node_log(node) if isinstance(e, AgreementBroken)]) == 1
        put_back("new")
        await evaluate_next(agreed, 3)

    run(attack())


def test_every_node_remembers_both_peers(cluster: LocalCluster) -> None:
    agreed = AgreedCluster.draft(cluster)

    async def begin() -> None:
        async with agreed.ready():
            pass

    run(begin())
    folders = [agreed.folder_at(node) for node in range(3)]
    for node, folder in enumerate(folders):
        heads = PeerHeads(Store(folder))
        for peer in {0, 1, 2} - {node}:
            head = heads.remembered(peer).head
            assert head != NOWHERE
            assert has_reached(folders[peer] / "log.jsonl", head)
            # The epoch itself is in it, so nobody comes back with an older one.
            written = (folders[peer] / "log.jsonl").read_bytes()[: head.size]
            assert b'"epoch"' in written


# On files.


def test_a_log_contains_the_heads_that_it_had(tmp_path: Path) -> None:
    log = NodeLog(tmp_path / "log.jsonl")
    assert has_reached(log.path, NOWHERE)
    heads = [NOWHERE]
    for number in range(5):
        log.append(EpochBegun(number))
        heads.append(head_of(log))
        assert all(has_reached(log.path, head) for head in heads)
    data = log.path.read_bytes()
    last = heads[-1]
    assert not has_reached(log.path, LogHead(last.size - 1, last.head))
    assert not has_reached(log.path, LogHead(last.size, heads[1].head))
    assert not has_reached(log.path, LogHead(last.size + 100, last.head))
    other = tmp_path / "other.jsonl"
    other.write_bytes(data[: heads[3].size])
    assert has_reached(other, heads[3])
    assert not has_reached(other, last)
    # One that was set back and has grown since has other lines at that place.
    grown = NodeLog(other)
    grown.append(EpochBegun(9))
    grown.append(EpochBegun(9))
    assert not has_reached(other, last)


def test_lines_of_any_length_are_found(tmp_path: Path) -> None:
    log = NodeLog(tmp_path / "log.jsonl")
    for length in (1, 70_000, 200_000):
        log.append(RequestRefused("evaluate", "x" * length))
        assert has_reached(log.path, head_of(log))


def test_a_peer_is_refused_unless_it_contains_what_we_remember(tmp_path: Path) -> None:
    cast = example_cast()
    store = Store.create(tmp_path, cast.agreement, cast.signatures)
    peers = AgreementState(store, node=0, key=cast.sealing[0]).epochs.peers
    own, key, agreement = peers.own(), cast.nodes[1].signing, store.hash

    def heard(
        head: LogHead, *, contained: bool = True, ours: LogHead = own, by: int = 0
    ) -> HeardOfLogs:
        shown = ours.sign(cast.nodes[by].signing, agreement)
        return HeardOfLogs(ours, shown, head, head.sign(key, agreement), contained)

    first, second = LogHead(100, "aa" * 32), LogHead(200, "bb" * 32)
    peers.check(1, heard(first), me=0)
    peers.check(1, heard(second), me=0)
    for again in (peers, PeerHeads(Store(store.folder))):
        assert again.remembered(1).head == second
        assert again.remembered(2).head == NOWHERE
        for wrong in (heard(first), heard(LogHead(300, "cc" * 32), contained=False)):
            with pytest.raises(AbortError, match="node 1: has lost lines"):
                again.check(1, wrong, me=0)
        with pytest.raises(AbortError, match="did not sign"):
            again.check(2, heard(second), me=0)
        unknown = LogHead(own.size + 50, "dd" * 32)
        with pytest.raises(RefusedError, match="disk of this node was set back"):
            again.check(1, heard(second, ours=unknown), me=0)
        # A peer that invents it does not have our signature, and it is the peer that is named.
        with pytest.raises(AbortError, match=r"node 1: says .* cannot show this node's signature"):
            again.check(1, heard(second, ours=unknown, by=1), me=0)
        assert again.remembered(1).head == second
