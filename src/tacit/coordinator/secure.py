"""Objectives and sealed searches on nodes, behind the same synchronous calls as all evaluators.

The coordinator lives on an event loop of its own in a background thread; the search waits for it
outside, never longer than agreed.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from numpy.typing import NDArray

from tacit.agreement.plan_parts import whole_plan
from tacit.agreement.sealing import SealedRows
from tacit.agreement.terms import Agreement
from tacit.coordinator.coordinator import Coordinator
from tacit.coordinator.evaluations import Evaluated, Evaluations
from tacit.coordinator.node_client import clients_of
from tacit.coordinator.sealed_search import OpenedByNodes, SealedSearch
from tacit.disclosure import Estimator, linear
from tacit.errors import EngineError, TacitError
from tacit.evaluators import ObjectiveEvaluation, RevealedFront, as_evaluation
from tacit.identity.config import ClusterConfig
from tacit.mpc import CLUSTER_SIZES
from tacit.records.ledger import DisclosedBest, DisclosedFront, Ledger, Payload, PlanParts
from tacit.records.messages import LogPage


class SecureObjective:
    """One confidential objective on nodes; the twin of `SimulatedObjective`."""

    def __init__(
        self, engine: SecureEngine, objective: int, /, *, estimator: Estimator = linear
    ) -> None:
        self._engine, self._objective, self._estimator = engine, objective, estimator
        self._about = engine.agreement.known_problem.objectives[objective]
        self.best_so_far: int | None = None

    @property
    def notes(self) -> list[str]:
        return self._engine.notes

    def evaluate(
        self, candidates: NDArray[np.int32], /, *, until: float | None
    ) -> ObjectiveEvaluation:
        """Evaluate on the nodes, and estimate from what they disclose; raises by `until`."""
        return self.begin(candidates, until=until)()

    def begin(
        self, candidates: NDArray[np.int32], /, *, until: float | None
    ) -> Callable[[], ObjectiveEvaluation]:
        """Start an evaluation; call what is returned to wait for it."""
        work = self._engine.evaluations(self._objective).evaluate(candidates, until=until)
        future = self._engine.submit(work)
        return lambda: self._told(self._engine.wait(future, until=until))

    def _told(self, evaluated: Evaluated) -> ObjectiveEvaluation:
        # First into the ledger: the search makes nothing of an answer that a crash could lose.
        self._engine.ledger.add(evaluated.entry(self._objective))
        best, labels = evaluated.payload.best, np.array(evaluated.payload.labels, dtype=np.int64)
        if best is not None and not isinstance(best, bool):
            self.best_so_far = best if self.best_so_far is None else max(best, self.best_so_far)
        return as_evaluation(labels, best, self._about, self._estimator)

    def count(self, plan: NDArray[np.int32], /, *, until: float | None) -> str:
        """Have the run counted with this plan; return the head of the runs counted then."""
        work = self._engine.evaluations(self._objective).count(plan, until=until)
        return self._engine.wait(self._engine.submit(work), until=until).head

    def reveal_best(self, candidates: NDArray[np.int32], /, *, until: float | None) -> int:
        """Return which candidate is truly best: once, if the agreement allows it."""
        revealed = self._reveal(candidates, until)
        assert isinstance(revealed, DisclosedBest)
        return revealed.index

    def reveal_front(
        self, candidates: NDArray[np.int32], /, *, until: float | None
    ) -> RevealedFront:
        """Return which candidates are non-dominated: once, if that was agreed."""
        revealed = self._reveal(candidates, until)
        assert isinstance(revealed, DisclosedFront)
        return RevealedFront(revealed.nondominated, revealed.values)

    def _reveal(self, candidates: NDArray[np.int32], until: float | None) -> Payload:
        work = self._engine.evaluations(self._objective).reveal(candidates, until=until)
        revealed = self._engine.wait(self._engine.submit(work), until=until)
        self._engine.ledger.add(revealed.entry(self._objective))
        return revealed.payload


class SecureSealedSearch:
    """A sealed search on nodes behind synchronous calls; it writes the ledger."""

    def __init__(self, engine: SecureEngine, search: SealedSearch, /) -> None:
        self._engine, self._search = engine, search

    @property
    def searches(self) -> Sequence[int]:
        return self._search.searches

    @property
    def step(self) -> int:
        return self._search.step

    @property
    def opened(self) -> bool:
        """Return whether the plan was opened before this coordinator came; nothing follows then."""
        return self._search.opened

    @property
    def seed(self) -> int:
        """Return the seed of the public schedule, which the nodes derive from the inputs."""
        return self._search.seed

    @property
    def cost(self) -> tuple[int, int]:
        """Return the rounds of the last request, and the bytes of the node that sent most."""
        return self._search.rounds, self._search.sent

    @property
    def notes(self) -> list[str]:
        return self._engine.notes

    def start(self, *, until: float | None = None) -> None:
        self._engine.wait(self._engine.submit(self._search.start(until=until)), until=until)

    @property
    def finished(self) -> bool:
        """Return whether it was opened that all plans are proved, where that was agreed."""
        return self._search.finished

    def advance(self, count: int, horizon: int, /, *, until: float | None) -> None:
        work = self._search.advance(count, horizon, until=until)
        done = self._engine.wait(self._engine.submit(work), until=until)
        if done.payload is not None:
            self._engine.ledger.add(done.entry(self.searches[0]))

    def open(self, number: int, /, *, until: float | None) -> OpenedByNodes:
        """Open the best plan of one of the searches: once, and the search ends with it."""
        engine = self._engine
        opened = engine.wait(engine.submit(self._search.open(number, until=until)), until=until)
        if engine.agreement.for_owners:
            # First the boxes, which are as good as the plan: the ledger says that they are here.
            engine.plan_parts.keep(number, opened.sealed)
        # Written before the caller sees the plan: whatever is shown must be in the ledger.
        engine.ledger.add(opened.entry)
        if not engine.agreement.for_owners or not engine.owners:
            return opened
        whole = whole_plan(engine.agreement, number, opened.sealed, engine.owners)
        return replace(opened, plan=whole)


T = TypeVar("T")

SET_UP_SECONDS = 60.0
LEAVE_SECONDS = 0.1
"""So long nodes may take to write down the last answer, and a link to close."""
END_SECONDS = 0.05
"""What is sent by then arrives, also if nobody waits for the answer."""
GRACE_SECONDS = 0.05
"""If even our own event loop hangs, the caller still hears by then."""


class SecureEngine:
    """A connection to the nodes for one agreement. Use it in a `with` statement."""

    def __init__(
        self,
        agreement: Agreement,
        cluster: ClusterConfig,
        /,
        *,
        ledger: Ledger | None = None,
        public: Mapping[int, NDArray[np.int64]] | None = None,
        plan_parts: PlanParts | None = None,
        owners: Mapping[str, Ed25519PrivateKey] | None = None,
        fence: int = 0,
    ) -> None:
        """`public` has the weights of public objectives, which nodes need to follow the search.

        `plan_parts` keeps the boxes of a plan for its owners. In a local run the keys of all
        `owners` are here, and it is put together.
        """
        self.agreement = agreement
        self.plan_parts = plan_parts if plan_parts is not None else PlanParts()
        self.owners = owners or {}
        self.ledger = ledger if ledger is not None else Ledger()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._coordinator = Coordinator(agreement, clients_of(cluster), fence=fence)
        self._coordinator.give_public(public or {})
        self._searches: dict[int, SealedSearch] = {}
        self._objectives = {
            k: Evaluations(self._coordinator, k, answered_again=partial(self._record_again, k))
            for k in agreement.confidential()
        }

    def __enter__(self) -> SecureEngine:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        # On its own loop, since links belong to it.
        leaving = self.submit(self._leave())
        try:
            # The run is over and has its result: who leaves slowly must not make an error of it.
            with suppress(TimeoutError):
                leaving.result(timeout=2.0)
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(timeout=1.0)
            if not self._thread.is_alive():
                self._loop.close()

    async def _leave(self) -> None:
        replies = [r for each in self._objectives.values() for r in each.open_replies]
        if replies:  # what was answered a moment ago is about to be logged
            await asyncio.wait(replies, timeout=LEAVE_SECONDS)
        # A node that hangs does not say good-bye, and nobody waits for it.
        closing = asyncio.ensure_future(self._coordinator.close())
        await asyncio.wait({closing}, timeout=LEAVE_SECONDS)
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def submit(self, work: Coroutine[Any, Any, T], /) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def wait(self, future: Future[T], /, *, until: float | None) -> T:
        """Wait for work, at most until shortly after the instant it was to end by."""
        left = None if until is None else max(0.0, until - time.monotonic()) + GRACE_SECONDS
        try:
            return future.result(timeout=left)
        except TimeoutError:
            future.cancel()
            raise self._coordinator.blame() from None
        except KeyboardInterrupt:
            future.cancel()
            raise

    def start(self, signatures: Mapping[str, bytes], sealed: Iterable[SealedRows], /) -> None:
        """Hand over the agreement and the sealed rows, and have them checked and frozen."""
        rows = list(sealed)
        work = self._coordinator.start(signatures, rows, within=SET_UP_SECONDS)
        self.wait(self.submit(work), until=None)

    def enter(self, signatures: Mapping[str, bytes], /, *, within: float) -> dict[int, str]:
        """Resume an agreement whose inputs are frozen; returns the seed contributions."""
        return self.wait(self.submit(self._enter(signatures, within)), until=None)

    async def _enter(self, signatures: Mapping[str, bytes], within: float) -> dict[int, str]:
        coordinator = self._coordinator
        until = self._loop.time() + within
        taken = await coordinator.start_agreement(signatures, within=within, resumes=True)
        said = [each.seed_contributions for each in taken]
        contributions = max(said, key=said.count)
        # What is frozen is the same at all honest nodes. Of four one may say something else.
        least = len(said) - (len(said) == max(CLUSTER_SIZES))
        is_whole = set(contributions) == set(self.agreement.confidential())
        if not is_whole or said.count(contributions) < least:
            raise EngineError("not all nodes have checked and frozen the inputs; prepare them")
        if not self.agreement.sealed:  # a sealed search begins its epoch itself, or does without
            await coordinator.persist(coordinator.epoch, until=until)
        return contributions

    def evaluations(self, objective: int, /) -> Evaluations:
        return self._objectives[objective]

    @property
    def notes(self) -> list[str]:
        return self._coordinator.loss.notes

    def sealed(self, search: int, /) -> SecureSealedSearch:
        if search not in self._searches:
            self._searches[search] = SealedSearch(self._coordinator, search)
        return SecureSealedSearch(self, self._searches[search])

    def sealed_groups(self) -> list[SecureSealedSearch]:
        return [self.sealed(group.searches[0]) for group in self.agreement.sealed_run.groups]

    def _record_again(self, objective: int, evaluated: Evaluated) -> None:
        # All nodes have logged the repeated attempt; of the first one a line may be missing.
        self.ledger.add(evaluated.entry(objective, again=True))

    def end_agreement(self) -> bool:
        """The run is over: have the nodes delete its inputs, and all shares that came of them.

        A result may be due, so this takes a moment only. Returns whether all nodes have confirmed
        it; the others do it when they hear of it, or when the agreement expires.
        """
        return self.wait(self.submit(self._end()), until=None)

    async def _end(self) -> bool:
        replies = [r for each in self._objectives.values() for r in each.open_replies]
        if replies:  # what was answered a moment ago is about to be logged
            await asyncio.wait(replies, timeout=LEAVE_SECONDS)
        try:
            await self._coordinator.end_agreement(within=END_SECONDS)
        except (TacitError, TimeoutError):
            return False
        return True

    def fetch_logs(self, nonce: bytes = b"", /) -> list[LogPage]:
        return self.wait(self.submit(self._coordinator.fetch_logs(nonce)), until=None)

    def fetch_heads(self, nonce: bytes, /) -> list[LogPage]:
        return self.wait(self.submit(self._coordinator.fetch_heads(nonce)), until=None)
