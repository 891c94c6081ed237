"""Sealed searches on real nodes: the clear search's plan, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest

from tacit.agreement.terms import PinnedSearch
from tacit.coordinator.sealed_search import OpenedByNodes, SealedSearch
from tacit.errors import AgreementError, MpcError, RefusedError
from tacit.local.cluster import LocalCluster
from tacit.problems import generate_assignment
from tacit.records.messages import Advance, OpenPlan, Request
from tacit.records.payload_parts import join_parts
from tacit.records.requests import NO_ATTEMPT, Attempt
from tests.on_nodes.agreed_cluster import ask, outcomes, populations, run
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
            dones = [
                await ask(
                    client,
                    OpenPlan(
                        agreement=coordinator.hash,
                        search=0,
                        attempt=on_nodes._last,
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
        ({"search": PinnedSearch("sealed", {"weightings": "1 2 1"}, None)}, "same weighting"),
        ({"search": PinnedSearch("sealed", {"weightings": "1 2"}, None)}, "perhaps scaled"),
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
    with pytest.raises(AgreementError, match="perhaps scaled"):
        draft(cluster, problem, weightings=[(2, 1), (1, 2), (6, 3)])
    draft(cluster, problem, weightings=[(2, 1), (1, 2), (6, 4), (0, 3), (5, 0)])
