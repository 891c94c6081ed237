"""Agree on one value by ballots: the votes of nodes, and what a set of votes allows.

Nodes agree this way on the inputs that they freeze and on the plan that they open. Messages pass
through a platform that may delay, repeat, reorder and lose them, and one node of four may lie. In
each ballot a node votes at most once per phase::

    status    it takes part in no earlier ballot any more; with its lock, if it has one
    willing   to one value: in ballot 0 to any that it accepts itself; later to what the statuses of
              a quorum allow, the value of the highest lock among them, else any that it accepts
    bound     it has seen a quorum that is willing to the value, and is locked on it from now on

A value is decided once a quorum is bound to it in one ballot. Every vote is signed, and on the
voter's disk before it leaves. A quorum is all nodes but one. Any two quorums of four have two nodes
in common, so an honest one. Hence no two values have a quorum of willing votes in one ballot, and
whoever is willing in a later ballot hears of a value that may have been decided. A quorum of three
nodes counts only where the third is out of reach, which whoever uses it finds out itself.

A lock is proven by the quorum of willing votes behind it, which travels with the status. So nobody
has to be believed. A node that votes twice in one ballot and phase leaves two signatures, which
name it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.agreement.plan_parts import PlanHeads
from tacit.agreement.signatures import is_signed, sign
from tacit.agreement.terms import Agreement, agreement_hash
from tacit.errors import LogError
from tacit.mpc import SIGNATURE_BYTES


class SubjectKind(StrEnum):
    """What nodes decide on by ballots."""

    INPUTS = "inputs"
    """What is frozen of an objective."""
    PLAN = "plan"
    """The state of a group of sealed searches whose plans are opened."""


class Phase(StrEnum):
    """The votes of a ballot, in their order."""

    STATUS = "status"
    WILLING = "willing"
    BOUND = "bound"

    @property
    def place(self) -> int:
        return [*Phase].index(self)


MOST_BALLOTS = 1 << 62
BallotNumber = Annotated[int, msgspec.Meta(ge=0, le=MOST_BALLOTS)]
Value = Annotated[str, msgspec.Meta(max_length=400)]
"""What is voted on, as text. It stands for itself, so that whoever has a quorum needs no more."""
NO_LOCK = -1


class Subject(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a ballot is about; subjects have nothing to do with each other."""

    kind: SubjectKind
    about: Annotated[int, msgspec.Meta(ge=0, le=(1 << 16) - 1)]
    """The objective, or the first search of the group."""


class Vote(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What one node says in one phase of a ballot."""

    author: Annotated[int, msgspec.Meta(ge=0, le=255)]
    subject: Subject
    ballot: BallotNumber
    phase: Phase
    value: Value = ""
    """Of a status, that of the lock; empty if there is none."""
    locked: Annotated[int, msgspec.Meta(ge=NO_LOCK, le=MOST_BALLOTS)] = NO_LOCK
    """Of a status, the ballot of the lock."""
    heads: str = ""
    """Where a plan is for its owners: the hash of what binds the node to its parts of it."""

    @property
    def place(self) -> tuple[Subject, int, Phase]:
        """A node votes once in each."""
        return self.subject, self.ballot, self.phase

    def encode(self) -> bytes:
        # Names of attempts are texts of a type of their own.
        return msgspec.json.encode(self, enc_hook=str)

    def sign(self, key: Ed25519PrivateKey, agreement: bytes, /) -> bytes:
        """Return the vote with its author's signature behind, as it travels."""
        data = self.encode()
        return data + sign(key, "vote", agreement + data)


_READ_VOTE = msgspec.json.Decoder(Vote)
SignedVote = Annotated[bytes, msgspec.Meta(max_length=2048)]
SignedVotes = Annotated[list[SignedVote], msgspec.Meta(max_length=32)]
"""Votes, each with the signature of its author behind: those of all nodes, and behind each lock."""


def is_vote(signed: bytes, /) -> bool:
    """Return whether signed bytes are to be read as a vote; other statements begin otherwise."""
    return signed.startswith(b'{"author"')


def read_vote(agreement: Agreement, signed: bytes, /) -> Vote:
    """Read a vote; a `LogError` if its author did not sign it for this agreement."""
    data, signature = signed[:-SIGNATURE_BYTES], signed[-SIGNATURE_BYTES:]
    try:
        vote = _READ_VOTE.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise LogError("what is shown as a vote is none; it was made up") from None
    # One encoding for each vote: else one that is counted here would not be known as evidence.
    if vote.encode() != data:
        raise LogError("what is shown as a vote is not written as votes are; it was made up")
    message = agreement_hash(agreement) + data
    if vote.author >= len(agreement.nodes) or not is_signed(
        agreement.nodes[vote.author].signing_key, "vote", message, signature
    ):
        raise LogError(f"node {vote.author} did not sign a vote that is shown as its own")
    return vote


def heads_digest(heads: Sequence[PlanHeads], /) -> str:
    """Return the hash by which a vote names what binds its author to its parts of plans."""
    return hashlib.sha256(b"tacit heads/1\n" + msgspec.json.encode([*heads])).hexdigest()


@dataclass(frozen=True)
class Poll:
    """Votes about one subject, with signatures that were checked."""

    nodes: int
    votes: Mapping[bytes, Vote]
    """By what was signed."""

    @classmethod
    def read(cls, agreement: Agreement, subject: Subject, signed: Iterable[bytes], /) -> Poll:
        """Read votes; a `LogError` if one is not signed, or about something else."""
        votes = {each: read_vote(agreement, each) for each in signed}
        if any(vote.subject != subject for vote in votes.values()):
            raise LogError("a vote is about something else than the ballot that it is shown in")
        return cls(len(agreement.nodes), votes)

    @property
    def least(self) -> int:
        """How many nodes a quorum has."""
        return self.nodes - 1

    def voters(self, phase: Phase, ballot: int, value: str, /) -> frozenset[int]:
        """Return who has voted so."""
        return frozenset(
            vote.author
            for vote in self.votes.values()
            if (vote.phase, vote.ballot, vote.value) == (phase, ballot, value)
        )

    def signed_by(self, phase: Phase, ballot: int, value: str, /) -> list[bytes]:
        """Return these votes as they were signed, one of each author."""
        found = {
            vote.author: signed
            for signed, vote in self.votes.items()
            if (vote.phase, vote.ballot, vote.value) == (phase, ballot, value)
        }
        return [found[author] for author in sorted(found)]

    def quorum_of(self, phase: Phase, ballot: int, /) -> str | None:
        """Return the value that a quorum has voted for, if there is one."""
        values = {v.value for v in self.votes.values() if (v.phase, v.ballot) == (phase, ballot)}
        return next((v for v in values if len(self.voters(phase, ballot, v)) >= self.least), None)

    def decided(self) -> tuple[int, str] | None:
        """Return the ballot and the value that a quorum is bound to, if there is one."""
        ballots = {vote.ballot for vote in self.votes.values() if vote.phase is Phase.BOUND}
        for ballot in sorted(ballots, reverse=True):
            value = self.quorum_of(Phase.BOUND, ballot)
            if value is not None:
                return ballot, value
        return None

    def statuses(self, ballot: int, /) -> list[Vote]:
        """Return the statuses of a ballot whose locks, if any, are proven by votes that are here.

        A lock that is not proven is no reason to distrust its author: the proof may be lost.
        """
        return [
            vote
            for vote in self.votes.values()
            if (vote.phase, vote.ballot) == (Phase.STATUS, ballot) and self._is_proven(vote)
        ]

    def _is_proven(self, status: Vote) -> bool:
        if status.locked == NO_LOCK:
            return True
        if status.locked >= status.ballot:
            return False
        return len(self.voters(Phase.WILLING, status.locked, status.value)) >= self.least

    def demanded(self, ballot: int, /) -> str | None:
        """Return the value that the statuses of a ballot demand; None if they leave it open."""
        highest = max(self.statuses(ballot), key=lambda vote: vote.locked, default=None)
        return None if highest is None or highest.locked == NO_LOCK else highest.value


def contradicting(signed: Mapping[bytes, Vote], /) -> list[bytes]:
    """Return two votes of each node that has voted twice in one place: what proves it."""
    first: dict[tuple[object, ...], bytes] = {}
    shown: dict[int, list[bytes]] = {}
    for data, vote in signed.items():
        before = first.setdefault((vote.place, vote.author), data)
        if signed[before] != vote:
            shown.setdefault(vote.author, [before, data])
    return [each for pair in shown.values() for each in pair]


@dataclass
class OwnVotes:
    """A node's own votes about one subject, and what it may vote next."""

    me: int
    subject: Subject
    ballot: int = 0
    """The latest that the node has voted in; it takes part in no earlier one."""
    made: dict[Phase, Vote] = field(default_factory=dict)
    """The votes of that ballot."""
    lock: Vote | None = None
    """The last vote by which the node was bound."""
    lock_votes: list[bytes] = field(default_factory=list)
    """The quorum that was willing then."""
    willing_to: set[str] = field(default_factory=set)
    """The values that it was ever willing to: it does not look again whether it accepts them."""

    def add(self, vote: Vote, quorum: Sequence[bytes] = (), /) -> None:
        """Note an own vote; a status or a bound one comes with the quorum behind it."""
        if vote.ballot > self.ballot:
            self.ballot, self.made = vote.ballot, {}
        self.made[vote.phase] = vote
        if vote.phase is Phase.WILLING:
            self.willing_to.add(vote.value)
        if vote.phase is Phase.BOUND:
            self.lock, self.lock_votes = vote, [*quorum]

    @property
    def latest(self) -> Vote | None:
        return max(self.made.values(), key=lambda vote: vote.phase.place, default=None)

    def answer(self, ballot: int, phase: Phase, /) -> Vote | None:
        """Return the vote that answers a request already; None if another one may follow.

        A node that went on to a later ballot, or to a later phase of this one, answers with its
        latest vote: whoever asks learns from it where the node is.
        """
        if ballot < self.ballot:
            return self.latest
        if ballot > self.ballot:
            return None
        later = [each for each in self.made if each.place > phase.place]
        return self.made.get(phase) or (self.latest if later else None)

    def quorum_for(self, ballot: int, phase: Phase, value: str, poll: Poll, /) -> frozenset[int]:
        """Return the nodes whose votes allow this one; a `LogError` if they do not allow it.

        Empty where nobody else's vote is needed.
        """
        if phase is Phase.BOUND:
            voters = poll.voters(Phase.WILLING, ballot, value)
            _check_quorum(voters, poll, f"willing to it in ballot {ballot}")
            return voters
        if ballot == 0:
            if phase is Phase.STATUS:
                raise LogError("ballot 0 has no statuses; ask for a later one")
            return frozenset()
        if phase is Phase.STATUS:
            return frozenset()
        voters = frozenset(vote.author for vote in poll.statuses(ballot))
        _check_quorum(voters, poll, f"in ballot {ballot}")
        demanded = poll.demanded(ballot)
        if demanded not in (None, value):
            raise LogError("the votes that are shown demand another value than the one asked for")
        return voters

    def is_demanded(self, ballot: int, value: str, poll: Poll, /) -> bool:
        """Return whether a node need not accept a value itself: others may have decided on it."""
        return value in self.willing_to or (ballot > 0 and poll.demanded(ballot) == value)

    def vote(self, ballot: int, phase: Phase, value: str, /, *, heads: str = "") -> Vote:
        """Return the vote to make; `answer` and `quorum_for` were asked before."""
        if phase is not Phase.STATUS:
            return Vote(self.me, self.subject, ballot, phase, value, heads=heads)
        if self.lock is None:
            return Vote(self.me, self.subject, ballot, phase)
        return Vote(self.me, self.subject, ballot, phase, self.lock.value, self.lock.ballot)


def _check_quorum(voters: frozenset[int], poll: Poll, what: str) -> None:
    if len(voters) < poll.least:
        raise LogError(
            f"{len(voters)} of {poll.nodes} nodes are {what} by the votes that are shown; "
            f"{poll.least} are needed"
        )
