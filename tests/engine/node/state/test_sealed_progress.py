"""The state of a sealed search on a node's disk, alone."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from tacit.engine.node.state.agreement_state import AgreementState
from tacit.engine.node.state.sealed_progress import Kept, SealedProgress
from tacit.engine.node.state.store import Store
from tacit.engine.node.work.plan_binding import bind_for_peer
from tacit.engine.records.events import PlanBound
from tacit.engine.wire.attempt import Attempt
from tacit.engine.wire.messages import Advance
from tacit.engine.wire.peer_messages import Bind
from tacit.errors import RefusedError
from tacit.mpc import ArithmeticShare
from tests.engine.agreed_cluster import run
from tests.engine.fixtures import example_cast


class SlowStore(Store):
    """A disk that takes its time, and as much as a test wants."""

    writing = 0
    may_end: threading.Event | None = None

    def save_sealed(self, search: int, generation: int, data: bytes, /) -> None:
        self.writing += 1
        if self.may_end is not None:
            assert self.may_end.wait(60)
        super().save_sealed(search, generation, data)
        self.writing -= 1


def store_in(folder: Path) -> SlowStore:
    cast = example_cast()
    return SlowStore(Store.create(folder, cast.agreement, cast.signatures).folder)


def state(generation: int, *, turn: int | None = None) -> Kept:
    words = np.zeros((1, 2, 3), dtype=np.uint32)
    table, best, plan = (ArithmeticShare({1: w, 2: w}) for w in (words, words[0, :1], words[0, 0]))
    return Kept(generation, Attempt.of(generation, 1, 1), [table, best, plan], turn=turn)


def test_whoever_is_cancelled_leaves_no_thread_that_writes(tmp_path: Path) -> None:
    store = store_in(tmp_path)

    async def work() -> None:
        progress = SealedProgress(store, (0,))
        store.may_end = threading.Event()
        keeping = asyncio.ensure_future(progress.keep(state(4)))
        async with asyncio.timeout(60):
            while not store.writing:
                await asyncio.sleep(0.01)
        for _ in range(2):
            keeping.cancel()
            await asyncio.sleep(0.02)
            assert not keeping.done()
        store.may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await keeping
        assert store.writing == 0
        assert progress.names == ["4:1:1"]

    run(work())


def test_the_first_plan_that_a_node_is_bound_to_counts_also_after_a_restart(
    tmp_path: Path,
) -> None:
    store = store_in(tmp_path)

    async def work() -> None:
        progress = SealedProgress(store, (0,))
        for generation in (4, 8):
            await progress.keep(state(generation))
        assert await progress.bind(Attempt("4:1:1")) == "4:1:1"
        for again in (progress, SealedProgress(Store(store.folder), (0,))):
            assert await again.bind(Attempt("8:1:1")) == "4:1:1"
            assert again.names == ["4:1:1"]
            with pytest.raises(RefusedError, match="happens once"):
                await again.begin_open(Attempt("8:1:1"))
            with pytest.raises(RefusedError, match="which is its end"):
                again.begin_start(Attempt("0:1:2"))

    run(work())


def test_what_follows_a_state_is_fixed_once_it_has_begun_also_after_a_kill(tmp_path: Path) -> None:
    """Improvements of these generations may have been told before their state was kept."""
    store = store_in(tmp_path)
    asked = Advance(
        agreement=store.hash,
        epoch=1,
        attempt=2,
        search=0,
        first=0,
        count=4,
        horizon=9,
        parent_attempt=Attempt("0:1:1"),
    )
    others = (
        (replace(asked, count=3), "do not follow"),
        (replace(asked, horizon=10), "begun otherwise"),
        (replace(asked, first=4), "ended at generation 0"),
        (replace(asked, turn=0), "begun otherwise"),
    )

    async def work() -> None:
        progress = SealedProgress(store, (0,))
        await progress.keep(state(0))
        progress.begin(asked, Attempt("4:1:2"), most=100)
        for again in (progress, SealedProgress(Store(store.folder), (0,))):
            for other, words in others:
                with pytest.raises(RefusedError, match=words):
                    again.begin(other, Attempt("4:2:1"), most=100, finish=9)
            with pytest.raises(RefusedError, match="does not start again"):
                again.begin_start(Attempt("0:2:2"))
            again.begin(asked, Attempt("4:2:3"), most=100)

    run(work())


def test_a_peer_binds_a_node_to_no_plan_that_is_not_here(tmp_path: Path) -> None:
    """With one message it would end the search, and there would be nothing to open."""
    cast = example_cast()
    held = AgreementState(
        Store.create(tmp_path, cast.agreement, cast.signatures), node=0, key=cast.sealing[0]
    )
    here: Any = SimpleNamespace(agreement_states={held.hash: held})

    async def work() -> None:
        progress = held.searches[0] = SealedProgress(held.store, (0,))
        await progress.keep(state(4))
        told = [
            await bind_for_peer(here, Bind(1, held.hash, 0, Attempt(attempt)), "node 1")
            for attempt in ("9:1:1", "", "4:1:1", "9:1:1")
        ]
        assert [said.attempt for said in told] == ["", "", "4:1:1", "4:1:1"]

    run(work())
    assert [e.attempt for e in held.store.log.recent() if isinstance(e, PlanBound)] == ["4:1:1"]


@pytest.mark.parametrize(
    ("turned", "turn", "count", "words"),
    [
        (None, None, 2, None),
        (None, 6, 3, None),
        (4, 4, 1, None),
        (None, 6, 4, "allows 3 phases after the search, these would be up to 4"),
        (None, 5, 1, "begins there, not at 5"),
        (None, 7, 1, "begins there, not at 7"),
        (4, None, 1, "began after generation 4"),
        (4, 6, 1, "began after generation 4"),
        (4, 4, 2, "allows 3 phases after the search, these would be up to 4"),
    ],
)
def test_a_finish_begins_once_and_is_no_longer_than_agreed(
    tmp_path: Path, turned: int | None, turn: int | None, count: int, words: str | None
) -> None:
    """From the state after generation 6, also as the disk has it."""
    store = store_in(tmp_path)
    asked = Advance(
        agreement=store.hash,
        epoch=1,
        attempt=2,
        search=0,
        first=6,
        count=count,
        horizon=9,
        parent_attempt=Attempt("6:1:1"),
        turn=turn,
    )

    async def work() -> None:
        progress = SealedProgress(store, (0,))
        with pytest.raises(RefusedError, match="starts before its finish"):
            progress.begin_start(Attempt("0:1:1"), turn=0)
        before = replace(asked, first=0, count=6, parent_attempt=Attempt("0:1:1"), turn=None)
        await progress.keep(state(0))
        progress.begin(before, Attempt("6:1:1"), most=100)
        await progress.keep(state(6, turn=turned))
        again = SealedProgress(Store(store.folder), (0,))
        if words is None:
            kept = again.begin(asked, Attempt("9:1:2"), most=100, finish=3)
            assert kept is not None
            assert kept.turn == turned
            return
        with pytest.raises(RefusedError, match=words):
            again.begin(asked, Attempt("9:1:2"), most=100, finish=3)
        if turn is not None:
            with pytest.raises(RefusedError):
                again.begin(asked, Attempt("9:1:2"), most=100)

    run(work())
