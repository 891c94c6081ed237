"""Nodes that derive every population themselves: a platform can ask for nothing else."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tacit.agreement.sealing import search_seed
from tacit.agreement.terms import PinnedSearch
from tacit.coordinator.coordinator import Coordinator
from tacit.coordinator.evaluations import Evaluated, Evaluations
from tacit.derived import AgreedSearch
from tacit.disclosure import parse_disclosure
from tacit.errors import RefusedError
from tacit.local.cluster import LocalCluster
from tacit.local.engine import open_engine
from tacit.node.store import Store
from tacit.problems import Problem, generate_assignment
from tacit.records.ledger import DisclosedBest
from tacit.records.log import frozen_inputs
from tacit.records.messages import Evaluate
from tacit.records.requests import request_hash
from tacit.runs import EngineChoice, Limits
from tacit.runs.solve import solve
from tacit.search import PRESETS
from tests.on_nodes.agreed_cluster import AgreedCluster, outcomes, populations, problem, run

pytestmark = pytest.mark.processes

SEARCH = {"population": 8, "elites": 2}


@pytest.fixture(scope="module")
def strict_nodes() -> Iterator[LocalCluster]:
    """Nodes of operators who leave nothing to others; those of all tests follow any search."""
    with LocalCluster(any_search=False) as running:
        yield running


def drafted(nodes: LocalCluster, disclose: str = "top:3", **changes: Any) -> AgreedCluster:
    changes.setdefault("best", "nothing")
    return AgreedCluster.draft(
        nodes,
        problem(disclose, changes.pop("best")),
        search=SEARCH,
        seed=None,
        populations="derived",
        **changes,
    )


def honest_search(agreed: AgreedCluster) -> AgreedSearch:
    frozen = frozen_inputs(agreed.agreement, agreed.log(0))
    digests = {k: each.manifests for k, each in frozen.items()}
    contributions = {k: each.seed_contribution for k, each in frozen.items()}
    return AgreedSearch(agreed.agreement, search_seed(agreed.agreement, digests, contributions), {})


async def generation(search: AgreedSearch, evaluations: Evaluations) -> Evaluated:
    """One more generation, as an honest platform asks for it."""
    told = await evaluations.evaluate(search.plans, until=time.monotonic() + 60)
    labels = np.array(told.payload.labels)
    search.tell({0: search.evaluation_of(0, labels, told.payload.best)})
    return told


def asked(agreed: AgreedCluster, epoch: int, number: int, plans: NDArray[Any]) -> Evaluate:
    """A request for a population of the platform's choice, named as an honest one is."""
    whole = agreed.request(plans, epoch=epoch, number=number)
    terms = agreed.agreement.objectives[0]
    digest = request_hash("evaluate", terms.disclosure, terms.best, whole.candidates)
    return agreed.request(b"", epoch=epoch, number=number, request=digest)


async def refused(coordinator: Coordinator, request: Evaluate, reason: str) -> None:
    for reply in await outcomes(coordinator.clients, lambda client: request):
        assert isinstance(reply, RefusedError)
        assert reason in reply.reason


def test_a_platform_can_ask_for_nothing_but_the_next_population(cluster: LocalCluster) -> None:
    agreed = drafted(cluster)

    async def attack() -> None:
        async with agreed.ready() as (coordinator, evaluations):
            search = honest_search(agreed)
            epoch = await coordinator.epoch()
            one, copies = populations(1)[0], np.tile(search.plans[:1], (8, 1))
            # Before the first, after it, and with whole candidates: every way to choose.
            for plans in (one, copies, search.plans[::-1]):
                request = asked(agreed, epoch, 1, plans)
                await refused(coordinator, request, "not the population")
            whole = agreed.request(search.plans, epoch=epoch)
            await refused(coordinator, whole, "derive every population themselves")
            first = search.plans
            assert (await generation(search, evaluations)).number == 1
            second = search.plans
            await generation(search, evaluations)
            await evaluations.settle(until=time.monotonic() + 60)
            epoch = await coordinator.epoch()
            await refused(coordinator, asked(agreed, epoch, 3, first), "not the population")
            await refused(coordinator, asked(agreed, epoch, 3, second), "answered before")
            await refused(coordinator, asked(agreed, epoch, 1, first), "not the population")
            assert (await generation(search, evaluations)).number == 3

    run(attack())


def test_where_the_platform_would_choose_a_node_takes_no_agreement(
    strict_nodes: LocalCluster,
) -> None:
    agreed = AgreedCluster.draft(strict_nodes)

    async def attack() -> None:
        async with agreed.coordinator() as coordinator:
            with pytest.raises(RefusedError, match="platform chooses what is evaluated"):
                await coordinator.start_agreement(agreed.signatures, within=60)

    run(attack())


def test_a_search_that_nobody_measured_is_not_followed(strict_nodes: LocalCluster) -> None:
    """One that hardly selects would ask for all kinds of plans; of few, the best 15 are half."""

    async def check_refused(settings: dict[str, Any]) -> None:
        agreed = AgreedCluster.draft(
            strict_nodes, pinned=PinnedSearch("genetic", settings, None, "derived")
        )
        async with agreed.coordinator() as coordinator:
            with pytest.raises(RefusedError, match="nobody measured what"):
                await coordinator.start_agreement(agreed.signatures, within=60)

    run(check_refused({"tournament": 1}))
    run(check_refused({"population": 30, "elites": 2}))
    not_even_drafted(strict_nodes, PinnedSearch("genetic", {"tournament": 1}, None, "derived"))


def not_even_drafted(nodes: LocalCluster, search: PinnedSearch) -> None:
    with pytest.raises(RefusedError, match="node 0 refuses: nobody measured what"):
        open_engine(problem(), nodes.config, search=search, evaluations=5, population=(300, 300))


@pytest.mark.parametrize("best", ["value", "improvement"])
def test_nodes_keep_what_was_told_and_go_on_after_a_restart(
    own_cluster: LocalCluster, best: str
) -> None:
    agreed = drafted(own_cluster, best=best)
    told: list[list[int]] = []

    async def first() -> AgreedSearch:
        async with agreed.ready() as (_, evaluations):
            search = honest_search(agreed)
            for _ in range(3):
                told.append((await generation(search, evaluations)).payload.labels)
            await evaluations.settle(until=time.monotonic() + 60)
            return search

    search = run(first())
    stores = [agreed.folder_at(i) for i in range(3)]
    for folder in stores:
        assert [each.labels for each in Store(folder).answers.read()] == told
    own_cluster.kill(1)
    # What a power cut takes: the last answer, and half of the one before.
    answers = (stores[1] / "answers").read_bytes()
    (stores[1] / "answers").write_bytes(answers[: len(answers) // 2])
    assert len(list(Store(stores[1]).answers.read())) == 1
    own_cluster.restart(1)

    async def then() -> None:
        async with agreed.coordinator() as coordinator:
            await coordinator.start_agreement(agreed.signatures, within=60)
            evaluations = Evaluations(coordinator, 0)
            for _ in range(2):
                told.append((await generation(search, evaluations)).payload.labels)
            await evaluations.settle(until=time.monotonic() + 60)

    run(then())
    for folder in stores:
        assert [each.labels for each in Store(folder).answers.read()] == told


def test_only_the_best_of_the_search_are_compared_at_the_end(cluster: LocalCluster) -> None:
    agreed = drafted(cluster, reveal_best=True)

    async def attack() -> None:
        async with agreed.ready() as (_, evaluations):
            search = honest_search(agreed)
            evaluated = search.plans
            await generation(search, evaluations)
            until = time.monotonic() + 60
            with pytest.raises(RefusedError, match="not the best plans"):
                await evaluations.reveal(evaluated[:2], until=until)
            best = search.problem.plans(search.state.genomes[search.state.estimated_best()])
            revealed = await evaluations.reveal(best, until=until)
            assert isinstance(revealed.payload, DisclosedBest)
            assert 0 <= revealed.payload.index < len(best)

    run(attack())


def with_objectives(confidential: tuple[bool, ...]) -> Problem:
    made = generate_assignment(3, rows=7)
    first = made.objectives[0]
    assert first.weights is not None
    objectives = tuple(
        replace(
            first,
            name=f"o{k}",
            weights=np.roll(first.weights, k, axis=1),
            confidential=secret,
            disclosure=parse_disclosure("quantiles:4" if k else "top:5"),
        )
        for k, secret in enumerate(confidential)
    )
    return replace(made, objectives=objectives)


@pytest.mark.parametrize("confidential", [(True, True), (True, False)], ids=["secret", "public"])
def test_nodes_follow_a_search_of_several_objectives(
    cluster: LocalCluster, confidential: tuple[bool, ...]
) -> None:
    settings = PRESETS["paper-moap"].with_changes(population=12)
    found = [
        solve(
            with_objectives(confidential),
            limits=Limits(generations=4),
            settings=settings,
            seed=5,
            engine=EngineChoice(engine=engine, cluster=place),
        )
        for engine, place in (("nodes", cluster.folder / "cluster.toml"), ("simulated", None))
    ]
    assert found[0].notes == []
    assert found[0].best_known == found[1].best_known
    assert found[0].generations == found[1].generations == 4
