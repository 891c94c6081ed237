"""Sealed searches of tours with several parents, on real nodes."""

from __future__ import annotations

import asyncio
import signal
import time
import tracemalloc

import pytest
from msgspec.structs import replace

from tacit.agreement import pin_sealed
from tacit.agreement.draft import check_sealed
from tacit.agreement.terms import Ownership
from tacit.coordinator.sealed_search import OpenedByNodes
from tacit.errors import AgreementError
from tacit.local.cluster import LocalCluster
from tacit.search.moves import TourParameters
from tests.on_nodes.agreed_cluster import run
from tests.on_nodes.fixtures import example_cast
from tests.on_nodes.sealed_agreed_cluster import PROBLEMS, Twin, begin, draft, sealed, twin

SEVERAL_PARENTS = TourParameters(children=20, parents=3, meet_every=1)


def test_several_parents_find_what_their_twin_finds_though_a_node_is_killed(
    own_cluster: LocalCluster,
) -> None:
    agreed = draft(own_cluster, sealed(PROBLEMS["tour"](), "value"), SEVERAL_PARENTS)

    async def search() -> tuple[OpenedByNodes, Twin]:
        async with agreed.coordinator() as coordinator:
            on_nodes = await begin(agreed, coordinator)
            clear = twin(agreed, on_nodes.seed)
            await on_nodes.advance(3, 9, until=None)
            # Stopped before and killed meanwhile, so that it dies in mid-batch for sure.
            own_cluster.processes[1].send_signal(signal.SIGSTOP)
            waiting = asyncio.ensure_future(on_nodes.advance(6, 9, until=time.monotonic() + 120))
            await asyncio.sleep(0.05)
            own_cluster.kill(1)
            own_cluster.restart(1)
            await waiting
            return await on_nodes.open(until=None), clear

    opened, clear = run(search())
    clear.advance(9, horizon=9)
    assert (opened.plan, opened.value) == (clear.plan(), clear.value)


def test_what_does_not_fit_a_message_is_refused_without_making_it() -> None:
    """Anybody may send a node an agreement, so checking one must cost little."""
    agreement = example_cast().agreement
    sealed_terms = {"disclosure": "sealed", "best": "nothing"}
    owners = [Ownership("owner", list(range(60_000)))]
    huge = replace(
        agreement,
        objectives=[replace(agreement.objectives[0], owners=owners, **sealed_terms)],
        problem=replace(agreement.problem, kind="tour", rows=60_000, columns=60_000),
        search=pin_sealed(TourParameters(children=999, parents=16)),
        reveal_best=False,
    )
    tracemalloc.start()
    try:
        with pytest.raises(AgreementError, match="fewer parents"):
            check_sealed(huge)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 5_000_000
