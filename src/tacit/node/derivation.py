"""Follow the agreed search at a node, where the nodes derive every population themselves.

What was disclosed is kept in a file, in its order. After a restart the search is followed again
from it, and what a crash cut off comes from the peers when the next epoch begins.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.derived import DerivedSearch, Population
from tacit.node.inputs import Inputs
from tacit.node.policy import refuse
from tacit.node.store import Store
from tacit.node.threads import in_thread, to_the_end
from tacit.records.ledger import DisclosedLabels

History = list[dict[int, DisclosedLabels]]
"""Per population the answers of its objectives; the last may lack some."""


class Derivation:
    """The agreed search at a node, from the moment that its inputs are frozen."""

    def __init__(self, store: Store, inputs: Inputs, /) -> None:
        self._store, self._inputs = store, inputs
        self._search: DerivedSearch | None = None
        self._lock = asyncio.Lock()
        """Held while the search is used or the answers are read or written, also by a thread.

        A thread that reads the answers while others write them would take half a record for one
        that a crash left, and cut it off.
        """
        self._under_way = 0
        self._waiting: list[asyncio.Future[None]] = []

    async def get_ready(self) -> None:
        """Follow the search as far as its answers go, and compile what it calls."""
        async with self._lock:
            search = await self._followed()
            await in_thread(search.warm_up)

    async def _followed(self) -> DerivedSearch:
        if self._search is None:
            self._search = await in_thread(self._follow)
        return self._search

    def _follow(self) -> DerivedSearch:
        agreement = self._store.agreement
        seed = self._inputs.search_seed()
        search = DerivedSearch(agreement, seed, self._store.public_weights())
        for stored in self._store.answers.read():
            search.take(stored.objective, DisclosedLabels(stored.labels, stored.best))
        return search

    async def population(self, objective: int, request: bytes, /) -> tuple[Population, bool]:
        """The population that a request names, and whether it is the one that is due."""
        while True:
            async with self._lock:
                search = await self._followed()
                found = search.find(objective, request)
                if found is not None:
                    return found, found is search.current
            if not self._under_way:
                raise refuse(
                    "this is not the population that the agreed search asks for; the nodes "
                    "evaluate what they derive themselves"
                )
            # The answer of another objective, which is still computed, may lead to the population
            # that was requested: the platform has it from the other nodes already.
            self._waiting.append(asyncio.get_running_loop().create_future())
            await self._waiting[-1]

    @asynccontextmanager
    async def evaluating(self) -> AsyncIterator[None]:
        """Have requests wait that may follow from the evaluation that runs in this block."""
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1
            for waiting in self._waiting:
                if not waiting.done():
                    waiting.set_result(None)
            self._waiting.clear()

    async def keep(self, objective: int, request: bytes, answer: DisclosedLabels, /) -> None:
        """Store an answer, and derive the next population from it."""
        await to_the_end(self._keep(objective, request, answer))

    async def _keep(self, objective: int, request: bytes, answer: DisclosedLabels) -> None:
        async with self._lock:
            search = await self._followed()
            if search.lacks(objective, request):
                await self._take(search, objective, answer)

    async def _take(self, search: DerivedSearch, objective: int, answer: DisclosedLabels) -> None:
        # The disk first: a node that followed an answer it then forgot would derive other
        # populations than its peers after a restart.
        self._store.answers.add(objective, answer.labels, answer.best)
        await in_thread(search.take, objective, answer)

    async def check_found(self, plans: NDArray[np.integer[Any]], /) -> None:
        """Refuse to compare plans that are not the best of a generation, as estimated."""
        async with self._lock:
            if not (await self._followed()).has_best_set(plans):
                raise refuse("these are not the best plans of the agreed search; ask for those")

    async def check_found_one(self, plan: NDArray[np.integer[Any]], /) -> None:
        async with self._lock:
            if not (await self._followed()).has_best_plan(plan):
                raise refuse("this is not one of the best plans of the agreed search; name one")

    def forget(self) -> None:
        """Free the memory; the search is followed again from its answers when it is needed."""
        self._search = None

    @property
    def is_frozen(self) -> bool:
        """Whether the search has begun: the seed follows from all frozen inputs."""
        return set(self._inputs.ready) == set(self._store.agreement.confidential())

    async def completed(self) -> int:
        if not self.is_frozen:
            return 0
        async with self._lock:
            return (await self._followed()).completed

    async def history(self, first: int, /) -> History:
        """The answers that came after the first populations."""
        if not self.is_frozen:
            return []
        async with self._lock:
            return await in_thread(self._history, first)

    def _history(self, first: int) -> History:
        objectives = len(self._store.agreement.evaluated())
        populations: History = []
        for stored in self._store.answers.read():
            if not populations or len(populations[-1]) == objectives:
                populations.append({})
            populations[-1][stored.objective] = DisclosedLabels(stored.labels, stored.best)
        return populations[first:]

    async def catch_up(self, first: int, history: Sequence[dict[int, DisclosedLabels]], /) -> None:
        """Take answers from peers that are missing here; they begin after `first` populations."""
        if history and self.is_frozen:
            await to_the_end(self._catch_up(first, history))

    async def _catch_up(self, first: int, history: Sequence[dict[int, DisclosedLabels]]) -> None:
        async with self._lock:
            search = await self._followed()
            for number, answers in enumerate(history, start=first):
                for objective in sorted(answers):
                    request = search.current.requests.get(objective, b"")
                    if number == search.completed and search.lacks(objective, request):
                        await self._take(search, objective, answers[objective])
