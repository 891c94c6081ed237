"""Sealed searches of tours on real nodes, also where nodes die or hang."""

from __future__ import annotations

import asyncio
import signal
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest

from tacit.agreement import pin_sealed
from tacit.agreement.draft import check_sealed
from tacit.agreement.terms import Ownership, PinnedSearch
from tacit.coordinator.coordinator import Coordinator
from tacit.coordinator.sealed_search import OpenedByNodes, SealedSearch
from tacit.errors import AgreementError, MpcError, PeerTimeoutError, RefusedError
from tacit.local.cluster import LocalCluster
from tacit.problems import generate_assignment
from tacit.records.messages import Advance, OpenPlan, Request
from tacit.records.payload_parts import join_parts
from tacit.records.requests import NO_ATTEMPT, Attempt
from tacit.search.moves import TourParameters
from tests.on_nodes.agreed_cluster import ask, outcomes, populations, run
from tests.on_nodes.ballots import decide
from tests.on_nodes.deadlines import AMPLE, raises_in_time, takes_at_most
from tests.on_nodes.fixtures import example_cast
from tests.on_nodes.sealed_agreed_cluster import (
    ASSIGNMENTS,
    PROBLEMS,
    Twin,
    begin,
    draft,
    sealed,
    twin,
)


@pytest.mark.parametrize(
    ("name", "best"), [*((name, "nothing") for name in PROBLEMS), ("tour", "value")]
)
def test_nodes_and_clear_search_find_the_same(cluster: LocalCluster, name: str, best: str) -> None:
    agreed = draft(cluster, sealed(PROBLEMS[name](), best))

    async def search() -> tuple[OpenedByNodes, Twin]:
        async with agreed.coordinator() as coordinator:
            on_nodes = await begin(agreed, coordinator)
            clear = twin(agreed, on_nodes.seed)
            await on_nodes.advance(7, 16, until=None)
            await on_nodes.advance(9, 16, until=None)
            return await on_nodes.open(until=None), clear

    opened, clear = run(search())
    clear.advance(16, horizon=16)
    assert (opened.plan, opened.outcome) == (clear.plan(), clear.outcome)
    assert opened.step == 16
    assert opened.value == (clear.value if best == "value" else None)
    agreed.problem.check_plan(opened.plan)


def test_each_weighting_is_a_search_of_its_own(cluster: LocalCluster) -> None:
    """Where each goes on by itself."""
    problem = sealed(generate_assignment(3, rows=8, objectives=2))
    agreed = draft(cluster, problem, replace(ASSIGNMENTS, together=1), weightings=[(3, 1), (1, 3)])

    def rows() -> list[Any]:
        from tacit.agreement.sealing import seal_rows

        return [
            seal_rows(
                agreed.agreement,
                owner.participant,
                k,
                np.asarray(problem.objectives[k].weights)[owner.rows],
                key=agreed.keys[owner.participant],
            )
            for k in range(2)
            for owner in agreed.agreement.objectives[k].owners
        ]

    async def search() -> None:
        async with agreed.coordinator() as coordinator:
            await coordinator.start(agreed.signatures, rows(), within=60)
            for number in range(2):
                on_nodes = SealedSearch(coordinator, number)
                await on_nodes.start(until=None)
                clear = twin(agreed, on_nodes.seed, number, group=number)
                await on_nodes.advance(15, 15, until=None)
                clear.advance(15, horizon=15)
                assert (await on_nodes.open(until=None)).plan == clear.plan()

    run(search())


def test_what_a_node_refuses(cluster: LocalCluster) -> None:
    agreed = draft(cluster, sealed(PROBLEMS["balanced"]()), replace(ASSIGNMENTS, iterations=40))

    async def attack() -> list[str]:
        reasons = []
        async with agreed.coordinator() as coordinator:
            search = await begin(agreed, coordinator)
            first = search._last
            await search.advance(10, 50, until=None)
            last = search._last
            epoch = await coordinator.epoch()

            async def refused(make: Callable[[Any], Request[Any]]) -> None:
                for result in await outcomes(coordinator.clients, make):
                    assert isinstance(result, RefusedError)
                    reasons.append(result.reason)
                coordinator._epoch = None
                nonlocal epoch
                epoch = await coordinator.epoch()

            def advance(**changes: Any) -> Callable[[Any], Request[Any]]:
                def make(client: Any) -> Advance:
                    honest = Advance(
                        agreement=coordinator.hash,
                        search=0,
                        first=10,
                        count=10,
                        horizon=50,
                        epoch=epoch,
                        attempt=900 + len(reasons),
                        parent_attempt=last,
                    )
                    return msgspec.structs.replace(honest, **changes)

                return make

            plans = populations(1, rows=7)[0]
            await refused(lambda c: agreed.request(plans, epoch=epoch))
            await refused(advance(search=1))
            await refused(advance(count=41))
            await refused(advance(first=0, count=0, parent_attempt=NO_ATTEMPT))
            await refused(advance(first=0, parent_attempt=first, horizon=49))
            await refused(advance(first=0, count=5, parent_attempt=first))
            await refused(advance(parent_attempt=first))
            await refused(advance(parent_attempt=Attempt("10:1:1")))
            opened = await search.open(until=None)
            assert (await search.open(until=None)).plan == opened.plan
            await refused(advance())
            await refused(lambda c: OpenPlan(agreement=coordinator.hash, search=0, attempt=first))
        return reasons[::3]

    reasons = run(attack())
    expected = [
        "is sealed: nothing of it is evaluated",
        "there is no sealed search 1",
        "allows 50 steps",
        "does not start again",
        "were begun otherwise",
        "do not follow those done before",
        "ended at step 0, not 10",
        "is not here",
        "which is its end",
        "which happens once",
    ]
    assert len(reasons) == len(expected)
    for reason, words in zip(reasons, expected, strict=True):
        assert words in reason


def test_shares_that_do_not_fit_together_are_noticed(cluster: LocalCluster) -> None:
    agreed = draft(cluster, sealed(PROBLEMS["balanced"]()))

    async def search() -> None:
        async with agreed.coordinator() as coordinator:
            on_nodes = await begin(agreed, coordinator)
            await on_nodes.advance(3, 3, until=None)
            votes = (await decide(coordinator, on_nodes._last)).votes
            dones = [
                await ask(
                    client,
                    OpenPlan(
                        agreement=coordinator.hash,
                        search=0,
                        attempt=on_nodes._last,
                        votes=votes,
                    ),
                )
                for client in coordinator.clients
            ]
            first, second, third = ([(0, done.components)] for done in dones)
            whole = join_parts(agreed.agreement, 0, [first, second, third])
            assert join_parts(agreed.agreement, 0, [first, [], third]) == whole
            mine, following = dones[1].components
            changed = bytes([mine[0] ^ 1]) + mine[1:]
            with pytest.raises(MpcError, match="opened different plans"):
                join_parts(agreed.agreement, 0, [first, [(0, [changed, following])], third])
            with pytest.raises(MpcError, match="not part of a plan"):
                join_parts(agreed.agreement, 0, [first, [(0, [b"", b""])], third])
            with pytest.raises(MpcError, match="too few parts"):
                join_parts(agreed.agreement, 0, [first, [], []])

    run(search())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"search": PinnedSearch("genetic", {}, 1)}, "pins the search 'genetic'"),
        ({"search": PinnedSearch("sealed", {}, 7)}, "seed left out"),
        ({"search": PinnedSearch("sealed", {"weightings": "1:2"}, None)}, "does not fit"),
        ({"search": PinnedSearch("sealed", {"weightings": "0"}, None)}, "not all 0"),
        ({"search": PinnedSearch("sealed", {"weightings": "1 2 1"}, None)}, "two plans of one"),
        ({"search": PinnedSearch("sealed", {"weightings": "1 2"}, None)}, "two plans of one"),
        ({"search": PinnedSearch("sealed", {"weightings": "x"}, None)}, "are wrong"),
        ({"search": PinnedSearch("sealed", {"speed": 9, "weightings": "1"}, None)}, "'speed'"),
        ({"search": PinnedSearch("sealed", {}, None)}, "0 weightings"),
        ({"reveal_best": True}, "leave reveal_best out"),
    ],
)
def test_agreements_that_make_no_sense_are_refused(
    cluster: LocalCluster, changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(AgreementError, match=words):
        draft(cluster, sealed(PROBLEMS["balanced"]()), **changes)


def test_a_scaled_weighting_is_the_same_one(cluster: LocalCluster) -> None:
    """Else one agreement would open up to 64 plans of the same weights."""
    problem = sealed(generate_assignment(3, rows=6, objectives=2))
    with pytest.raises(AgreementError, match="two plans of one"):
        draft(cluster, problem, weightings=[(2, 1), (1, 2), (6, 3)])
    draft(cluster, problem, weightings=[(2, 1), (1, 2), (6, 4), (0, 3), (5, 0)])


def test_another_coordinator_goes_on_with_what_was_begun(cluster: LocalCluster) -> None:
    agreed = draft(cluster, sealed(PROBLEMS["balanced"]()))

    async def taken_up(coordinator: Coordinator) -> SealedSearch:
        await coordinator.start_agreement(agreed.signatures, within=60)
        search = SealedSearch(coordinator, 0)
        await search.start(until=None)
        return search

    async def search() -> tuple[list[list[int]], Twin]:
        async with agreed.coordinator() as coordinator:
            first = await begin(agreed, coordinator)
            clear = twin(agreed, first.seed)
            await first.advance(20, 90, until=None)
            with pytest.raises(PeerTimeoutError):  # in mid-batch
                await first.advance(60, 80, until=time.monotonic() + 0.05)
        async with agreed.coordinator() as coordinator:
            second = await taken_up(coordinator)
            assert not second.opened
            assert second.step in (20, 80)
            if second.step == 20:
                assert (await second.advance(3, 33, until=None)).number == 80
            plans = [(await second.open(until=None)).plan]
        async with agreed.coordinator() as coordinator:
            third = await taken_up(coordinator)
            assert (third.opened, third.step) == (True, 80)
            plans.append((await third.open(until=None)).plan)
        return plans, clear

    plans, clear = run(search())
    clear.advance(20, horizon=90)
    clear.advance(60, horizon=80)
    assert plans == [clear.plan()] * 2


@pytest.mark.parametrize("all_at_once", [False, True])
def test_killed_nodes_come_back_and_the_search_goes_on(
    own_cluster: LocalCluster, all_at_once: bool
) -> None:
    settings = replace(ASSIGNMENTS, lag=int(all_at_once))
    agreed = draft(own_cluster, sealed(PROBLEMS["balanced"]()), settings)

    async def search() -> tuple[list[int], Twin]:
        async with agreed.coordinator() as coordinator:
            on_nodes = await begin(agreed, coordinator)
            clear = twin(agreed, on_nodes.seed)
            for number in range(4):
                waiting = asyncio.ensure_future(
                    on_nodes.advance(20, 80, until=time.monotonic() + AMPLE)
                )
                if number in (1, 2):  # in mid-batch
                    await asyncio.sleep(0.04 * number)
                    for node in range(3) if all_at_once else [number]:
                        own_cluster.kill(node)
                        own_cluster.restart(node)
                await waiting
            return (await on_nodes.open(until=None)).plan, clear

    plan, clear = run(search())
    clear.advance(80, horizon=80)
    assert plan == clear.plan()


def test_a_stopped_node_is_named_by_the_deadline_and_welcome_back(
    own_cluster: LocalCluster,
) -> None:
    agreed = draft(own_cluster, sealed(PROBLEMS["balanced"]()))

    async def search() -> None:
        async with agreed.coordinator() as coordinator:
            on_nodes = await begin(agreed, coordinator)
            clear = twin(agreed, on_nodes.seed)
            await on_nodes.advance(10, 60, until=None)
            await on_nodes.advance(10, 60, until=None)
            own_cluster.processes[1].send_signal(signal.SIGSTOP)
            await raises_in_time(
                lambda until: on_nodes.advance(30, 60, until=until), "node 1", seconds=0.7
            )
            own_cluster.processes[1].send_signal(signal.SIGCONT)
            # What was begun is brought to its end, whatever is asked for instead.
            done = await on_nodes.advance(5, 60, until=time.monotonic() + 60)
            assert done.number == 50
            await on_nodes.advance(10, 60, until=time.monotonic() + 60)
            clear.advance(60, horizon=60)
            assert (await on_nodes.open(until=None)).plan == clear.plan()

    run(search())


def test_a_new_coordinator_goes_on_where_the_old_one_left(cluster: LocalCluster) -> None:
    agreed = draft(cluster, sealed(PROBLEMS["tour"]()))

    async def search() -> None:
        async with agreed.coordinator() as coordinator:
            first = await begin(agreed, coordinator)
            clear = twin(agreed, first.seed)
            await first.advance(10, 30, until=None)
        async with agreed.coordinator() as coordinator:
            await coordinator.start_agreement(agreed.signatures, within=60)
            second = SealedSearch(coordinator, 0)
            await second.start(until=None)
            assert second.step == 10
            await second.advance(20, 30, until=None)
            clear.advance(30, horizon=30)
            assert (await second.open(until=None)).plan == clear.plan()

    run(search())


@pytest.mark.parametrize("node", [0, 1, 2])
def test_two_nodes_open_what_all_three_found(own_cluster: LocalCluster, node: int) -> None:
    agreed = draft(own_cluster, sealed(PROBLEMS["balanced"]()))

    async def search() -> None:
        async with agreed.coordinator() as coordinator:
            on_nodes = await begin(agreed, coordinator)
            clear = twin(agreed, on_nodes.seed)
            await on_nodes.advance(10, 20, until=None)
            own_cluster.kill(node)
            await raises_in_time(
                lambda until: on_nodes.advance(10, 20, until=until), f"node {node}", seconds=0.6
            )
            with takes_at_most(2.0):
                opened = await on_nodes.open(until=time.monotonic() + AMPLE)
            assert opened.step == 10
            clear.advance(10, horizon=20)
            assert opened.plan == clear.plan()
            # One node alone opens nothing.
            own_cluster.kill((node + 1) % 3)
            with pytest.raises(MpcError):
                await on_nodes.open(until=time.monotonic() + 0.5)

    run(search())


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
    huge = msgspec.structs.replace(
        agreement,
        objectives=[
            msgspec.structs.replace(agreement.objectives[0], owners=owners, **sealed_terms)
        ],
        problem=msgspec.structs.replace(
            agreement.problem, kind="tour", rows=60_000, columns=60_000
        ),
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
