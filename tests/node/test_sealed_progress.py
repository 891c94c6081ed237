"""The state of a sealed search on a node's disk, alone."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from msgspec.structs import replace

from tacit.agreement import SealedRun
from tacit.errors import RefusedError
from tacit.mpc import ArithmeticShare
from tacit.node.sealed_progress import KeptState, SealedProgress
from tacit.node.store import Store
from tacit.records.events import PlanDecided
from tacit.records.messages import Advance
from tacit.records.requests import Attempt
from tests.on_nodes.agreed_cluster import run
from tests.on_nodes.fixtures import example_cast

RUN = cast(SealedRun, SimpleNamespace(steps=100, checkpoints=()))
"""All that is looked at of one."""


class SlowStore(Store):
    """A disk that takes its time, and as much as a test wants."""

    writing = 0
    may_end: threading.Event | None = None

    def save_state(self, name: str, data: bytes, /) -> None:
        self.writing += 1
        if self.may_end is not None:
            assert self.may_end.wait(60)
        super().save_state(name, data)
        self.writing -= 1


CAST = example_cast()


def store_in(folder: Path) -> SlowStore:
    return opened(Store.create(folder, CAST.agreement, CAST.signatures).folder)


def opened(folder: Path) -> SlowStore:
    store = SlowStore(folder)
    store.encrypt_states(CAST.sealing[0])
    return store


def state(generation: int) -> KeptState:
    words = np.zeros((1, 2, 3), dtype=np.uint32)
    table, best, plan = (ArithmeticShare({1: w, 2: w}) for w in (words, words[0, :1], words[0, 0]))
    return KeptState(generation, Attempt.of(generation, 1, 1), [table, best, plan], {})


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


def test_the_plan_that_was_decided_on_counts_also_after_a_restart(tmp_path: Path) -> None:
    store = store_in(tmp_path)

    async def work() -> None:
        progress = SealedProgress(store, (0,))
        for generation in (4, 8):
            await progress.keep(state(generation))
        await progress.decide(Attempt("4:1:1"), [b"votes"])
        for again in (progress, SealedProgress(opened(store.folder), (0,))):
            with pytest.raises(RefusedError, match="happens once"):
                await again.decide(Attempt("8:1:1"), [])
            await again.decide(Attempt("4:1:1"), [])
            assert (again.names, again.decided_by) == (["4:1:1"], [b"votes"])
            with pytest.raises(RefusedError, match="which is its end"):
                again.begin_start(Attempt("0:1:2"))

    run(work())
    assert len([e for e in store.log.recent() if isinstance(e, PlanDecided)]) == 1


def test_what_follows_a_state_is_fixed_once_it_has_begun_also_after_a_kill(tmp_path: Path) -> None:
    """What was agreed to be told after these may be out before their state was kept."""
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
        (replace(asked, first=4), "ended at step 0"),
    )

    async def work() -> None:
        progress = SealedProgress(store, (0,))
        await progress.keep(state(0))
        progress.begin(asked, Attempt("4:1:2"), RUN)
        for again in (progress, SealedProgress(opened(store.folder), (0,))):
            for other, words in others:
                with pytest.raises(RefusedError, match=words):
                    again.begin(other, Attempt("4:2:1"), RUN)
            with pytest.raises(RefusedError, match="does not start again"):
                again.begin_start(Attempt("0:2:2"))
            again.begin(asked, Attempt("4:2:3"), RUN)

    run(work())
