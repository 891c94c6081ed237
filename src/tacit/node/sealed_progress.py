"""Keep the secret state of sealed searches, what may follow it, and the boxes of an opened plan.

Searches that are solved together have one state, and are bound to it together. Most go alone.

::

    started    StartDrawn     a start may be drawn again until the first batch has begun
    batches    BatchBegun     logged and synced before it is computed: what follows a state is fixed
    bound      PlanBound      the one state whose plan may be opened; nothing is computed afterwards

The states after the last two batches are kept, so that all nodes always have one in common: a node
that lost the last one in a crash goes on from the one before, with fresh masks. A node binds itself
on the disk before a part of a plan leaves it; what is computed meanwhile ends first.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager

import msgspec

from tacit.agreement.plan_parts import SealedParts
from tacit.agreement.sealed_run import SealedRun
from tacit.mpc import ArithmeticShare
from tacit.node.policy import check_checkpoints, check_generations, refuse
from tacit.node.store import Store, Stored, decoder_of, encode_stored
from tacit.node.threads import to_the_end
from tacit.records.events import BatchBegun, PlanBound, PlanSealed, Sent, StartDrawn
from tacit.records.ledger import DisclosedProof, DisclosureKind, HeardBoxes
from tacit.records.messages import Advance
from tacit.records.recording_mux import sent_digest
from tacit.records.requests import Attempt, plan_hash

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
        self.opened: Attempt | None = None
        """The attempt whose plans this node is bound to; nothing follows it."""
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
                case PlanBound(search=k) if k in searches and self.opened is None:
                    self.opened = event.attempt

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
        return sorted({*self.names, *(self.from_peers if self.opened is None else [])})

    def forget(self) -> None:
        self._kept = []

    @property
    def names(self) -> list[Attempt]:
        """The attempts whose states are here, and may still be used."""
        return [kept.attempt for kept in self._kept if self.opened in (None, kept.attempt)]

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

    def _check_not_opened(self) -> None:
        if self._ending or self.opened is not None:
            raise refuse("the plan of this search was opened, which is its end; nothing follows")

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Run one computation at a time in this block; `bind` ends it early."""
        async with self.computing:
            self._scope = scope = asyncio.timeout(None)
            try:
                async with scope:
                    yield
            except TimeoutError:
                if scope.expired():
                    self._check_not_opened()
                raise
            finally:
                self._scope = None

    def begin_start(self, attempt: Attempt, /) -> None:
        """Allow a secret start, until the first step has begun."""
        self._check_not_opened()
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
        self._check_not_opened()
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

    async def bind(self, attempt: Attempt, /) -> Attempt:
        """Bind this node, on its disk, to the one state that it may open; return which it is.

        The first binding counts. A computation under way is ended first, so that no later state
        exists whose plan could be wanted.
        """
        if self.opened is None:
            self._ending = True
            if self._scope is not None and self._scope.when() is None:
                self._scope.reschedule(asyncio.get_running_loop().time())
            try:
                async with self.computing:
                    if self.opened is None:
                        for search in self.searches:
                            self._store.log.append(PlanBound(search, attempt))
                        self.opened = attempt
            finally:
                self._ending = False
        self._store.log.sync()
        return self.opened

    async def begin_open(self, attempt: Attempt, /) -> KeptState:
        """Bind this node to a state that is here, or refuse; its part leaves once peers agree."""
        kept = self.state(attempt)
        if self.opened not in (None, attempt) or await self.bind(attempt) != attempt:
            raise refuse("another plan of this search was opened, which happens once")
        return kept


class StoredParts(Stored, frozen=True, tag="plan boxes/1"):
    """The boxes with this node's part of a plan, and what else it releases of it."""

    attempt: Attempt
    sealed: SealedParts
    value: list[bytes]
    """Its components of the plan's value, where that is disclosed."""


_READ_PARTS = decoder_of(StoredParts)


class PlanBoxes:
    """The boxes of one sealed search, where its plan is for its owners only.

    They are sealed once, and always the same bytes leave the node: on the disk before the log says
    what they are, in the log before anybody hears of them. What is in them are shares that only
    their owners open, so they stay when the agreement has ended: an owner whose box was lost on the
    way gets it again.
    """

    def __init__(self, store: Store, search: int, /) -> None:
        self._store, self._search = store, search
        self._sealing = asyncio.Lock()
        self._logged: PlanSealed | None = None
        self._is_released = False
        self._parts: StoredParts | None = None
        for event in store.log.recent():
            match event:
                case PlanSealed(search=k) if k == search:
                    self._logged = event
                case Sent(kind=DisclosureKind.OWNERS_PLAN, about=k) if k == search:
                    self._is_released = True

    def released(self, attempt: Attempt, /) -> StoredParts | None:
        """The parts that were released of this attempt's plan; they are given out at any time."""
        parts = self._load() if self._is_released else None
        return parts if parts is not None and parts.attempt == attempt else None

    async def sealed(self, attempt: Attempt, seal: Callable[[], StoredParts], /) -> StoredParts:
        """The parts of the plan that this node is bound to; sealed now if they were not.

        Run to the end: a cancelled call must leave no thread that writes other boxes later.
        """
        return await to_the_end(self._sealed(attempt, seal))

    async def _sealed(self, attempt: Attempt, seal: Callable[[], StoredParts]) -> StoredParts:
        async with self._sealing:
            parts = self._load()
            if parts is None and self._logged is not None:
                raise refuse("the boxes of this plan are in the log and gone from the disk")
            # Boxes on the disk that the log does not name were sealed just before a crash. Nobody
            # has heard of them, so they may be replaced.
            if parts is None or (self._logged is None and parts.attempt != attempt):
                parts = await asyncio.to_thread(seal)
                await asyncio.to_thread(self._store.save_parts, self._search, encode_stored(parts))
                self._parts = parts
            if parts.attempt != attempt:
                raise refuse("the boxes here are of another plan of this search; one is opened")
            heads = parts.sealed.heads
            event = PlanSealed(self._search, attempt, heads.commitments, heads.boxes)
            if self._logged is None:
                self._store.log.append(event)
                self._logged = event
            elif (self._logged.commitments, self._logged.boxes) != (heads.commitments, heads.boxes):
                raise refuse("the boxes of this plan are not those that the log names")
            self._store.log.sync()
            return parts

    def release(self, parts: StoredParts, boxes: list[str], /) -> None:
        """Log that the boxes leave this node, and to which ones the nodes were bound by then.

        `boxes` are the hashes of the nodes' lists of boxes. Synced, since afterwards the node gives
        its boxes out without comparing with the peers again.
        """
        self._store.log_sent(
            DisclosureKind.OWNERS_PLAN,
            self._search,
            parts.attempt,
            plan_hash(self._search, parts.attempt),
            lambda salt: sent_digest(salt, [(0, parts.value)]),
            known=HeardBoxes(boxes),
        )
        self._store.log.sync()
        self._is_released = True

    def _load(self) -> StoredParts | None:
        if self._parts is None:
            data = self._store.load_parts(self._search)
            self._parts = None if data is None else _READ_PARTS.decode(data)
        return self._parts
