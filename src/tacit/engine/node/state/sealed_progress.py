"""How far a sealed search is at one node: its secret state on the disk, and what may follow.

The states of the last two generations that were asked for are kept, so that all nodes always have
one in common: whoever lost the last one goes on from the one before, with fresh masks. What follows
a state is fixed once it has begun. A node binds itself to the one state that it opens, on the disk,
before a part of it is out; what is computed meanwhile ends first, and nothing follows.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from tacit.engine.node.state.policy import check_generations, refuse
from tacit.engine.node.state.store import Store
from tacit.mpc import ArithmeticShare
from tacit.mpc.sealed.state import SealedState

KEPT_STATES = 2


class _Stored(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A state as a file has it: two components of the tables and of the plans."""

    generation: int
    name: str
    word: int
    """Bytes per word."""
    size: tuple[int, ...]
    """Of the tables: parents, lines, columns."""
    components: list[bytes]


@dataclass(frozen=True, slots=True)
class Kept:
    """The state after a generation; `name` is the attempt that it comes from."""

    generation: int
    name: str
    state: SealedState


def _to_bytes(kept: Kept) -> bytes:
    state = kept.state
    parts = [part for s in (state.table, state.best, state.plan) for part in (s.mine, s.next)]
    stored = _Stored(
        kept.generation,
        kept.name,
        state.table.mine.itemsize,
        state.table.shape,
        [np.ascontiguousarray(part).tobytes() for part in parts],
    )
    return msgspec.msgpack.encode(stored)


def _from_bytes(data: bytes) -> Kept:
    stored = msgspec.msgpack.decode(data, type=_Stored)

    def words(part: bytes) -> NDArray[np.unsignedinteger]:
        return np.frombuffer(part, dtype=f"<u{stored.word}")

    a, b, c, d, e, f = (words(part) for part in stored.components)
    table = ArithmeticShare(a.reshape(stored.size), b.reshape(stored.size))
    best = ArithmeticShare(*(part.reshape(stored.size[0], -1) for part in (c, d)))
    state = SealedState(table, best, ArithmeticShare(e, f))
    return Kept(stored.generation, stored.name, state)


class SealedProgress:
    """One sealed search at one node."""

    def __init__(self, store: Store, search: int, /) -> None:
        self._store, self._search = store, search
        found = [_from_bytes(data) for data in store.load_sealed(search)]
        self._kept = sorted(found, key=lambda kept: kept.generation)
        self._ends: dict[int, int] = {}
        self._requests: dict[int, str] = {}
        self.opened: str | None = None
        """The attempt whose plan is the one to open; nothing follows it."""
        self._ending = False
        self._computing = asyncio.Lock()
        self._scope: asyncio.Timeout | None = None
        for entry in store.log.entries:
            if entry.get("search") != search:
                continue
            if entry["event"] == "generations":
                self._began(int(entry["first"]), int(entry["count"]), str(entry["request"]))
            elif entry["event"] == "open plan" and self.opened is None:
                self.opened = str(entry["basis"])

    def _began(self, first: int, count: int, request: str) -> None:
        self._ends[first] = first + count
        self._requests[first] = request

    @property
    def names(self) -> list[str]:
        """The attempts whose states are here, and may still be used."""
        return [kept.name for kept in self._kept if self.opened in (None, kept.name)]

    def state(self, basis: str, /) -> Kept:
        """The state that an attempt left, if it is here."""
        for kept in self._kept:
            if kept.name == basis:
                return kept
        raise refuse(f"the state that attempt {basis[:80]!r} left is not here; go on from another")

    def _check_not_opened(self) -> None:
        if self._ending or self.opened is not None:
            raise refuse("the plan of this search was opened, which is its end; nothing follows")

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """One computation at a time; it is ended when the plan is to be opened."""
        async with self._computing:
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

    def begin_start(self, attempt: str, /) -> None:
        """Allow a secret start, until the first generation has begun."""
        self._check_not_opened()
        if self._ends:
            raise refuse("this search has begun; it does not start again")
        self._store.log.append("secret start", search=self._search, attempt=attempt)
        self._store.log.sync()

    def begin(
        self,
        basis: str,
        first: int,
        count: int,
        horizon: int,
        /,
        *,
        request: bytes,
        attempt: str,
        most: int,
    ) -> Kept:
        """Allow generations or refuse them; when this returns, they are on the disk as begun."""
        self._check_not_opened()
        check_generations(first, count, horizon, most=most, ends=self._ends)
        kept = self.state(basis)
        if kept.generation != first:
            raise refuse(f"attempt {basis!r} ended at generation {kept.generation}, not {first}")
        if self._requests.get(first, request.hex()) != request.hex():
            raise refuse(f"the generations after {first} were begun otherwise; ask for the same")
        self._store.log.append(
            "generations",
            search=self._search,
            first=first,
            count=count,
            horizon=horizon,
            request=request.hex(),
            attempt=attempt,
            basis=basis,
        )
        self._store.log.sync()
        self._began(first, count, request.hex())
        return kept

    async def keep(self, new: Kept, /) -> None:
        """Keep a state on the disk, and of those before it the last one.

        Whoever is cancelled meanwhile goes on to the end: a thread that writes cannot be stopped,
        and nobody else may write the same file beside it.
        """
        keeping = asyncio.ensure_future(self._keep(new))
        cancelled: asyncio.CancelledError | None = None
        while not keeping.done():
            try:
                await asyncio.wait([keeping])
            except asyncio.CancelledError as error:
                cancelled = error
        if cancelled is not None:
            raise cancelled
        keeping.result()

    async def _keep(self, new: Kept) -> None:
        await asyncio.to_thread(
            self._store.save_sealed, self._search, new.generation, _to_bytes(new)
        )
        states = [kept for kept in self._kept if kept.generation < new.generation]
        self._kept = [*states, new][-KEPT_STATES:]
        for old in states[: 1 - KEPT_STATES]:
            self._store.drop_sealed(self._search, old.generation)

    async def bind(self, basis: str, /) -> str:
        """Bind this node to the one state that it may open; what it is bound to, on the disk.

        The first one counts. Whatever is computed now ends before.
        """
        if self.opened is None:
            self._ending = True
            if self._scope is not None and self._scope.when() is None:
                self._scope.reschedule(asyncio.get_running_loop().time())
            try:
                async with self._computing:
                    if self.opened is None:
                        self._store.log.append("open plan", search=self._search, basis=basis)
                        self.opened = basis
            finally:
                self._ending = False
        self._store.log.sync()
        return self.opened

    async def begin_open(self, basis: str, /) -> Kept:
        """Bind this node to a state that is here, or refuse; a part may leave once peers agree."""
        kept = self.state(basis)
        if self.opened not in (None, basis) or await self.bind(basis) != basis:
            raise refuse("another plan of this search was opened, which happens once")
        return kept
