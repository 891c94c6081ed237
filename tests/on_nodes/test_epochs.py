"""Epochs of one agreement: never two at a time, none twice, and no mask in common."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from tacit.coordinator.coordinator import Coordinator
from tacit.errors import MpcError, RefusedError
from tacit.local.cluster import LocalCluster
from tacit.mpc import COORDINATOR, agree_epoch, open_session
from tacit.mpc.local import run_linked
from tacit.mpc.transport import Mux
from tacit.node.agreement_state import AgreementState
from tacit.node.store import Store
from tacit.records.events import Sent
from tacit.records.messages import Computed, EpochOpened, OpenEpoch, Prepare, context_of
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
