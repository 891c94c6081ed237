"""What a node keeps of answers: read and written by one at a time, each whole or not at all."""

from __future__ import annotations

import asyncio
import resource
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tacit.engine.node.state.agreement_state import AgreementState
from tacit.engine.node.state.derivation import Derivation
from tacit.engine.node.state.store import Store, StoredAnswer
from tacit.errors import EngineError
from tests.engine.fixtures import example_cast


def test_whoever_is_cancelled_reads_to_the_end_before_anybody_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader cuts off half an answer, so none may be written beside it."""
    cast = example_cast()
    store = Store.create(tmp_path, cast.agreement, cast.signatures)
    state = AgreementState(store, node=0, key=cast.sealing[0])
    state.inputs.seed_contributions[0] = "00"
    derivation = Derivation(store, state.inputs)
    begun, go_on = threading.Semaphore(0), threading.Event()

    def slowly() -> Iterator[StoredAnswer]:
        begun.release()
        go_on.wait(10)
        yield from ()

    monkeypatch.setattr(store, "load_answers", slowly)

    async def show() -> None:
        first = asyncio.ensure_future(derivation.history(0))
        await asyncio.to_thread(begun.acquire, timeout=10)
        second = asyncio.ensure_future(derivation.history(0))
        for _ in range(3):
            first.cancel()
            await asyncio.sleep(0)
        assert not first.done()
        assert not begun.acquire(timeout=0.01), "somebody else is at the answers"
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await first
        assert await second == []

    asyncio.run(show())


def test_an_answer_that_does_not_fit_on_the_disk_leaves_nothing(tmp_path: Path) -> None:
    cast = example_cast()
    store = Store.create(tmp_path, cast.agreement, cast.signatures)
    store.add_answer(0, [1, 0], None)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    room = (store.folder / "answers").stat().st_size + 7
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
    try:
        for _ in range(2):
            with pytest.raises(EngineError, match="check the node's disk"):
                store.add_answer(0, [0, 1], None)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    store.add_answer(0, [0, 2], None)
    assert [each.labels for each in store.load_answers()] == [[1, 0], [0, 2]]
