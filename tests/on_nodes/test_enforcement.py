"""A platform asks for what the agreement does not allow; real nodes refuse, log, and go on."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tacit.agreement.terms import agreement_hash
from tacit.coordinator.evaluations import Started
from tacit.errors import RefusedError
from tacit.local.cluster import LocalCluster
from tacit.records.events import EvaluationBegun
from tacit.records.ledger import DisclosedBest
from tacit.records.messages import Computed, Submit
from tacit.records.requests import NO_ATTEMPT, pack_candidates
from tests.on_nodes.agreed_cluster import AgreedCluster, ask, outcomes, populations, problem, run
from tests.on_nodes.altered_nodes import ClockedCluster

PLANS = populations(1)[0]


def twice_a_column() -> NDArray[Any]:
    plans = PLANS.copy()
    plans[3, 0] = plans[3, 1]
    return plans


@pytest.mark.parametrize(
    ("plans", "changes", "reason"),
    [
        (PLANS, {"disclosure": "none"}, "may disclose order"),
        (PLANS, {"best": "nothing"}, "may disclose order"),
        (PLANS, {"number": 21}, "allows 20 evaluations"),
        (PLANS, {"number": 2}, "would leave a gap"),
        (PLANS, {"number": 0}, "counted from 1"),
        (PLANS, {"objective": 5}, "no confidential objective"),
        (PLANS[:3], {}, "a population of 3"),
        (np.tile(PLANS, (50, 1)), {}, "a population of 400"),
        (np.tile(PLANS[:1], (8, 1)), {}, "only 1 of 8"),
        (twice_a_column(), {}, "candidate 3 takes a column twice"),
        (PLANS + 1, {}, "does not exist"),
        (b"", {}, "not a whole number of plans"),
        (b"\0" * 7, {}, "not a whole number of plans"),
    ],
    ids=lambda value: str(value)[:24].replace("\n", "") if not isinstance(value, str) else value,
)
def test_what_was_not_agreed_is_refused(
    cluster: LocalCluster, plans: NDArray[Any] | bytes, changes: dict[str, Any], reason: str
) -> None:
    agreed = AgreedCluster.draft(cluster)

    async def attack() -> None:
        async with agreed.ready() as (coordinator, evaluations):
            epoch = await coordinator.epoch()
            replies = await outcomes(
                coordinator.clients,
                lambda client: agreed.request(plans, epoch=epoch, **changes),
            )
            for reply in replies:
                assert isinstance(reply, RefusedError)
                assert reason in reply.reason
            # Nothing is lost: the honest request still works, and nothing was counted.
            told = await evaluations.evaluate(PLANS, until=time.monotonic() + 60)
            assert told.number == 1

    run(attack())
    for node in range(3):
        assert any(reason in each for each in agreed.refusals(node))


def test_a_used_number_answers_the_same_request_only(cluster: LocalCluster) -> None:
    agreed = AgreedCluster.draft(cluster)
    first, second = populations(2)

    async def attack() -> None:
        async with agreed.ready() as (coordinator, evaluations):
            told = await evaluations.evaluate(first, until=time.monotonic() + 60)
            epoch = await coordinator.epoch()
            replies = await outcomes(
                coordinator.clients,
                lambda client: agreed.request(second, epoch=epoch, attempt=900),
            )
            assert all("used for another" in str(reply) for reply in replies)
            again = await evaluations._attempt(
                await coordinator.epoch(),
                Started(1, pack_candidates(agreed.agreement.known_problem, first), 8, NO_ATTEMPT),
            )
            assert again.payload.labels == told.payload.labels
            third = await evaluations.evaluate(second, until=time.monotonic() + 60)
            assert third.number == 2

    run(attack())
    assert [event.number for event in agreed.events(1, EvaluationBegun)] == [1, 2]


def test_different_populations_to_different_nodes_give_nothing(cluster: LocalCluster) -> None:
    agreed = AgreedCluster.draft(cluster)
    mine, other = populations(2)

    async def attack() -> list[Computed | BaseException]:
        async with agreed.ready() as (coordinator, evaluations):
            epoch = await coordinator.epoch()
            replies = await outcomes(
                coordinator.clients,
                lambda client: agreed.request(mine if client.number == 0 else other, epoch=epoch),
            )
            coordinator._epoch = None
            started = Started(1, mine.astype("u1").tobytes(), 8, NO_ATTEMPT)
            with pytest.raises(RefusedError, match="used for another request"):
                await evaluations._attempt(await coordinator.epoch(), started)
            told = await evaluations.evaluate(mine, until=time.monotonic() + 60)
            assert told.number == 2
            return replies

    replies = run(attack())
    assert not any(isinstance(reply, Computed) for reply in replies)
    assert any("another request" in str(reply) for reply in replies)


def test_an_expired_agreement_is_refused(clocked: ClockedCluster) -> None:
    agreed = AgreedCluster.draft(clocked)

    async def attack() -> None:
        async with agreed.ready() as (_, evaluations):
            await evaluations.evaluate(PLANS, until=time.monotonic() + 60)
            clocked.set_ahead(agreed.agreement.limits.expires - time.time())
            with pytest.raises(RefusedError, match="expired"):
                await evaluations.evaluate(PLANS, until=time.monotonic() + 60)

    run(attack())


def test_the_budget_ends(cluster: LocalCluster) -> None:
    agreed = AgreedCluster.draft(cluster, evaluations=2)

    async def attack() -> None:
        async with agreed.ready() as (_, evaluations):
            for plans in populations(2):
                await evaluations.evaluate(plans, until=time.monotonic() + 60)
            with pytest.raises(RefusedError, match="allows 2 evaluations"):
                await evaluations.evaluate(PLANS, until=time.monotonic() + 60)

    run(attack())


def test_nothing_is_evaluated_before_the_inputs_are_frozen(cluster: LocalCluster) -> None:
    agreed = AgreedCluster.draft(cluster)

    async def attack() -> None:
        async with agreed.coordinator() as coordinator:
            await coordinator.loss.connect(everybody=True)
            await outcomes(
                coordinator.clients,
                lambda client: agreed.agree_request(),
            )
            epoch = await coordinator.epoch()
            replies = await outcomes(
                coordinator.clients, lambda client: agreed.request(PLANS, epoch=epoch)
            )
            assert all("not prepared" in str(reply) for reply in replies)

    run(attack())


def test_the_reveal_is_agreed_once_and_among_the_evaluated(cluster: LocalCluster) -> None:
    agreed = AgreedCluster.draft(cluster, reveal_best=True)
    mine, other = populations(2)

    async def attack() -> int:
        async with agreed.ready() as (_, evaluations):
            await evaluations.evaluate(mine, until=time.monotonic() + 60)
            with pytest.raises(RefusedError, match="never evaluated"):
                await evaluations.reveal(other, until=time.monotonic() + 60)
            best = await evaluations.reveal(mine, until=time.monotonic() + 60)
            again = await evaluations.reveal(mine, until=time.monotonic() + 60)
            assert best.payload == again.payload
            with pytest.raises(RefusedError, match="revealed already"):
                await evaluations.reveal(mine[:3], until=time.monotonic() + 60)
            assert isinstance(best.payload, DisclosedBest)
            return best.payload.index

    assert run(attack()) == int(agreed.problem.fitness(0, mine).argmax())


def test_the_reveal_must_be_agreed(cluster: LocalCluster) -> None:
    agreed = AgreedCluster.draft(cluster)

    async def attack() -> None:
        async with agreed.ready() as (_, evaluations):
            await evaluations.evaluate(PLANS, until=time.monotonic() + 60)
            with pytest.raises(RefusedError, match="does not allow"):
                await evaluations.reveal(PLANS, until=time.monotonic() + 60)

    run(attack())


def test_an_unknown_agreement_is_refused(cluster: LocalCluster) -> None:
    agreed = AgreedCluster.draft(cluster, problem())

    async def attack() -> None:
        async with agreed.coordinator() as coordinator:
            await coordinator.loss.connect(everybody=True)
            client = coordinator.clients[0]
            rows = agreed.seal(next(iter(agreed.keys)))
            with pytest.raises(RefusedError, match="not known here"):
                await ask(
                    client,
                    Submit(
                        agreement=agreement_hash(agreed.agreement),
                        manifest=rows.manifest,
                        signature=rows.signature,
                        box=rows.boxes[0],
                    ),
                )

    run(attack())
