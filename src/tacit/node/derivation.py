"""A node's own course of the agreed search, where the nodes derive every population.

What was disclosed stands in a file of its own, in the order in which it was told, so that the
search is followed again after a restart. A node that lost the end of it hears from its peers.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from tacit.derived import DerivedSearch, Population
from tacit.node.inputs import Inputs
from tacit.node.policy import refuse
from tacit.node.store import Store
from tacit.node.threads import to_the_end
from tacit.records.ledger import DisclosedLabels

P = ParamSpec("P")
T = TypeVar("T")
History = list[dict[int, DisclosedLabels]]
"""Per population the answers of its objectives; the last may lack some."""


class Derivation:
    """The agreed search at a node, from the moment that its inputs are frozen."""

    def __init__(self, store: Store, inputs: Inputs, /) -> None:
        self._store, self._inputs = store, inputs
        self._search: DerivedSearch | None = None
        self._lock = asyncio.Lock()
        self._under_way = 0
        self._waiting: list[asyncio.Future[None]] = []

    async def get_ready(self) -> None:
        """Follow the search as far as its answers go, and compile what it calls."""
        async with self._lock:
            search = await self._followed()
            await _in_thread(search.warm_up)

    async def _followed(self) -> DerivedSearch:
        if self._search is None:
            self._search = await _in_thread(self._follow)
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
            # Another objective may still be about to lead to the population that is asked for.
            self._waiting.append(asyncio.get_running_loop().create_future())
            await self._waiting[-1]

    @asynccontextmanager
    async def evaluating(self) -> AsyncIterator[None]:
        """An evaluation is under way; whoever asks for what may follow from it waits."""
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
        """Remember an answer, on the disk first, and derive the next population from it."""
        await to_the_end(self._keep(objective, request, answer))

    async def _keep(self, objective: int, request: bytes, answer: DisclosedLabels) -> None:
        async with self._lock:
            search = await self._followed()
            if search.lacks(objective, request):
                await self._take(search, objective, answer)

    async def _take(self, search: DerivedSearch, objective: int, answer: DisclosedLabels) -> None:
        self._store.answers.add(objective, answer.labels, answer.best)
        await _in_thread(search.take, objective, answer)

    async def check_found(self, plans: NDArray[np.integer[Any]], /) -> None:
        """Refuse to compare plans that are not the best of a generation, as estimated."""
        async with self._lock:
            if not (await self._followed()).found(plans):
                raise refuse("these are not the best plans of the agreed search; ask for those")

    async def check_found_one(self, plan: NDArray[np.integer[Any]], /) -> None:
        """Refuse a plan that is not one of the best of a generation, as estimated."""
        async with self._lock:
            if not (await self._followed()).found_one(plan):
                raise refuse("this is not one of the best plans of the agreed search; name one")

    def forget(self) -> None:
        """Keep nothing in memory; whoever needs the search follows it again from its answers."""
        self._search = None

    # What nodes tell each other when an epoch begins.

    @property
    def is_frozen(self) -> bool:
        """Whether the search has begun: the seed follows from all frozen inputs."""
        return set(self._inputs.ready) == set(self._store.agreement.confidential())

    async def completed(self) -> int:
        """How many populations were answered in all their objectives."""
        if not self.is_frozen:
            return 0
        async with self._lock:
            return (await self._followed()).completed

    async def history(self, first: int, /) -> History:
        """What was told after so many populations."""
        if not self.is_frozen:
            return []
        async with self._lock:
            return await _in_thread(self._history, first)

    def _history(self, first: int) -> History:
        objectives = len(self._store.agreement.evaluated())
        populations: History = []
        for stored in self._store.answers.read():
            if not populations or len(populations[-1]) == objectives:
                populations.append({})
            populations[-1][stored.objective] = DisclosedLabels(stored.labels, stored.best)
        return populations[first:]

    async def catch_up(self, first: int, told: Sequence[dict[int, DisclosedLabels]], /) -> None:
        """Take what a peer knows of the populations after the first so many, and we do not."""
        if told and self.is_frozen:
            await to_the_end(self._catch_up(first, told))

    async def _catch_up(self, first: int, told: Sequence[dict[int, DisclosedLabels]]) -> None:
        async with self._lock:
            search = await self._followed()
            for number, answers in enumerate(told, start=first):
                for objective in sorted(answers):
                    request = search.current.requests.get(objective, b"")
                    if number == search.completed and search.lacks(objective, request):
                        await self._take(search, objective, answers[objective])


async def _in_thread(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function in a thread, and keep the lock until it has ended, whoever is cancelled.

    A thread that reads the answers while others write them would take half a one for torn off.
    """
    return await to_the_end(asyncio.to_thread(function, *args, **kwargs))
