"""Sealed searches with several parents, on real nodes."""

from __future__ import annotations

import asyncio
import time

import pytest

from tacit.engine.local_cluster import LocalCluster
from tacit.engine.sealed_search import Opened
from tacit.engine.sealed_terms import pin_sealed
from tacit.errors import AgreementError
from tacit.search.moves import SealedParameters
from tacit.search.sealed import ClearSealedSearch
from tests.engine.sealed_trio import PROBLEMS, begin, draft, sealed, start_of, twin
from tests.engine.trio import run

SEVERAL_PARENTS = pin_sealed(SealedParameters(block=4, children=20, parents=3, meet_every=5))


@pytest.mark.parametrize("name", ["balanced", "tour"])
def test_several_parents_find_what_their_twin_finds_though_a_node_is_killed(
    own_cluster: LocalCluster, name: str
) -> None:
    trio = draft(own_cluster, sealed(PROBLEMS[name](), "value"), search=SEVERAL_PARENTS)

    async def search() -> tuple[Opened, ClearSealedSearch]:
        async with trio.coordinator() as coordinator:
            on_nodes = await begin(trio, coordinator)
            clear = twin(trio, start_of(trio), on_nodes.seed)
            await on_nodes.advance(7, 40, until=None)
            waiting = asyncio.ensure_future(on_nodes.advance(33, 40, until=time.monotonic() + 30))
            await asyncio.sleep(0.04)
            own_cluster.kill(1)
            own_cluster.restart(1)
            await waiting
            return await on_nodes.open(until=None), clear

    opened, clear = run(search())
    clear.advance(40, horizon=40)
    assert (opened.plan, opened.value) == (clear.plan().tolist(), clear.best_value)


def test_improvements_of_several_parents_are_not_told(cluster: LocalCluster) -> None:
    with pytest.raises(AgreementError, match="with one parent"):
        draft(cluster, sealed(PROBLEMS["balanced"](), "improvement"), search=SEVERAL_PARENTS)


def test_generations_that_do_not_fit_a_message_are_refused(cluster: LocalCluster) -> None:
    many = pin_sealed(SealedParameters(children=999, parents=16))
    with pytest.raises(AgreementError, match="fewer parents"):
        draft(cluster, sealed(PROBLEMS["balanced"]()), search=many)
