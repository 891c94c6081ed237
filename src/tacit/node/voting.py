"""Vote in ballots: each vote on the node's disk before it leaves, the same one however often asked.

`tacit.records.ballots` says which votes follow from which. Here a node keeps its own, looks whether
it accepts a value, and finds out itself whether the third of three nodes is out of reach.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from tacit.agreement.plan_parts import PlanHeads
from tacit.errors import LogError, RefusedError
from tacit.mpc import CLUSTER_SIZES, party_name
from tacit.node.plan_boxes import sealed_parts
from tacit.node.policy import refuse
from tacit.node.sealed_progress import KeptState, SealedProgress
from tacit.node.store import Store
from tacit.records.ballots import (
    OwnVotes,
    Phase,
    Poll,
    Subject,
    SubjectKind,
    Vote,
    heads_digest,
)
from tacit.records.events import Voted
from tacit.records.messages import CastVote, RefusalKind, VoteCast
from tacit.records.requests import Attempt

if TYPE_CHECKING:
    from tacit.node.agreement_state import AgreementState
    from tacit.node.server import Node


class KeptVotes:
    """The votes of this node in one agreement, by what they are about."""

    def __init__(self, store: Store, *, node: int) -> None:
        self._store, self._node = store, node
        self._own: dict[Subject, OwnVotes] = {}
        self.turns: defaultdict[Subject, asyncio.Lock] = defaultdict(asyncio.Lock)
        """Held while a vote is decided on and written, so that none is cast beside another."""

    def of(self, subject: Subject, /) -> OwnVotes:
        if subject not in self._own:
            self._own[subject] = OwnVotes(self._node, subject)
        return self._own[subject]

    def replay(self, event: Voted) -> None:
        """Restore the state from a line of the log, when the node starts."""
        vote = Vote(
            self._node,
            Subject(event.kind, event.about),
            event.ballot,
            event.phase,
            event.value,
            event.locked,
            event.heads,
        )
        self.of(vote.subject).add(vote, [bytes.fromhex(each) for each in event.votes])

    def write(self, vote: Vote, quorum: Sequence[bytes] = (), /) -> None:
        """Write a vote; it is in memory as soon as its line is there, synced or not.

        Else a disk that fails to sync would have it, and this node would vote otherwise.
        """
        subject = vote.subject
        self._store.log.append(
            Voted(
                subject.kind,
                subject.about,
                vote.ballot,
                vote.phase,
                vote.value,
                vote.locked,
                vote.heads,
                [each.hex() for each in quorum],
            )
        )
        self.of(subject).add(vote, quorum)


async def cast_vote(node: Node, state: AgreementState, request: CastVote) -> VoteCast:
    """The vote that is asked for, if the votes of others allow it, or the node's latest one."""
    subject, votes = request.subject, state.votes
    progress = _group(state, subject)
    poll = read_poll(state, subject, request.votes)
    own = votes.of(subject)
    async with votes.turns[subject]:
        vote = own.answer(request.ballot, request.phase)
        if vote is None:
            vote = await _new_vote(node, state, request, poll, progress)
        # Also where it was written before: that time the disk may have failed.
        state.store.log.sync()
        heads = await _heads(node, state, progress, vote)
    return VoteCast(
        id=request.id,
        vote=vote.sign(node.own_keys.signing(state.agreement), state.hash),
        proof=own.lock_votes if vote.phase is Phase.STATUS else [],
        heads=heads,
    )


def _group(state: AgreementState, subject: Subject) -> SealedProgress | None:
    """The searches that a vote is about; None if it is about inputs."""
    if subject.kind is SubjectKind.PLAN:
        return state.search(subject.about, goes_on=True)
    state.inputs.check_objective(subject.about)
    return None


def read_poll(state: AgreementState, subject: Subject, votes: Sequence[bytes], /) -> Poll:
    """Read votes that a platform shows; refused if one is not what its author signed."""
    try:
        return Poll.read(state.agreement, subject, votes)
    except LogError as error:
        raise refuse(str(error)) from None


async def _new_vote(
    node: Node,
    state: AgreementState,
    request: CastVote,
    poll: Poll,
    progress: SealedProgress | None,
) -> Vote:
    own = state.votes.of(request.subject)
    ballot, phase, value = request.ballot, request.phase, request.value
    try:
        voters = own.quorum_for(ballot, phase, value, poll)
    except LogError as error:
        raise refuse(str(error)) from None
    if voters and _all_count(state) and node.number not in voters:
        raise _absent(node.number)
    await check_present(node, state, voters)
    if progress is not None and phase is not Phase.STATUS:
        progress.check_not_decided_otherwise(value)
    if phase is Phase.WILLING and not own.is_demanded(ballot, value, poll):
        _check_accepted(state, request.subject, progress, value)
    async with _undisturbed(progress):
        vote = own.vote(ballot, phase, value)
        if phase is Phase.BOUND and (heads := await _sealed_heads(node, state, progress, value)):
            vote = own.vote(ballot, phase, value, heads=heads_digest(heads))
        quorum = poll.signed_by(Phase.WILLING, ballot, value) if phase is Phase.BOUND else []
        state.votes.write(vote, quorum)
        if progress is not None:
            progress.is_over = True
    return vote


def _check_accepted(
    state: AgreementState, subject: Subject, progress: SealedProgress | None, value: str
) -> None:
    """Refuse a value that this node would not take by itself."""
    if progress is None:
        if value != state.inputs.accepted.get(subject.about):
            what = "these inputs were not checked here; have them prepared"
            raise refuse(what, kind=RefusalKind.MISSING)
        return
    kept = progress.state(Attempt(value))
    state.check_long_enough(progress.searches[0], kept.attempt, now=time.time())


async def check_present(node: Node, state: AgreementState, voters: AbstractSet[int], /) -> None:
    """Refuse the votes of two of three nodes while the third can be reached: it may know better.

    Its disk may be the only one that was not set back. Of four nodes a quorum has an honest node in
    common with any other, so nobody is asked.
    """
    if not _all_count(state):
        return
    peers = [peer for peer in range(len(state.agreement.nodes)) if peer != node.number]
    # Asked before it matters: the opening at the deadline waits for a node that hangs once.
    answers = {peer: node.presence.ask(peer) for peer in peers}
    for peer, answer in answers.items():
        if voters and peer not in voters and answer is not None and await asyncio.shield(answer):
            raise _absent(peer)


def _all_count(state: AgreementState) -> bool:
    """Whether a quorum must have all nodes that can be reached."""
    return len(state.agreement.nodes) == min(CLUSTER_SIZES)


def _absent(peer: int) -> RefusedError:
    return refuse(
        f"{party_name(peer)} can be reached, and its vote is not among those shown; ask it, too",
        kind=RefusalKind.ABSENT,
    )


@asynccontextmanager
async def _undisturbed(progress: SealedProgress | None) -> AsyncIterator[None]:
    if progress is None:
        yield
        return
    async with progress.ending():
        yield


async def _heads(
    node: Node, state: AgreementState, progress: SealedProgress | None, vote: Vote
) -> list[PlanHeads]:
    """What binds this node to its parts of the plans of a state, if the vote names it."""
    if progress is None or not vote.heads:
        return []
    return await _sealed_heads(node, state, progress, vote.value)


async def _sealed_heads(
    node: Node, state: AgreementState, progress: SealedProgress | None, value: str
) -> list[PlanHeads]:
    """Seal this node's parts of the plans of a state; nothing where it does not have the state."""
    if progress is None or not state.agreement.for_owners or value not in progress.names:
        return []
    kept = progress.state(Attempt(value))
    parts = [await sealed_parts(node, state, search, kept) for search in progress.searches]
    return [each.sealed.heads for each in parts]


async def decided_votes(
    node: Node, state: AgreementState, subject: Subject, votes: Sequence[bytes], /
) -> tuple[str, list[bytes]]:
    """Return what votes have decided on, and those of them that did; refused if none did."""
    poll = read_poll(state, subject, votes)
    found = poll.decided()
    if found is None:
        raise refuse("no quorum is bound to this state by the votes shown; ask for more votes")
    await check_present(node, state, poll.voters(Phase.BOUND, *found))
    return found[1], poll.signed_by(Phase.BOUND, *found)


async def decided_state(
    node: Node, state: AgreementState, search: int, attempt: Attempt, votes: Sequence[bytes], /
) -> KeptState:
    """The state whose plan may be opened or counted; refused unless votes show that it is decided.

    Once they did, the node remembers it, with the votes.
    """
    progress = state.search(search)
    progress.check_not_decided_otherwise(attempt)
    kept = progress.state(attempt)
    if progress.decided is None:
        value, quorum = await decided_votes(node, state, progress.subject, votes)
        if value != attempt:
            raise refuse("no quorum is bound to this state by the votes shown; ask for more votes")
        await progress.decide(attempt, quorum)
    return kept
