"""The evaluations of one objective, one after the other, on the nodes.

The answer is passed on as soon as it is there; whether every node has also kept what it needs later
(its shares of the best so far, the candidates for the final reveal) is looked at before the next
evaluation, and where one has not, the last evaluation is computed again under its number.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.engine.context import bound_context
from tacit.engine.coordinator import Coordinator
from tacit.engine.ledger import Parts
from tacit.engine.messages import Done, Evaluate, Message, Reveal, attempt_name
from tacit.engine.node_client import NodeClient
from tacit.engine.request import REVEAL_NUMBER, pack_candidates, request_hash
from tacit.errors import MpcError, PeerError, RefusedError
from tacit.mpc import Outcome, Session, Spec, collect


@dataclass(frozen=True, slots=True)
class Started:
    """An evaluation that has a number and no answer yet."""

    number: int
    candidates: bytes
    individuals: int
    basis: str


@dataclass(frozen=True, slots=True)
class Evaluated:
    """An evaluation that was answered, and what a repetition of it takes."""

    started: Started
    outcome: Outcome
    request: bytes
    attempt: str
    replies: list[asyncio.Future[Done]]
    parts: Parts

    @property
    def number(self) -> int:
        """The number that it counts as."""
        return self.started.number

    @property
    def candidates(self) -> bytes:
        """What was evaluated, as it was sent."""
        return self.started.candidates


class Evaluations:
    """One objective on the nodes."""

    def __init__(self, coordinator: Coordinator, objective: int, /) -> None:
        self._coordinator, self._objective = coordinator, objective
        self._terms = coordinator.agreement.objectives[objective]
        self._keeps_best = self._terms.keeps_best
        self._last: Evaluated | None = None
        self._started: Started | None = None
        self._broken_off: Started | None = None
        self.sent = 0
        self.rounds = 0

    async def evaluate(
        self, plans: NDArray[np.integer[Any]], /, *, until: float | None
    ) -> Evaluated:
        """Evaluate plans; at `until` at the latest there is an error that names a node."""
        candidates = pack_candidates(self._coordinator.agreement.problem, plans)

        if self._keeps_best and self._started is not None:
            self._broken_off = self._started
        self._started = None

        async def once() -> Evaluated:
            epoch = await self._coordinator.epoch()
            await self._settle(epoch)
            await self._make_up(epoch)
            started = self._start(candidates, len(plans))
            return await self._attempt(epoch, started)

        try:
            self._last = await self._coordinator.persist(once, until=until)
        except RefusedError:
            self._started = self._broken_off = None
            raise
        self._started = None
        self._count(self._last.number)
        return self._last

    def _count(self, number: int) -> None:
        numbers = self._coordinator.numbers
        numbers[self._objective] = max(numbers[self._objective], number)

    def _start(self, candidates: bytes, individuals: int) -> Started:
        """With the next free number, or the one that these candidates already have."""
        used = self._coordinator.numbers[self._objective]
        number = used + 1
        if self._started is not None and self._started.number >= used:
            number = self._started.number
        basis = self._coordinator.bases.get(self._objective, "") if self._keeps_best else ""
        self._started = Started(number, candidates, individuals, basis)
        return self._started

    async def _make_up(self, epoch: int) -> None:
        """Bring an evaluation to its end that ran out of time: the next one builds on its best."""
        started = self._broken_off
        if started is None:
            return
        if started.number >= self._coordinator.numbers[self._objective]:
            self._last = await self._attempt(epoch, started)
            self._count(started.number)
            await self._settle(epoch)
        self._broken_off = None

    async def _settle(self, epoch: int) -> None:
        """See that all nodes completed the last evaluation, and repeat it where one did not."""
        last = self._last
        if last is None:
            return
        try:
            dones = await self._coordinator.watch(asyncio.gather(*last.replies), last.replies)
        except (MpcError, PeerError):
            if self._keeps_best or self._coordinator.agreement.reveal_best:
                self._last = await self._attempt(epoch, last.started)
                await self._settle(epoch)
            else:
                self._last = None
            return
        self.sent = max(done.sent for done in dones)
        self.rounds = max([last.outcome.rounds, *(done.rounds for done in dones)])
        self._last = None
        if self._keeps_best:
            self._coordinator.bases[self._objective] = last.attempt

    async def settle(self, *, until: float | None) -> None:
        """Wait until all nodes have completed the last evaluation, for measuring."""

        async def once() -> None:
            await self._settle(await self._coordinator.epoch())

        await self._coordinator.persist(once, until=until)

    async def _attempt(self, epoch: int, started: Started) -> Evaluated:
        terms, objective = self._terms, self._objective
        coordinator = self._coordinator
        request = request_hash("evaluate", terms.disclosure, terms.best, started.candidates)
        attempt = coordinator.new_attempt()
        context = bound_context(
            coordinator.hash,
            objective,
            started.number,
            epoch=epoch,
            attempt=attempt,
            request=request,
            basis=started.basis,
        )

        def ask(client: NodeClient, epoch: int, attempt: int) -> Message:
            return Evaluate(
                id=client.new_id(),
                agreement=coordinator.hash,
                objective=objective,
                number=started.number,
                epoch=epoch,
                attempt=attempt,
                disclosure=terms.disclosure,
                best=terms.best,
                basis=started.basis,
                candidates=started.candidates,
            )

        async def receive(session: Session) -> Outcome:
            return await collect(
                session,
                started.individuals,
                spec=terms.spec,
                bound=coordinator.agreement.fitness_bound(objective),
                best="value" if terms.spec.kind == "none" else terms.best,
            )

        outcome, replies, parts = await coordinator.attempt(epoch, context, ask, receive)
        name = attempt_name(started.number, epoch, attempt)
        return Evaluated(started, outcome, request, name, replies, parts)

    async def reveal_best(self, plans: NDArray[np.integer[Any]], /, *, until: float | None) -> int:
        """Which of these evaluated plans is truly best, once, if the agreement allows it."""
        coordinator, objective = self._coordinator, self._objective
        candidates = pack_candidates(coordinator.agreement.problem, plans)
        request = request_hash("reveal", "top:1", "nothing", candidates)

        def ask(client: NodeClient, epoch: int, attempt: int) -> Message:
            return Reveal(
                id=client.new_id(),
                agreement=coordinator.hash,
                objective=objective,
                epoch=epoch,
                attempt=attempt,
                candidates=candidates,
            )

        async def receive(session: Session) -> Outcome:
            return await collect(
                session,
                len(plans),
                spec=Spec.parse("top:1"),
                bound=coordinator.agreement.fitness_bound(objective),
                best="nothing",
            )

        async def once() -> Outcome:
            epoch = await coordinator.epoch()
            # What was evaluated last must be known to all nodes before they choose among it.
            await self._settle(epoch)
            attempt = coordinator.new_attempt()
            context = bound_context(
                coordinator.hash,
                objective,
                REVEAL_NUMBER,
                epoch=epoch,
                attempt=attempt,
                request=request,
            )
            outcome, _, _ = await coordinator.attempt(epoch, context, ask, receive)
            return outcome

        outcome = await coordinator.persist(once, until=until)
        return int(np.flatnonzero(outcome.labels)[0])
