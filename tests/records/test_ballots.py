"""Ballots of four nodes of which one lies: never two values, and one more ballot always ends."""

from __future__ import annotations

import random
from collections.abc import Callable

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.agreement.terms import agreement_hash
from tacit.errors import LogError
from tacit.records.ballots import (
    NO_LOCK,
    OwnVotes,
    Phase,
    Poll,
    Subject,
    SubjectKind,
    Vote,
    contradicting,
    read_vote,
)
from tacit.records.evidence import read_evidence, suspects
from tests.on_nodes.owners_cast import owners_cast

SUBJECT = Subject(SubjectKind.PLAN, 0)
VALUES = ("early", "late")
_READ = msgspec.json.Decoder(Vote)
HONEST, LIAR = range(3), 3
LAST = 2
"""The last ballot that the platform runs before it becomes honest."""


def vote(author: int, ballot: int, phase: Phase, value: str = "", locked: int = NO_LOCK) -> Vote:
    return Vote(author, SUBJECT, ballot, phase, value, locked)


def as_poll(*votes: Vote) -> Poll:
    return Poll(4, {bytes([each.author]) + each.encode(): each for each in votes})


class Play:
    """Three honest nodes, all votes that were ever made, and whatever the fourth may say."""

    def __init__(self, seed: int, own: Callable[[int, Subject], OwnVotes] = OwnVotes) -> None:
        self.random = random.Random(seed)
        self.nodes = [own(node, SUBJECT) for node in HONEST]
        self.made: list[Vote] = []

    def lies(self, ballot: int) -> list[Vote]:
        """The fourth node's votes for a ballot: any, and not one of each kind only."""
        draw, locked = self.random.choice, self.random.randrange(NO_LOCK, max(ballot, 1))
        claims = [vote(LIAR, ballot, Phase.STATUS)]
        if locked != NO_LOCK:
            claims.append(vote(LIAR, ballot, Phase.STATUS, draw(VALUES), locked))
        said = [draw(claims)] if draw((0, 1, 1)) else []
        return [
            *said,
            *(
                vote(LIAR, b, p, v)
                for b in range(ballot + 1)
                for p in (Phase.WILLING, Phase.BOUND)
                for v in VALUES
            ),
        ]

    def ask(self, node: int, ballot: int, phase: Phase, value: str, poll: Poll) -> Vote | None:
        """What a node answers; None if it refuses."""
        own = self.nodes[node]
        answer = own.answer(ballot, phase)
        if answer is not None:
            return answer
        try:
            own.quorum_for(ballot, phase, value, poll)
        except LogError:
            return None
        made = own.vote(ballot, phase, value)
        own.add(made, poll.signed_by(Phase.WILLING, ballot, value))
        self.made.append(made)
        return made

    def step(self) -> None:
        """The platform shows a node some of the votes, and asks it for any."""
        ballot, phase = self.random.randint(0, LAST), self.random.choice([*Phase])
        # Whoever shows votes leaves out what does not suit it: one honest status here.
        hidden = self.random.choice([*HONEST, None])
        shown = [
            each for each in self.made if not (each.phase is Phase.STATUS and each.author == hidden)
        ]
        poll = as_poll(*shown, *self.lies(ballot))
        self.ask(self.random.choice(HONEST), ballot, phase, self.random.choice(VALUES), poll)

    @property
    def decided(self) -> set[str]:
        """The values that a quorum is bound to, if the fourth helps each."""
        found = set[str]()
        for ballot in range(LAST + 2):
            for value in VALUES:
                bound = as_poll(*self.made).voters(Phase.BOUND, ballot, value)
                if len(bound) >= 2:
                    found.add(value)
        return found

    def run_honestly(self) -> str | None:
        """One ballot of an honest platform, while the fourth node is silent."""
        ballot = LAST + 1
        for node in HONEST:
            self.ask(node, ballot, Phase.STATUS, "", as_poll())
        # With a status comes what proves its lock, also where the fourth node helped it.
        proofs = [_READ.decode(each[1:]) for own in self.nodes for each in own.lock_votes]
        poll = as_poll(*self.made, *proofs)
        value = poll.demanded(ballot) or self.random.choice(VALUES)
        for node in HONEST:
            self.ask(node, ballot, Phase.WILLING, value, poll)
        for node in HONEST:
            self.ask(node, ballot, Phase.BOUND, value, as_poll(*self.made))
        found = as_poll(*self.made).decided()
        return None if found is None or found[0] != ballot else found[1]


def played(seed: int, own: Callable[[int, Subject], OwnVotes] = OwnVotes) -> Play:
    play = Play(seed, own)
    for _ in range(play.random.randint(5, 90)):
        play.step()
    return play


def test_no_two_values_are_decided_and_one_more_ballot_ends() -> None:
    splits = decisions = 0
    for seed in range(600):
        play = played(seed)
        before = play.decided
        assert len(before) <= 1
        splits += len({v for own in play.nodes for v in own.willing_to}) > 1
        decisions += len(before)
        value = play.run_honestly()
        assert value is not None
        assert before | {value} == {value}
        # No node of these is ever named by its own votes.
        assert not contradicting({each.encode(): each for each in play.made})
    assert min(splits, decisions) > 20  # such schedules are among them


class Credulous(OwnVotes):
    """Willing in a later ballot to anything, whatever the statuses are."""

    def quorum_for(self, ballot: int, phase: Phase, value: str, poll: Poll, /) -> frozenset[int]:
        if phase is Phase.WILLING:
            return frozenset()
        return super().quorum_for(ballot, phase, value, poll)


class Hasty(OwnVotes):
    """Bound on one other word, as nodes once were."""

    def quorum_for(self, ballot: int, phase: Phase, value: str, poll: Poll, /) -> frozenset[int]:
        if phase is Phase.BOUND:
            return frozenset()
        return super().quorum_for(ballot, phase, value, poll)


class Forgetful(OwnVotes):
    """Takes part in earlier ballots after a status."""

    def answer(self, ballot: int, phase: Phase, /) -> Vote | None:
        return self.made.get(phase) if ballot == self.ballot else None


@pytest.mark.parametrize("own", [Credulous, Hasty, Forgetful])
def test_without_one_of_the_rules_two_values_are_decided(own: type[OwnVotes]) -> None:
    assert any(len(played(seed, own).decided) > 1 for seed in range(2000))


def test_a_node_answers_a_question_twice_alike_and_an_old_one_with_where_it_is() -> None:
    own = OwnVotes(0, SUBJECT)
    for each in (vote(0, 0, Phase.WILLING, "early"), vote(0, 2, Phase.STATUS)):
        own.add(each)
    assert own.answer(2, Phase.STATUS) == vote(0, 2, Phase.STATUS)
    assert own.answer(1, Phase.BOUND) == vote(0, 2, Phase.STATUS)
    assert own.answer(2, Phase.WILLING) is None
    own.add(vote(0, 2, Phase.WILLING, "late"))
    own.add(vote(0, 2, Phase.BOUND, "late"), [b"quorum"])
    # As it was, without the lock that came after it: two statuses would name this node.
    assert own.answer(2, Phase.STATUS) == vote(0, 2, Phase.STATUS)
    assert own.vote(3, Phase.STATUS, "") == vote(0, 3, Phase.STATUS, "late", 2)
    assert own.lock_votes == [b"quorum"]


def test_a_lock_counts_with_the_votes_behind_it_only() -> None:
    free = [vote(node, 1, Phase.STATUS) for node in (0, 1)]
    locked = vote(2, 1, Phase.STATUS, "late", 0)
    willing = [vote(node, 0, Phase.WILLING, "late") for node in (1, 2, 3)]
    assert as_poll(*free, locked, *willing).demanded(1) == "late"
    unproven = as_poll(*free, locked, *willing[:2])
    assert unproven.demanded(1) is None
    assert len(unproven.statuses(1)) == 2
    with pytest.raises(LogError, match="2 of 4 nodes"):
        OwnVotes(0, SUBJECT).quorum_for(1, Phase.WILLING, "early", unproven)
    # The same vote twice is one vote, and a lock of the same ballot or a later one is none.
    own = vote(2, 1, Phase.STATUS, "late", 1)
    assert len(as_poll(*free, free[0], own, *willing).statuses(1)) == 2


def test_the_highest_lock_counts() -> None:
    statuses = [
        vote(0, 4, Phase.STATUS, "early", 1),
        vote(1, 4, Phase.STATUS, "late", 2),
        vote(2, 4, Phase.STATUS),
    ]
    willing = [
        vote(node, ballot, Phase.WILLING, value)
        for ballot, value in ((1, "early"), (2, "late"))
        for node in (0, 1, 3)
    ]
    poll = as_poll(*statuses, *willing)
    assert poll.demanded(4) == "late"
    with pytest.raises(LogError, match="demand another value"):
        OwnVotes(0, SUBJECT).quorum_for(4, Phase.WILLING, "early", poll)
    assert OwnVotes(0, SUBJECT).is_demanded(4, "late", poll)
    assert not OwnVotes(0, SUBJECT).is_demanded(4, "early", poll)


def test_two_votes_of_a_node_name_it_and_a_made_up_one_nobody() -> None:
    cast = owners_cast(4)
    agreement = cast.agreement
    digest = agreement_hash(agreement)

    def signed(author: int, value: str, key: Ed25519PrivateKey | None = None) -> bytes:
        made = vote(author, 0, Phase.WILLING, value)
        return made.sign(key or cast.nodes[author].signing, digest)

    pair = [signed(3, "early"), signed(3, "late")]
    assert suspects(read_evidence(agreement, pair)) == {3}
    votes = {each: read_vote(agreement, each) for each in [*pair, signed(1, "early")]}
    assert contradicting(votes) == pair
    with pytest.raises(LogError, match="do not contradict"):
        suspects(read_evidence(agreement, [signed(3, "early"), signed(1, "late")]))
    forged = signed(1, "late", cast.nodes[3].signing)
    with pytest.raises(LogError, match="node 1 did not sign"):
        read_evidence(agreement, [signed(1, "early"), forged])
    # Of another agreement, of another subject, or written in another way, it counts as little.
    with pytest.raises(LogError, match="did not sign"):
        read_vote(agreement, vote(1, 0, Phase.WILLING).sign(cast.nodes[1].signing, bytes(32)))
    with pytest.raises(LogError, match="about something else"):
        Poll.read(agreement, Subject(SubjectKind.INPUTS, 0), [signed(1, "early")])
    spaced = msgspec.json.format(vote(1, 0, Phase.WILLING).encode(), indent=1)
    with pytest.raises(LogError, match="made up"):
        read_vote(agreement, spaced + bytes(64))
