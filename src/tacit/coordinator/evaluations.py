"""The evaluations of one objective, one after the other, on the nodes.

The answer is passed on as soon as it is there; whether every node has also kept what it needs later
(its shares of the best so far, the candidates for the final reveal, the line that proves what it
sent) is looked at before the next evaluation, and where one has not, the last one is computed again
under its number. So only the last answer of all can lack a node's line.

A coordinator that follows another one under the same agreement (`go_on_after`) resumes where that
one left the nodes: what was asked for and not answered is asked for again under its number.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.coordinator.coordinator import Answered, Coordinator, Counted, count_run
from tacit.errors import EngineError, MpcError, RefusedError
from tacit.mpc import CLUSTER_SIZES, Session
from tacit.records.ledger import DisclosedLabels, DisclosureKind, Payload
from tacit.records.messages import Computed, Evaluate, Reveal
from tacit.records.payload_parts import receive_labels, receive_payload
from tacit.records.requests import NO_ATTEMPT, Attempt, pack_candidates, request_hash


@dataclass(frozen=True, slots=True)
class Started:
    """An evaluation that has a number and no answer yet."""

    number: int
    candidates: bytes
    individuals: int
    parent_attempt: Attempt


Evaluated = Answered[DisclosedLabels, Computed]


class Evaluations:
    """One objective on the nodes."""

    def __init__(
        self,
        coordinator: Coordinator,
        objective: int,
        /,
        *,
        answered_again: Callable[[Evaluated], object] = lambda _: None,
    ) -> None:
        self._coordinator, self._objective = coordinator, objective
        self._answered_again = answered_again
        self._terms = coordinator.agreement.objectives[objective]
        self._keeps_best = self._terms.keeps_best
        self._chosen = coordinator.agreement.search.populations == "chosen"
        self._last: tuple[Started, Evaluated] | None = None
        """What was answered last, until all nodes have completed it."""
        self._started: Started | None = None
        self._aborted: Started | None = None
        self._answered_before: Started | None = None
        self._again: int | None = None
        """The number that the next evaluation already has, if the nodes know it."""
        self.sent = 0
        self.rounds = 0

    def go_on_after(self, number: int, plans: NDArray[np.integer[Any]], /) -> None:
        """Follow a coordinator that saw this evaluation answered last; 0 if it saw none."""
        problem = self._coordinator.agreement.known_problem
        candidates = pack_candidates(problem, plans) if number else b""
        self._answered_before = Started(number, candidates, len(plans), NO_ATTEMPT)

    async def evaluate(
        self, plans: NDArray[np.integer[Any]], /, *, until: float | None
    ) -> Evaluated:
        """Evaluate plans; at `until` at the latest there is an error that names a node."""
        candidates = pack_candidates(self._coordinator.agreement.known_problem, plans)

        # It was begun and not heard of. Nodes may have used its number, and the next builds on its
        # best.
        if self._keeps_best and self._started is not None:
            self._aborted = self._started
        self._started = None

        async def once() -> tuple[Started, Evaluated]:
            epoch = await self._coordinator.epoch()
            # First what an earlier coordinator left, then what was answered and perhaps not logged,
            # then what ran out of time. Each builds on the one before, and the new one on all.
            await self._resume(epoch)
            await self._settle(epoch)
            await self._make_up(epoch)
            started = self._start(candidates, len(plans))
            return started, await self._attempt(epoch, started)

        try:
            self._last = await self._coordinator.persist(once, until=until)
        except RefusedError:
            has_passed = self._number_has_passed()
            self._started = self._aborted = None
            if self._again is None and not has_passed:
                raise
            # A node that lost its last lines in a power cut knows the number, not the request.
            self._again = None
            return await self.evaluate(plans, until=until)
        self._started = None
        started, answered = self._last
        self._count(started.number)
        return answered

    @property
    def _used(self) -> int:
        return self._coordinator.numbers[self._objective]

    def _number_has_passed(self) -> bool:
        """Return whether nodes have used up the number of what is started, and later ones."""
        return self._started is not None and self._started.number < self._used

    def _count(self, number: int) -> None:
        numbers = self._coordinator.numbers
        numbers[self._objective] = max(numbers[self._objective], number)
        self._again = number + 1 if number < numbers[self._objective] else None

    async def _resume(self, epoch: int) -> None:
        """See that all nodes completed what another coordinator saw answered last."""
        last = self._answered_before
        if last is None:
            return
        if self._keeps_best:
            after, before = (self._all_keep(up_to) for up_to in (last.number, last.number - 1))
            if after is None and before is None:
                # Of four nodes one may name anything; the others have one of both in common.
                after = self._all_keep(last.number, but=1)
                before = self._all_keep(last.number - 1, but=1)
            if after is not None and after.number == last.number:
                self._coordinator.parent_attempts[self._objective] = after
            elif before is None:
                raise EngineError("the nodes keep bests of different evaluations; start a new run")
            else:
                self._last = await self._repeat(epoch, replace(last, parent_attempt=before))
        elif last.number:
            self._last = await self._repeat(epoch, last)
        await self._settle(epoch)
        used = self._coordinator.numbers[self._objective]
        self._again = last.number + 1 if last.number < used else None
        self._answered_before = None

    def _all_keep(self, up_to: int, *, but: int = 0) -> Attempt | None:
        """Return the latest attempt up to a number that all nodes keep shares of, if they agree.

        Of four nodes that is, if wanted, what all `but` one say.
        """
        nodes = self._coordinator.kept[self._objective]
        latest = Counter(
            max(
                (a for a in kept if a.number <= up_to),
                key=lambda attempt: attempt.number,
                default=NO_ATTEMPT,
            )
            for kept in nodes
        )
        (attempt, count), *_ = latest.most_common(1)
        least = len(nodes) - (but if len(nodes) == max(CLUSTER_SIZES) else 0)
        return attempt if count >= least else None

    def _start(self, candidates: bytes, individuals: int) -> Started:
        """Begin with the next free number, or the one that these candidates already have."""
        # The same candidates keep their number: a second number would count as a second evaluation,
        # and disclose the same again.
        number = self._used + 1
        # Where it may have begun, no other follows before it has left its best.
        if self._started is not None and (self._keeps_best or self._started.number >= self._used):
            number = self._started.number
        elif self._again is not None:
            number = self._again
        parent = NO_ATTEMPT
        if self._keeps_best:
            parent = self._coordinator.parent_attempts.get(self._objective, NO_ATTEMPT)
        self._started = Started(number, candidates, individuals, parent)
        return self._started

    async def _make_up(self, epoch: int) -> None:
        """Bring an evaluation to its end that ran out of time: the next one builds on its best."""
        started = self._aborted
        if started is None:
            return
        try:
            self._last = await self._repeat(epoch, started)
            self._count(started.number)
            await self._settle(epoch)
        except RefusedError:
            # After a power cut its number may be used up at nodes that never heard of it.
            if started.number >= self._used:
                raise
        self._aborted = None

    async def _settle(self, epoch: int, *, is_repeated: bool = False) -> None:
        """See that all nodes completed the last evaluation, and repeat it where one did not."""
        if self._last is None:
            return
        # The next evaluation begins only when all logs have this one: else a platform could cut a
        # node off before its line, answer what it likes and go on.
        started, last = self._last
        try:
            replies = await self._coordinator.replies(last)
        except MpcError:
            self._last = await self._repeat(epoch, started)
            if is_repeated:
                # A node may compute and never say that it is done: no faster than it may refuse.
                raise
            await self._settle(epoch, is_repeated=True)
            return
        self.sent = max(reply.sent for reply in replies)
        self.rounds = max([last.rounds, *(reply.rounds for reply in replies)])
        self._last = None
        if self._keeps_best:
            self._coordinator.parent_attempts[self._objective] = last.attempt

    async def _repeat(self, epoch: int, started: Started) -> tuple[Started, Evaluated] | None:
        """Compute an evaluation again, so that every node completes and logs it.

        None if a node no longer knows the request, after a power cut, and nothing builds on it; or
        if the nodes that follow the search have gone on, which they do once all have the answer.
        """
        try:
            again = await self._attempt(epoch, started)
        except RefusedError:
            reveals = self._coordinator.agreement.final_reveal is not None
            if self._keeps_best or (self._chosen and reveals):
                raise
            return None
        # All nodes have logged this attempt; of the one before, a line may be missing for good.
        self._answered_again(again)
        return started, again

    @property
    def open_replies(self) -> list[asyncio.Future[Computed]]:
        """Return replies of nodes that have answered, and may not have logged it yet."""
        return [] if self._last is None else [r for r in self._last[1].replies if not r.done()]

    async def settle(self, *, until: float | None) -> None:
        """Wait until all nodes have completed the last evaluation, for measuring."""

        async def once() -> None:
            await self._settle(await self._coordinator.epoch())

        await self._coordinator.persist(once, until=until)

    async def _attempt(self, epoch: int, started: Started) -> Evaluated:
        terms, objective = self._terms, self._objective
        coordinator = self._coordinator
        digest = request_hash("evaluate", terms.disclosure, terms.best, started.candidates)
        request = Evaluate(
            agreement=coordinator.hash,
            objective=objective,
            number=started.number,
            epoch=epoch,
            attempt=coordinator.new_attempt(),
            disclosure=terms.disclosure,
            best=terms.best,
            parent_attempt=started.parent_attempt,
            candidates=started.candidates if self._chosen else b"",
            request=b"" if self._chosen else digest,
        )

        async def receive(session: Session) -> DisclosedLabels:
            return await receive_labels(
                session, coordinator.agreement, objective, started.individuals
            )

        return await coordinator.attempt(request, digest, receive)

    async def count(self, plan: NDArray[np.integer[Any]], /, *, until: float | None) -> Counted:
        """Have the run counted with this plan, one of the best that the agreed search found."""

        async def all_have_answers(epoch: int) -> None:
            await self._resume(epoch)
            await self._settle(epoch)

        packed = pack_candidates(self._coordinator.agreement.known_problem, plan[None, :])
        return await count_run(self._coordinator, plan=packed, before=all_have_answers, until=until)

    async def reveal(
        self, plans: NDArray[np.integer[Any]], /, *, until: float | None
    ) -> Answered[Payload, Computed]:
        """Have the best of evaluated plans revealed, or their front: once, as agreed."""
        coordinator, about = self._coordinator, self._objective
        agreement = coordinator.agreement
        kind = DisclosureKind.FRONT if agreement.together else DisclosureKind.BEST
        candidates = pack_candidates(agreement.known_problem, plans)
        # Asked for under the same hash as long as a node fails: nodes allow one reveal in all.
        word = agreement.final_reveal or "nothing"  # which the nodes refuse
        digest = request_hash("reveal", word, "nothing", candidates)

        async def once() -> Answered[Payload, Computed]:
            epoch = await coordinator.epoch()
            # What was evaluated last must be known to all nodes before they choose among it.
            await self._resume(epoch)
            await self._settle(epoch)
            request = Reveal(
                agreement=coordinator.hash,
                objective=about,
                epoch=epoch,
                attempt=coordinator.new_attempt(),
                candidates=candidates,
            )
            revealed = await coordinator.attempt(
                request,
                digest,
                lambda session: receive_payload(session, agreement, kind, about, len(plans)),
            )
            # Its line in all logs is what proves it, and nothing follows that would wait for it.
            await coordinator.replies(revealed)
            return revealed

        return await coordinator.persist(once, until=until)
