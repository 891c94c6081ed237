"""A platform that loads a node as it can: others are answered, and the node lives on."""

from __future__ import annotations

import asyncio
import time

import pytest
from msgspec.structs import replace

from tacit.agreement.sizes import MOST_PARTICIPANTS
from tacit.agreement.terms import Agreement, Ownership, ParticipantTerms, canonical
from tacit.coordinator.node_client import NodeClient
from tacit.errors import PeerError, RefusedError
from tacit.local.cluster import LocalCluster
from tacit.records.events import RequestRefused
from tacit.records.messages import Agree, Ping
from tests.on_nodes.agreed_cluster import AgreedCluster, ask, make_clients, populations, run
from tests.on_nodes.deadlines import AMPLE, takes_at_most

pytestmark = pytest.mark.processes


async def connected(cluster: LocalCluster) -> NodeClient:
    client = make_clients(cluster)[0]
    await client.connect()
    return client


def crowded(agreement: Agreement, count: int) -> Agreement:
    """An agreement of so many participants, each with a row of its own."""
    names = [f"{number:05d}" for number in range(count)]
    return replace(
        agreement,
        problem=replace(agreement.problem, rows=count, columns=count),
        participants=[ParticipantTerms(name, f"{at:064x}") for at, name in enumerate(names)],
        objectives=[
            replace(
                agreement.objectives[0],
                owners=[Ownership(name, [row]) for row, name in enumerate(names)],
            )
        ],
    )


def test_an_unsigned_agreement_of_many_holds_nobody_up(cluster: LocalCluster) -> None:
    agreed = AgreedCluster.draft(cluster)

    async def attack(agreement: Agreement, reason: str) -> None:
        attacker, other = await connected(cluster), await connected(cluster)
        try:
            request = Agree(agreement=canonical(agreement), signatures={})
            refused = await attacker.ask(request)
            with takes_at_most(5.0):
                await ask(other, Ping())
            async with asyncio.timeout(AMPLE):
                with pytest.raises(RefusedError, match=reason):
                    await refused
        finally:
            await attacker.disconnect()
            await other.disconnect()

    run(attack(crowded(agreed.agreement, 60_000), "60000 participants; nodes take"))
    run(attack(crowded(agreed.agreement, MOST_PARTICIPANTS), "has not signed"))


def test_more_signatures_than_participants_end_the_link(cluster: LocalCluster) -> None:
    agreed = AgreedCluster.draft(cluster)

    async def attack() -> None:
        client = await connected(cluster)
        many = {str(number): b"" for number in range(MOST_PARTICIPANTS + 1)}
        try:
            with pytest.raises(PeerError):
                await ask(client, Agree(agreement=canonical(agreed.agreement), signatures=many))
        finally:
            await client.disconnect()

    run(attack())


def test_an_agreement_that_is_here_tells_nothing_without_signatures(cluster: LocalCluster) -> None:
    agreed = AgreedCluster.draft(cluster)

    async def attack() -> None:
        async with agreed.ready():
            client = await connected(cluster)
            try:
                known = canonical(agreed.agreement)
                some = dict(list(agreed.signatures.items())[:1])
                for signatures in ({}, some, dict.fromkeys(agreed.signatures, bytes(64))):
                    with pytest.raises(RefusedError, match="has not signed"):
                        await ask(client, Agree(agreement=known, signatures=signatures))
                taken = await ask(client, Agree(agreement=known, signatures=agreed.signatures))
                assert taken.frozen == [0]
            finally:
                await client.disconnect()

    run(attack())


def test_refusals_do_not_fill_the_log_of_an_agreement(cluster: LocalCluster) -> None:
    agreed = AgreedCluster.draft(cluster)

    async def attack() -> None:
        async with agreed.ready() as (coordinator, evaluations):
            client = coordinator.clients[0]
            wrong = agreed.request(populations(1)[0], epoch=0, number=77)
            for _ in range(6):
                asked = [await client.ask(wrong) for _ in range(200)]
                answers = await asyncio.gather(*asked, return_exceptions=True)
                assert {type(answer) for answer in answers} == {RefusedError}
            # What was left out is counted in the next line, when there may be one again.
            async with asyncio.timeout(AMPLE):
                while not any(event.left_out for event in agreed.events(0, RequestRefused)):
                    with pytest.raises(RefusedError):
                        await ask(client, wrong)
            await evaluations.evaluate(populations(1)[0], until=None)

    begun = time.monotonic()
    run(attack())
    # A thousand at once, and one more each second.
    assert 900 < len(agreed.refusals(0)) < 1002 + time.monotonic() - begun
