"""A sealed run as the coordinator drives it: batches of steps, then one opening.

A node that dies ends the batch under way; once it is back, all go on from the last state that they
have in common. When the coordinator dies, the next one learns from the nodes' logs what was begun,
and asks for it as it was. At the end the nodes decide by ballots which state is opened: that after
the last batch that all finished, unless they were about to open another. All nodes but one suffice.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from tacit.agreement.plan_parts import SealedParts
from tacit.coordinator.coordinator import Answered, Coordinator, count_run
from tacit.coordinator.node_client import NodeClient
from tacit.coordinator.voting import PAUSE_SECONDS, Decision, Election, reason_of
from tacit.errors import AbortError, EngineError, MpcError
from tacit.mpc import CLUSTER_SIZES, Session
from tacit.records.ballots import Phase, Subject, SubjectKind
from tacit.records.events import BatchBegun, PlanDecided, Sent, Voted
from tacit.records.ledger import (
    Disclosed,
    DisclosedProof,
    Parts,
)
from tacit.records.messages import MOST_GENERATIONS, Advance, BatchDone, OpenPlan, PlanOpened
from tacit.records.payload_parts import SealedPlan, join_plan, receive_proof
from tacit.records.requests import NO_ATTEMPT, Attempt, plan_hash

RESUME_SECONDS = 5.0
"""So long a search that has states at the nodes waits for an epoch, before it goes on without."""
MOST_HORIZON = 1 << 32
"""Far more steps than any run has, and few enough to be asked for."""
DECIDED = 1 << 63
"""In place of a ballot's number, later than all."""
OPENING_PATIENCE_SECONDS = 3.0
"""So long the opening is tried again where too few nodes have sent their part."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Steps that are asked for together."""

    first: int
    count: int
    horizon: int

    @property
    def end(self) -> int:
        return self.first + self.count


Advanced = Answered[DisclosedProof | None, BatchDone]
"""Of a batch, whether all plans are proved after it, at a step at which that is opened."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedByNodes(SealedPlan):
    """The one plan of a search, and the record of how the nodes opened it."""

    entry: Disclosed
    """With the plan, or without it where it is for its owners only."""
    sealed: list[SealedParts | None] = field(default_factory=list)
    """Per node its boxes for the owners, of those that answered."""


class SealedSearch:
    """One sealed search of an agreement, or a group of them that go on together."""

    def __init__(self, coordinator: Coordinator, search: int, /) -> None:
        self._coordinator = coordinator
        run = coordinator.agreement.sealed_run
        self.searches = run.group_of(search).searches
        """Those that go on together with this one."""
        self._search = self.searches[0]
        """By which the nodes know the group."""
        self._batches: dict[int, Batch] = {}
        self._common: Attempt | None = None
        """The attempt whose state all nodes keep, until something goes wrong."""
        self._last = NO_ATTEMPT
        """The last attempt of which that was known."""
        self.opened = False
        """Whether a node has voted on the plan before; then nothing but the opening follows."""
        subject = Subject(SubjectKind.PLAN, self._search)
        self._election = Election(coordinator, subject, voters=self._voters)
        self._decision: Decision | None = None
        self.finished = False
        """Whether it was opened that all plans are proved; then no step follows."""
        self._checkpoints, self._most = run.checkpoints, run.steps
        self._batch_lock = asyncio.Lock()
        """Held until a batch that was cancelled has ended its epoch, so that the next one begins
        with the states that nodes keep by then."""
        self.seed = 0
        self.sent = 0
        self.rounds = 0
        self.head: str | None = None
        """Of the counted runs of the series, once this one is counted."""
        self.counted_rounds = 0

    @property
    def step(self) -> int:
        """Return how many steps all nodes have finished, as far as we know."""
        return self._last.number

    async def start(self, *, until: float | None) -> None:
        """Have the nodes draw the secret start, unless the search has begun before.

        A search that has is resumed without an epoch, if one node keeps all from opening one: what
        the others keep can be opened all the same.
        """
        if self._coordinator.states.get(self._search):
            soon = asyncio.get_running_loop().time() + RESUME_SECONDS
            until = soon if until is None else min(until, soon)

        async def once() -> None:
            epoch = await self._coordinator.epoch()
            if self._state_before() is None:
                await self._attempt(epoch, Batch(0, 0, 1), NO_ATTEMPT)
            elif not self._batches:
                await self._recall()

        try:
            await self._coordinator.persist(once, until=until)
        except MpcError:
            if self._state_before() is None:
                raise
            await self._recall()

    async def _recall(self) -> None:
        """Learn what a coordinator before us has begun: nodes take it as it was and not otherwise.

        Where the epoch is ours by now, nothing of an earlier coordinator is added any more.
        """
        voted: list[tuple[int, int, Attempt]] = []
        begun, finished = defaultdict[int, Counter[Batch]](Counter), 0
        for log in await self._coordinator.fetch_logs_of_members():
            proved = False
            for event in log:
                match event:
                    case BatchBegun(search=k) if k == self._search:
                        begun[event.first][Batch(event.first, event.count, event.horizon)] += 1
                    case Sent(about=k, known=DisclosedProof(finished=True)) if k == self._search:
                        proved = True
                    case Voted(kind=SubjectKind.PLAN, about=k) if k == self._search:
                        self.opened = True
                        if event.phase is not Phase.STATUS:
                            vote = event.ballot, event.phase.place, Attempt(event.value)
                            voted.append(vote)
                    case PlanDecided(search=k) if k == self._search:
                        voted.append((DECIDED, 0, event.attempt))
            finished += proved
        # Of four nodes one may have made its log up: it ends no search, and names no state that the
        # others do not keep. What was decided is kept by all that may open it.
        self.finished = finished > (len(self._coordinator.clients) == max(CLUSTER_SIZES))
        for first, said in begun.items():
            # Of what one log alone says nothing is asked for that all nodes would refuse.
            possible = [(count, batch) for batch, count in said.items() if self._is_possible(batch)]
            if possible:
                self._batches[first] = max(possible, key=lambda each: each[0])[1]
        kept = self._coordinator.states.get(self._search, [])
        if likely := [vote for vote in voted if vote[-1] in kept]:
            # The nodes may have decided on it, or been about to.
            self._common = self._last = max(likely)[-1]

    def _is_possible(self, batch: Batch) -> bool:
        """Return whether nodes may have begun a batch, by the agreement."""
        return (
            0 < batch.count <= MOST_GENERATIONS
            and batch.end <= self._most
            and 0 < batch.horizon <= MOST_HORIZON
            and not any(batch.first < step < batch.end for step in self._checkpoints)
        )

    async def advance(self, count: int, horizon: int, /, *, until: float | None) -> Advanced:
        """Go on by so many steps; raises by the instant `until` if that did not work.

        What was begun before and not heard of is asked for again as it was, in place of this.
        A batch ends where it is opened whether all is proved.
        """
        async with self._batch_lock:
            return await self._advance(count, horizon, until=until)

    async def _advance(self, count: int, horizon: int, /, *, until: float | None) -> Advanced:
        first = self.step
        # A batch ends where something is disclosed, since nodes refuse one that goes beyond.
        ends = [step - first for step in self._checkpoints if step > first]
        count = min([count, *ends])
        batch = self._batches.setdefault(first, Batch(first, count, horizon))

        async def once() -> Advanced:
            epoch = await self._coordinator.epoch()
            while True:
                parent = self._state_before(batch.first)
                if parent is None:
                    raise EngineError("the nodes keep no common state of this search; start it")
                # One that a node lost comes again just as it was, before what is new.
                done = await self._attempt(epoch, self._batches[parent.number], parent)
                if done.attempt.number == batch.end:
                    return done

        try:
            return await self._coordinator.persist(once, until=until)
        except BaseException:
            self._common = None
            raise

    def _state_before(self, generation: int | None = None) -> Attempt | None:
        """Return the newest state that all nodes keep, up to a generation.

        After a failure it is what the nodes had when the new epoch began.
        """
        if self._common is None:
            kept = self._coordinator.states.get(self._search, [])
            if generation is not None:
                # Whatever they have beyond it we did not hear the end of, and ask for again.
                kept = [attempt for attempt in kept if attempt.number <= generation]
            self._common = max(kept, key=lambda attempt: attempt.number, default=None)
            self._last = self._common or self._last
        return self._common

    async def _attempt(self, epoch: int, batch: Batch, parent: Attempt) -> Advanced:
        coordinator = self._coordinator
        request = Advance(
            agreement=coordinator.hash,
            search=self._search,
            first=batch.first,
            count=batch.count,
            horizon=batch.horizon,
            epoch=epoch,
            attempt=coordinator.new_attempt(),
            parent_attempt=parent,
        )
        # Unknown until all have replied: some may keep the state after these steps, and some not.
        self._common = None
        replies: list[asyncio.Future[BatchDone]] = []
        try:
            answered = await coordinator.attempt(
                request, request.digest, lambda session: self._disclosed(session, batch)
            )
            replies = answered.replies
            # What was disclosed counts once all nodes have logged it and keep the state after it.
            self._finish(await coordinator.replies(answered))
        except BaseException:
            # What the nodes keep by now, they tell when the next epoch begins.
            coordinator.end_epoch()
            await coordinator.cancel(replies)
            raise
        self._common = self._last = answered.attempt
        if answered.payload is not None and answered.payload.finished:
            self.finished = True
        return answered

    async def _disclosed(self, session: Session, batch: Batch) -> DisclosedProof | None:
        if batch.count and batch.end in self._checkpoints:
            return await receive_proof(session)
        return None

    def _finish(self, replies: list[BatchDone]) -> None:
        (seed, nodes), *_ = Counter(reply.seed for reply in replies).most_common(1)
        # It follows from inputs that all honest nodes have frozen alike. Of four one may lie.
        if nodes < len(replies) - (len(replies) == max(CLUSTER_SIZES)):
            raise AbortError("the nodes", "derive different seeds from their inputs")
        self.seed = seed
        self.sent = max(reply.sent for reply in replies)
        self.rounds = max(reply.rounds for reply in replies)

    # The account, where balances are kept, and the opening.

    async def decide(self, *, until: float | None) -> Decision:
        """Have the nodes decide which state is opened; nothing of the search is computed then."""
        if not self._last:
            raise EngineError("nothing was searched yet, so there is no plan to open")
        if self._decision is None:
            self._decision = await self._election.decide(self._last, until=until)
            self.opened, self._last = True, Attempt(self._decision.value)
        return self._decision

    async def count(self, *, until: float | None) -> str | None:
        """Have all nodes count the run, once it is decided which plan is opened; the head with it.

        Without equity there is nothing to count.
        """
        if self._coordinator.agreement.equity is not None and self.head is None:
            done = await count_run(
                self._coordinator,
                search=self._search,
                state=self._last,
                votes=(await self.decide(until=until)).votes,
                until=until,
            )
            self.head, self.counted_rounds = done.head, done.rounds
        return self.head

    async def open(self, search: int | None = None, /, *, until: float | None) -> OpenedByNodes:
        """Open the plan, with all nodes or all but one; raises by `until` if fewer answer.

        Of a group, that of one of its searches.
        """
        search = self._search if search is None else search
        answers: dict[int, PlanOpened] = {}
        give_up = asyncio.get_running_loop().time() + OPENING_PATIENCE_SECONDS
        latest = give_up if until is None else min(until, give_up)
        while True:
            try:
                await self._open(search, answers, until=until)
                joined = self._join(search, answers)
                break
            except MpcError:
                # A node that restarts may be back in a moment; and a vote that came too late for
                # the first decision may be needed.
                self._decision = None
                if asyncio.get_running_loop().time() + PAUSE_SECONDS > latest:
                    raise
            await asyncio.sleep(PAUSE_SECONDS)
        heads = None
        nodes = range(len(self._coordinator.clients))
        sealed: list[SealedParts | None] = []
        if self._coordinator.agreement.for_owners:
            sealed = [answers[k].sealed if k in answers else None for k in nodes]
            heads = [None if each is None else each.heads for each in sealed]
        entry = Disclosed(
            search,
            self._last,
            plan_hash(search, self._last).hex(),
            joined.payload(heads),
            self._parts(answers),
            unchecked=self._coordinator.loss.has_happened,
        )
        return OpenedByNodes(
            plan=joined.plan,
            value=joined.value,
            step=self.step,
            outcome=joined.outcome,
            gap=joined.gap,
            components=joined.components,
            entry=entry,
            sealed=sealed,
        )

    async def _open(
        self, search: int, answers: dict[int, PlanOpened], *, until: float | None
    ) -> None:
        """Have the nodes decide, then ask for their parts of a plan; raises if some are missing."""
        try:
            decision = await self.decide(until=until)
        except TimeoutError:
            raise self._coordinator.blame() from None
        await self.count(until=until)
        # All but one are enough, so that one that is away holds up nobody.
        asking = [
            asyncio.ensure_future(self._ask_for_plan(client, search, decision, answers))
            for client in self._voters()
            if client.number not in answers
        ]
        try:
            async with asyncio.timeout_at(until):
                done: set[asyncio.Future[None]] = set()
                while len(done) < len(asking):
                    # Whoever comes last is not waited for, but is heard if it is there already.
                    # Where the others contradict each other, its word decides.
                    patience = 0.02 if self._joined(search, answers) is not None else None
                    more, _ = await asyncio.wait(
                        set(asking) - done, timeout=patience, return_when=asyncio.FIRST_COMPLETED
                    )
                    if not more:
                        break
                    done |= more
        except TimeoutError:
            pass
        finally:
            for task in asking:
                task.cancel()
            trouble = await asyncio.gather(*asking, return_exceptions=True)
        if len(answers) < len(self._coordinator.clients) - 1:
            what = "did not open the plan in time; all but one must answer"
            raise reason_of(trouble, nodes=len(self._coordinator.clients), otherwise=what)

    def _voters(self) -> list[NodeClient]:
        """Return all nodes, also one that was lost, but for one that is proven to cheat."""
        coordinator = self._coordinator
        return coordinator.loss.members if coordinator.loss.is_proven else [*coordinator.clients]

    def _parts(self, answers: Mapping[int, PlanOpened]) -> Parts:
        nodes = range(len(self._coordinator.clients))
        return [[(0, answers[node].components)] if node in answers else [] for node in nodes]

    def _join(self, search: int, answers: Mapping[int, PlanOpened]) -> SealedPlan:
        agreement = self._coordinator.agreement
        return join_plan(agreement, search, self._parts(answers), for_owners=agreement.for_owners)

    def _joined(self, search: int, answers: Mapping[int, PlanOpened]) -> SealedPlan | None:
        """Return the plan, if enough nodes have sent their parts of it and these fit together."""
        # Fewer cannot be checked against each other.
        if len(answers) < len(self._coordinator.clients) - 1:
            return None
        try:
            return self._join(search, answers)
        except AbortError:
            return None

    async def _ask_for_plan(
        self,
        client: NodeClient,
        search: int,
        decision: Decision,
        answers: dict[int, PlanOpened],
    ) -> None:
        if not client.connected:
            await client.connect()
        request = OpenPlan(
            agreement=self._coordinator.hash,
            search=search,
            attempt=self._last,
            votes=decision.votes,
            heads=decision.heads,
        )
        done = await (await client.ask(request, fence=self._coordinator.fence))
        sealed, boxes = done.sealed, len(self._coordinator.agreement.participants)
        if self._coordinator.agreement.for_owners and (
            sealed is None or len(sealed.boxes) != boxes
        ):
            raise AbortError(client.name, f"did not seal its part of the plan for {boxes} owners")
        answers[client.number] = done
