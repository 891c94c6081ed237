"""Keep the secret state of sealed searches, what may follow it, and which state is opened.

Searches that are solved together have one state, and are opened from it together. Most go alone.

::

    started    StartDrawn     a start may be drawn again until the first batch has begun
    batches    BatchBegun     logged and synced before it is computed: what follows a state is fixed
    voted      Voted          a vote on the state to open; nothing is computed afterwards
    decided    PlanDecided    the one state whose plans are opened

The states after the last two batches are kept, so that all nodes always have one in common: a node
that lost the last one in a crash goes on from the one before, with fresh masks. Before a node
votes, what it computes ends.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

import msgspec

from tacit.agreement.sealed_run import SealedRun
from tacit.mpc import ArithmeticShare
from tacit.node.policy import check_checkpoints, check_generations, refuse
from tacit.node.store import Store, Stored, decoder_of, encode_stored
from tacit.node.threads import to_the_end
from tacit.records.ballots import Subject, SubjectKind
from tacit.records.events import BatchBegun, PlanDecided, Sent, StartDrawn, Voted
from tacit.records.ledger import DisclosedProof
from tacit.records.messages import Advance
from tacit.records.requests import Attempt

KEPT_STATES = 2
KEPT_RUNS = 16
"""How many batches are remembered as they were begun."""


class KeptState(Stored, frozen=True, tag="sealed state/1"):
    """The state of a group of searches after a step, as this node keeps it on its disk."""

    step: int
    attempt: Attempt
    """The attempt that it comes from."""
    shares: Sequence[ArithmeticShare]
    """All that is needed to go on; last the plans that may be opened."""
    plan_keys: Mapping[int, bytes] = msgspec.field(default_factory=dict)
    """Where the plan is for its owners: per component a key that all its holders drew, and nobody
    else. Commitments to the component are made with it."""

    @property
    def plans(self) -> ArithmeticShare:
        """The plan that may be opened, or one line for each of several."""
        return self.shares[-1]


_READ_STATE = decoder_of(KeptState)


class SealedProgress:
    """One sealed search at one node, or several that go on together."""

    def __init__(self, store: Store, searches: Sequence[int], /) -> None:
        self._store, self.searches = store, searches
        self._search = searches[0]
        """The first one, which names the group."""
        states = map(store.load_state, store.state_names(f"sealed-{self._search}-"))
        self._kept = sorted(
            (_READ_STATE.decode(data) for data in states if data), key=lambda kept: kept.step
        )
        self.from_peers: list[Attempt] = []
        """The attempts whose states the peers have and hand over to this node, which has none."""
        self._ends: dict[int, int] = {}
        self._requests: dict[int, str] = {}
        self.is_over = False
        """Whether the node has voted on the state to open; nothing is computed afterwards."""
        self.decided: Attempt | None = None
        """The attempt whose plans are opened, once that is decided."""
        self.decided_by: list[bytes] = []
        """The votes that decided it."""
        self.finished: int | None = None
        """The step after which it was disclosed that all plans are proved optimal."""
        self.started: float | None = None
        """When this node first worked on it, in seconds since 1970 by its own clock."""
        self._ending = False
        self.computing = asyncio.Lock()
        """Held until the state of the computation under way is kept."""
        self._scope: asyncio.Timeout | None = None
        for event in store.log.recent():
            match event:
                case BatchBegun(search=k) if k == self._search:
                    self._start_clock(event.at)
                    self._began(event)
                case Sent(about=k, known=DisclosedProof(finished=True)) if k == self._search:
                    self.finished = event.attempt.number
                case StartDrawn(search=k) if k == self._search:
                    self._start_clock(event.at)
                case Voted(kind=SubjectKind.PLAN, about=k) if k == self._search:
                    self.is_over = True
                case PlanDecided(search=k) if k == self._search:
                    self.decided = event.attempt
                    self.decided_by = [bytes.fromhex(each) for each in event.votes]

    def _start_clock(self, now: float) -> None:
        # The first time counts: a platform that has a start drawn again gains no time by it.
        if self.started is None:
            self.started = float(now)

    def _began(self, event: BatchBegun) -> None:
        self._ends[event.first] = event.first + event.count
        self._requests[event.first] = event.request
        # Nothing is asked for again that begins before the states that are kept.
        for first in sorted(self._ends)[:-KEPT_RUNS]:
            del self._ends[first], self._requests[first]

    @property
    def of_three(self) -> list[Attempt]:
        """The attempts that three nodes of four computed: the states are of three."""
        full = len(self._store.agreement.nodes) - 1
        return [kept.attempt for kept in self._kept if len(kept.plans.parts) < full]

    @property
    def available(self) -> list[Attempt]:
        """The attempts whose states are here or would be handed over."""
        return sorted({*self.names, *(self.from_peers if self.decided is None else [])})

    def forget(self) -> None:
        self._kept = []

    @property
    def names(self) -> list[Attempt]:
        """The attempts whose states are here, and may still be used."""
        return [kept.attempt for kept in self._kept if self.decided in (None, kept.attempt)]

    def state(self, attempt: Attempt, /) -> KeptState:
        """The state that an attempt left, if it is here."""
        for kept in self._kept:
            if kept.attempt == attempt:
                return kept
        raise refuse(f"the state that attempt '{attempt}' left is not here; use another")

    def plan_of(self, search: int, kept: KeptState, /) -> ArithmeticShare:
        """The plan of one of the searches in a state."""
        plans = kept.plans
        return plans if len(plans.shape) == 1 else plans[self.searches.index(search)]

    @property
    def subject(self) -> Subject:
        """What nodes vote on to open a state of this group."""
        return Subject(SubjectKind.PLAN, self._search)

    def _check_not_over(self) -> None:
        if self._ending or self.is_over or self.decided is not None:
            raise refuse("the plan of this search is opened, which is its end; nothing follows")

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Run one computation at a time in this block; `ending` ends it early."""
        async with self.computing:
            self._scope = scope = asyncio.timeout(None)
            try:
                async with scope:
                    yield
            except TimeoutError:
                if scope.expired():
                    self._check_not_over()
                raise
            finally:
                self._scope = None

    def begin_start(self, attempt: Attempt, /) -> None:
        """Allow a secret start, until the first step has begun."""
        self._check_not_over()
        if self._ends:
            raise refuse("this search has begun; it does not start again")
        self._store.log.append(StartDrawn(self._search, attempt))
        # Synced, as the clock starts here: after a power cut it must not start later.
        self._store.log.sync()
        self._start_clock(time.time())

    def begin(self, request: Advance, attempt: Attempt, run: SealedRun, /) -> KeptState | None:
        """Allow a batch or refuse it; when this returns, the disk says that it has begun.

        Returns the state to go on from, None where the peers hand it over.
        """
        self._check_not_over()
        first, count, horizon = request.first, request.count, request.horizon
        parent, ends = request.parent_attempt, self._ends
        if parent in self.from_peers:
            # This node knows where the batches ended that the peers began meanwhile, and no more.
            ends = {-1: parent.number, **ends}
        check_generations(first, count, horizon, most=run.steps, ends=ends)
        check_checkpoints(first, count, checkpoints=run.checkpoints, finished=self.finished)
        kept = None if parent in self.from_peers else self.state(parent)
        if parent.number != first:
            raise refuse(f"attempt '{parent}' ended at step {parent.number}, not {first}")
        digest = request.digest.hex()
        if self._requests.get(first, digest) != digest:
            raise refuse(f"the steps after {first} were begun otherwise; ask for the same")
        event = BatchBegun(self._search, first, count, horizon, digest, attempt, parent)
        self._store.log.append(event)
        self._store.log.sync()
        # A node that was away at the start gets its state handed over and begins here.
        self._start_clock(time.time())
        self._began(event)
        return kept

    async def keep(self, new: KeptState, /) -> None:
        """Keep a state on the disk, and of those before it the last one."""
        # To the end: a thread that writes on after its caller was cancelled could overwrite the
        # state of a later attempt.
        await to_the_end(self._keep(new))

    async def _keep(self, new: KeptState) -> None:
        name = f"sealed-{self._search}-{new.step}"
        await asyncio.to_thread(self._store.save_state, name, encode_stored(new))
        states = [kept for kept in self._kept if kept.step < new.step]
        self._kept = [*states, new][-KEPT_STATES:]
        # Only now: until the new state is on the disk, a crash goes back to an old one.
        for old in states[: 1 - KEPT_STATES]:
            self._store.drop_state(f"sealed-{self._search}-{old.step}")

    @asynccontextmanager
    async def ending(self) -> AsyncIterator[None]:
        """End the computation under way, and let none begin in this block.

        So no later state exists whose plan could be wanted, when this node votes on one.
        """
        self._ending = True
        if self._scope is not None and self._scope.when() is None:
            self._scope.reschedule(asyncio.get_running_loop().time())
        try:
            async with self.computing:
                yield
        finally:
            self._ending = False

    async def decide(self, attempt: Attempt, votes: Sequence[bytes], /) -> None:
        """Log which state is opened, with the votes that decided it; refuse another one.

        Not synced: the votes are, at their authors, and any quorum of them would decide the same.
        """
        if self.decided is None:
            async with self.ending():
                if self.decided is None:
                    shown = [each.hex() for each in votes]
                    event = PlanDecided(self._search, [*self.searches], attempt, shown)
                    self._store.log.append(event)
                    self.decided, self.decided_by = attempt, [*votes]
        self.check_not_decided_otherwise(attempt)

    def check_not_decided_otherwise(self, attempt: str, /) -> None:
        if self.decided not in (None, attempt):
            raise refuse("another plan of this search was opened, which happens once")
