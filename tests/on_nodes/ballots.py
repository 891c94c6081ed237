"""A platform that shows nodes whatever votes it likes, and a node that signs what it likes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from tacit.coordinator.coordinator import Coordinator
from tacit.coordinator.node_client import NodeClient
from tacit.coordinator.voting import Decision, Election
from tacit.identity.keys import load_keys
from tacit.records.ballots import Phase, Subject, SubjectKind, Vote, read_vote
from tacit.records.messages import CastVote, OpenPlan, PlanOpened
from tacit.records.requests import Attempt
from tests.on_nodes.agreed_cluster import AgreedCluster, ask

PLAN = Subject(SubjectKind.PLAN, 0)


async def connected(coordinator: Coordinator, node: int) -> NodeClient:
    client = coordinator.clients[node]
    if not client.connected:
        await client.connect()
    return client


async def cast(
    coordinator: Coordinator,
    node: int,
    phase: Phase,
    value: str = "",
    votes: Sequence[bytes] = (),
    *,
    ballot: int = 0,
    subject: Subject = PLAN,
) -> bytes:
    """A node's vote, with its signature."""
    request = CastVote(
        agreement=coordinator.hash,
        subject=subject,
        ballot=ballot,
        phase=phase,
        value=value,
        votes=[*votes],
    )
    return (await ask(await connected(coordinator, node), request)).vote


async def willing(coordinator: Coordinator, values: dict[int, str]) -> list[bytes]:
    """The votes of ballot 0 of nodes that are asked for one value each, all at once."""
    asked = (cast(coordinator, node, Phase.WILLING, value) for node, value in values.items())
    return list(await asyncio.gather(*asked))


def voted(coordinator: Coordinator, votes: Sequence[bytes]) -> list[Vote]:
    return [read_vote(coordinator.agreement, each) for each in votes]


def forged(agreed: AgreedCluster, node: int, vote: Vote) -> bytes:
    """A vote that this node signs, whatever it has voted before."""
    key = load_keys(agreed.cluster.folder / f"node-{node}.key").signing
    return vote.sign(key, agreed.agreement.digest)


async def decide(coordinator: Coordinator, value: str, subject: Subject = PLAN) -> Decision:
    """Ballots of an honest platform, which begins with this value."""
    election = Election(coordinator, subject, voters=lambda: coordinator.clients)
    async with asyncio.timeout(60):
        return await election.decide(value, until=None)


async def open_at(
    coordinator: Coordinator, node: int, attempt: Attempt, votes: Sequence[bytes] = ()
) -> PlanOpened:
    request = OpenPlan(agreement=coordinator.hash, search=0, attempt=attempt, votes=[*votes])
    return await ask(await connected(coordinator, node), request)
