"""An honest platform runs ballots: one of four nodes that answers as it likes does not stop it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from tacit.agreement.terms import agreement_hash
from tacit.coordinator.voting import Decision, Election, reason_of
from tacit.errors import LogError, LoneRefusalError, PeerLostError, RefusedError
from tacit.records.ballots import (
    MOST_BALLOTS,
    OwnVotes,
    Phase,
    Poll,
    Subject,
    SubjectKind,
    Vote,
    contradicting,
)
from tacit.records.messages import CastVote, RefusalKind, VoteCast
from tests.on_nodes.agreed_cluster import run
from tests.on_nodes.owners_cast import owners_cast

PLAN, OTHER = Subject(SubjectKind.PLAN, 0), Subject(SubjectKind.PLAN, 1)
LIAR = 3
Answer = Callable[["Voters", CastVote], VoteCast]


class Voters:
    """Three honest nodes, as their rules are, and one that answers as it likes."""

    def __init__(self, lie: Answer) -> None:
        self.cast, self._lie = owners_cast(4), lie
        self.agreement = self.cast.agreement
        self.hash = agreement_hash(self.agreement)
        self.own = [OwnVotes(node, PLAN) for node in range(LIAR)]
        self.fence = 7
        self.slow: dict[int, float] = {}
        self.named: list[int] = []
        self.clients = [self._client(node) for node in range(4)]

    def _client(self, number: int) -> Any:
        async def ask(request: CastVote, *, fence: int) -> asyncio.Future[VoteCast]:
            assert fence == self.fence
            return asyncio.ensure_future(self._answer(number, request))

        return SimpleNamespace(number=number, name=f"node {number}", connected=True, ask=ask)

    def examine(self, evidence: list[bytes]) -> None:
        """Note whom the platform would name; it goes on with all here."""
        votes = Poll.read(self.agreement, PLAN, evidence).votes
        assert contradicting(votes)
        self.named += [vote.author for vote in votes.values()]

    def signed(self, vote: Vote) -> bytes:
        return vote.sign(self.cast.nodes[vote.author].signing, self.hash)

    async def _answer(self, number: int, request: CastVote) -> VoteCast:
        if number == LIAR:
            return self._lie(self, request)
        await asyncio.sleep(self.slow.get(number, 0.0))
        own = self.own[number]
        vote = own.answer(request.ballot, request.phase)
        try:
            poll = Poll.read(self.agreement, PLAN, request.votes)
            if vote is None:
                own.quorum_for(request.ballot, request.phase, request.value, poll)
        except LogError as error:
            raise RefusedError(f"node {number}", str(error)) from None
        if vote is None:
            vote = own.vote(request.ballot, request.phase, request.value)
            own.add(vote, poll.signed_by(Phase.WILLING, request.ballot, request.value))
        proof = own.lock_votes if vote.phase is Phase.STATUS else []
        return VoteCast(vote=self.signed(vote), proof=proof)

    async def decide(self, value: str, *, after: int = 0) -> Decision:
        """Decide, after the nodes have come to a later ballot."""
        election = Election(self, PLAN, voters=lambda: self.clients)  # type: ignore[arg-type]
        for own in self.own if after else ():
            own.add(own.vote(after, Phase.STATUS, ""))
        async with asyncio.timeout(60):
            return await election.decide(value, until=None)


def _as_asked(voters: Voters, request: CastVote) -> Vote:
    value = "" if request.phase is Phase.STATUS else request.value
    return Vote(LIAR, PLAN, request.ballot, request.phase, value)


def _about_something_else(voters: Voters, request: CastVote) -> VoteCast:
    vote = _as_asked(voters, request)
    other = Vote(LIAR, OTHER, vote.ballot, vote.phase, vote.value)
    return VoteCast(vote=voters.signed(vote), proof=[voters.signed(other)])


def test_votes_about_something_else_are_not_passed_on() -> None:
    """Nodes refuse all votes that they are shown where one is about something else."""
    voters = Voters(_about_something_else)

    async def work() -> None:
        assert (await voters.decide("9:1:1")).value == "9:1:1"

    run(work())


def _two_statuses(voters: Voters, request: CastVote) -> VoteCast:
    vote = _as_asked(voters, request)
    if vote.phase is not Phase.STATUS:
        raise RefusedError("node 3", "not now")
    locked = Vote(LIAR, PLAN, vote.ballot, Phase.STATUS, "1:1:1", 0)
    return VoteCast(vote=voters.signed(vote), proof=[voters.signed(locked)])


def test_a_status_without_proof_is_not_shown_in_place_of_one_that_counts() -> None:
    voters = Voters(_two_statuses)
    # Late enough to be left out where three others have answered.
    voters.slow[2] = 0.3

    async def work() -> None:
        assert (await voters.decide("9:1:1", after=1)).value == "9:1:1"
        assert set(voters.named) == {LIAR}
        # At once, though nodes refuse all that is shown with such a status.
        assert {each.ballot for each in voters.own} == {2}

    run(work())


def test_what_one_of_four_refuses_hides_no_other_reason() -> None:
    """A refusal without a kind ends a run, and its plan with it."""
    away, liar = PeerLostError("node 2", "is gone"), RefusedError("node 0", "this node objects")
    early = [RefusedError(f"node {k}", "not yet", kind=RefusalKind.EARLY) for k in (1, 2, 3)]

    def reason(*trouble: BaseException | None, nodes: int = 4) -> BaseException:
        return reason_of(trouble, nodes=nodes, otherwise="did not vote in time")

    # A link that was broken for a moment is made again, and then the liar is not needed.
    assert isinstance(reason(liar, None, away, None), LoneRefusalError)
    assert reason(liar, None, away, nodes=3) is liar
    for count in (1, 2, 3):
        assert reason(liar, *early[:count]) in early
    assert reason(None, away, None, None) is away
    assert "did not vote in time" in str(reason(None, None, None, None))


def _far_ahead(voters: Voters, request: CastVote) -> VoteCast:
    return VoteCast(vote=voters.signed(Vote(LIAR, PLAN, MOST_BALLOTS - 1, Phase.STATUS)))


def test_one_node_that_is_far_ahead_takes_nobody_along() -> None:
    """At the last number no split could heal any more."""
    voters = Voters(_far_ahead)

    async def work() -> None:
        # A split, so that another ballot has to follow.
        own = voters.own[0]
        own.add(own.vote(0, Phase.WILLING, "8:1:1"))
        assert (await voters.decide("9:1:1")).value == "9:1:1"
        assert max(each.ballot for each in voters.own) < 100

    run(work())
