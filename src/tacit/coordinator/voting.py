"""Run ballots: ask nodes for votes, pass these on, and begin the next ballot after a split.

The platform decides nothing here. Nodes believe votes for their signatures alone, and a platform
that runs ballots badly has no plan. Every request may be repeated: a node gives the same vote.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tacit.agreement.plan_parts import PlanHeads
from tacit.coordinator.node_client import NodeClient
from tacit.errors import (
    AbortError,
    LogError,
    LoneRefusalError,
    MpcError,
    PeerTimeoutError,
    RefusedError,
)
from tacit.mpc import CLUSTER_SIZES
from tacit.records.ballots import MOST_BALLOTS, Phase, Poll, Subject, Vote, contradicting, read_vote
from tacit.records.messages import CastVote, RefusalKind, VoteCast

if TYPE_CHECKING:
    from tacit.coordinator.coordinator import Coordinator

PAUSE_SECONDS = 0.05
PATIENCE_SECONDS = 0.02
"""So long the last of four nodes is waited for where three have voted alike."""
LONGER_SECONDS = 0.15
"""So long the last of three nodes is waited for: the others need its vote if it can be reached. So
long, at first, the last of four is waited for where the others have voted differently."""
MOST_PATIENCE_SECONDS = 3.0
GIVE_UP_SECONDS = 10.0
"""So long the vote of the third of three nodes is asked for, where the others still reach it."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What the nodes have decided on, with the votes that show it."""

    value: str
    votes: list[bytes]
    heads: dict[int, list[PlanHeads]]
    """Where a plan is for its owners, what each of these nodes is bound to."""


class Election:
    """The ballots on one subject, as far as this coordinator knows them."""

    def __init__(
        self,
        coordinator: Coordinator,
        subject: Subject,
        /,
        *,
        voters: Callable[[], Iterable[NodeClient]],
    ) -> None:
        """`voters` are the nodes to ask now."""
        self._coordinator, self._subject, self._voters = coordinator, subject, voters
        self._votes: dict[bytes, Vote] = {}
        """All that were ever heard, by what was signed."""
        self._heads: dict[int, list[PlanHeads]] = {}
        self._silent: set[int] = set()
        """Nodes that did not answer the last time; those are not waited for."""
        self._splits = 0
        """How many ballots did not come to their end."""

    async def decide(self, value: str, /, *, until: float | None) -> Decision:
        """Have the nodes decide, on this value unless they were about to decide on another one.

        Raises the reason by `until`, or once a node refuses that is needed.
        """
        ballot = self._ballot
        give_up = asyncio.get_running_loop().time() + GIVE_UP_SECONDS
        async with asyncio.timeout_at(until):
            while True:
                try:
                    decided = await self._run(ballot, value)
                except RefusedError as error:
                    # The last of three nodes is there, and was too slow: it has voted by now.
                    if error.kind != RefusalKind.ABSENT:
                        raise
                    if asyncio.get_running_loop().time() > give_up:
                        raise
                    self._silent.clear()
                    await asyncio.sleep(PAUSE_SECONDS)
                    continue
                if decided is not None:
                    return decided
                # Nodes are in a later ballot, or have voted differently in this one.
                self._splits += 1
                ballot = self._next(ballot)

    async def locked(self) -> str | None:
        """Return the value that a node may have acted on, if one is locked on any."""
        ballot = self._next(self._ballot)
        await self._ask(ballot, Phase.STATUS, "", [])
        return self._shown(self._statuses(ballot)).demanded(ballot)

    def _shown(self, votes: list[bytes]) -> Poll:
        return Poll(self._poll.nodes, {each: self._votes[each] for each in votes})

    @property
    def _ballots(self) -> list[int]:
        """Per node the latest ballot that it has voted in, the highest first."""
        latest: dict[int, int] = {}
        for vote in self._votes.values():
            latest[vote.author] = max(vote.ballot, latest.get(vote.author, 0))
        return sorted(latest.values(), reverse=True)

    @property
    def _ballot(self) -> int:
        """Return the latest ballot that nodes are in: of four, as two say, since one may lie."""
        lies = len(self._coordinator.clients) - 3
        return ([*self._ballots, 0, 0])[lies]

    def _next(self, ballot: int) -> int:
        """Return the ballot to try after this one.

        One node alone may be in a later one, and be needed. It is come up with in longer and longer
        steps: a node that lies about it must not push the others to the last number there is.
        """
        highest = max([*self._ballots, 0])
        step = min(ballot + (1 << self._splits), highest)
        return min(max(ballot, self._ballot, step) + 1, MOST_BALLOTS)

    @property
    def _poll(self) -> Poll:
        return Poll(len(self._coordinator.clients), self._votes)

    def _signed(self, phase: Phase, ballot: int, value: str) -> list[bytes]:
        return self._poll.signed_by(phase, ballot, value)

    async def _run(self, ballot: int, value: str) -> Decision | None:
        """Run one ballot; None if it cannot come to its end."""
        shown: list[bytes] = []
        if ballot > 0:
            await self._ask(ballot, Phase.STATUS, "", [])
            shown = self._statuses(ballot)
            if len(_said(self._shown(shown), ballot)) < self._poll.least:
                return None
            value = self._shown(shown).demanded(ballot) or value

        await self._ask(ballot, Phase.WILLING, value, shown)
        willing = self._poll.quorum_of(Phase.WILLING, ballot)
        if willing is None or self._is_split(Phase.WILLING, ballot):
            return None
        shown = self._signed(Phase.WILLING, ballot, willing)
        await self._ask(ballot, Phase.BOUND, willing, shown)
        if self._poll.quorum_of(Phase.BOUND, ballot) is None or self._is_split(Phase.BOUND, ballot):
            return None
        bound = self._signed(Phase.BOUND, ballot, willing)
        return Decision(willing, bound, dict(self._heads))

    def _is_split(self, phase: Phase, ballot: int) -> bool:
        """Return whether one of three nodes has voted otherwise: the others do not pass over it."""
        values = {
            vote.value
            for vote in self._votes.values()
            if (vote.phase, vote.ballot) == (phase, ballot)
        }
        return len(values) > 1 and self._poll.nodes == 3

    def _statuses(self, ballot: int) -> list[bytes]:
        """Return the statuses of a ballot, and the votes that prove their locks.

        One of each author that counts: a node that lies may have sent more, without proof.
        """
        counted = self._poll.statuses(ballot)
        statuses = {vote.author: signed for signed, vote in self._votes.items() if vote in counted}
        locks = {(self._votes[each].locked, self._votes[each].value) for each in statuses.values()}
        proofs = [
            signed
            for locked, value in sorted(locks)
            if locked >= 0
            for signed in self._signed(Phase.WILLING, locked, value)
        ]
        return [*statuses.values(), *proofs]

    async def _ask(self, ballot: int, phase: Phase, value: str, votes: list[bytes]) -> None:
        """Ask all nodes for their votes, and wait until enough of them are there."""
        request = CastVote(
            agreement=self._coordinator.hash,
            subject=self._subject,
            ballot=ballot,
            phase=phase,
            value=value,
            votes=votes,
        )
        voters = list(self._voters())
        asking = {asyncio.ensure_future(self._vote_of(each, request)): each for each in voters}
        try:
            await self._wait(asking, lambda: self._is_settled(phase, ballot))
        finally:
            for task in asking:
                task.cancel()
            trouble = await asyncio.gather(*asking, return_exceptions=True)
        self._silent = {
            each.number for task, each in asking.items() if task.cancelled() or task.exception()
        }
        self._name_liars()
        answered = len(voters) - len(self._silent)
        if answered < self._poll.least:
            what = "did not vote in time; all but one must"
            raise reason_of(trouble, nodes=self._poll.nodes, otherwise=what)

    def _is_settled(self, phase: Phase, ballot: int) -> bool:
        if phase is Phase.STATUS:
            return len(_said(self._poll, ballot)) >= self._poll.least
        return self._poll.quorum_of(phase, ballot) is not None

    async def _wait(
        self, asking: dict[asyncio.Task[None], NodeClient], is_settled: Callable[[], bool]
    ) -> None:
        waiting = set(asking)
        least, of_three = self._poll.least, len(self._coordinator.clients) == 3
        # Longer each time: of four nodes one that lies must not make a slow one come too late for
        # ever.
        longer = min(LONGER_SECONDS * (1 << min(self._splits, 8)), MOST_PATIENCE_SECONDS)
        while waiting:
            answered = sum(not each.exception() for each in asking if each.done())
            if answered + len(waiting) < least:
                return
            # Whoever comes last is not waited for where the others suffice, and who was silent
            # before is not even given time. But where one of four splits the others, the last one
            # is needed, however slow it was.
            hoped = any(asking[each].number not in self._silent for each in waiting)
            patience = longer
            if of_three or is_settled():
                patience = (longer if of_three else PATIENCE_SECONDS) if hoped else 0.0
            done, waiting = await asyncio.wait(
                waiting,
                timeout=None if answered < least else patience,
                return_when=asyncio.FIRST_COMPLETED,
            )
            if not done:
                return

    async def _vote_of(self, client: NodeClient, request: CastVote) -> None:
        if not client.connected:
            await client.connect()
        cast: VoteCast = await (await client.ask(request, fence=self._coordinator.fence))
        agreement = self._coordinator.agreement
        try:
            vote = read_vote(agreement, cast.vote)
            proof = {each: read_vote(agreement, each) for each in cast.proof}
        except LogError as error:
            raise AbortError(client.name, f"sent no vote: {error}") from None
        if vote.author != client.number or vote.subject != self._subject:
            raise AbortError(client.name, "sent a vote that is not its own on this")
        # Nodes refuse all that is shown with a vote about something else, so none may get in here.
        if any(each.subject != self._subject for each in proof.values()):
            raise AbortError(client.name, "proves its lock by votes about something else")
        self._votes |= {cast.vote: vote, **proof}
        if cast.heads:
            self._heads[client.number] = cast.heads

    def _name_liars(self) -> None:
        """Keep two votes of a node that has voted twice in one phase: that names it."""
        twice = contradicting(self._votes)
        if twice:
            self._coordinator.examine(twice)


def _said(poll: Poll, ballot: int) -> set[int]:
    return {vote.author for vote in poll.statuses(ballot)}


def reason_of(
    trouble: Iterable[BaseException | None], /, *, nodes: int, otherwise: str
) -> BaseException:
    """Return why too few nodes have answered: what most refuse says most.

    Of four nodes one refuses as it likes: by itself that is its failure, which ends nothing while
    another one is away for a moment; and it hides no refusal that says what to do.
    """
    found = [error for error in trouble if isinstance(error, RefusedError | MpcError)]
    refusals = [error for error in found if isinstance(error, RefusedError)]
    if len(refusals) == 1 and nodes == max(CLUSTER_SIZES):
        return LoneRefusalError(refusals[0])
    kinds = Counter(error.kind for error in refusals)
    refusals.sort(key=lambda error: (kinds[error.kind], bool(error.kind)), reverse=True)
    return next(iter([*refusals, *found]), PeerTimeoutError("the nodes", otherwise))
