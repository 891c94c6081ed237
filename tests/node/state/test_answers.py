"""What a node keeps of answers: read and written by one at a time, each whole or not at all."""

from __future__ import annotations

import asyncio
import resource
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from tacit.agreement.sizes import SEARCH_BYTES
from tacit.errors import EngineError
from tacit.node.agreement_state import AgreementState
from tacit.node.derivation import Derivation
from tacit.node.limits import KeptSearches
from tacit.node.store import Store, StoredAnswer
from tests.on_nodes.fixtures import example_cast


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
        go_on.wait(60)
        yield from ()

    monkeypatch.setattr(store.answers, "read", slowly)

    async def show() -> None:
        first = asyncio.ensure_future(derivation.history(0))
        await asyncio.to_thread(begun.acquire, timeout=60)
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
    store.answers.add(0, [1, 0], None)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    room = (store.folder / "answers").stat().st_size + 7
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
    try:
        for _ in range(2):
            with pytest.raises(EngineError, match="check the node's disk"):
                store.answers.add(0, [0, 1], None)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    store.answers.add(0, [0, 2], None)
    assert [each.labels for each in store.answers.read()] == [[1, 0], [0, 2]]


def test_nothing_that_was_disclosed_stays_after_the_end(tmp_path: Path) -> None:
    """Whoever takes the disk later would have what the platform had."""
    cast = example_cast()
    store = Store.create(tmp_path, cast.agreement, cast.signatures)
    state = AgreementState(store, node=0, key=cast.sealing[0])
    store.answers.add(0, [1, 0], None)
    store.add_evaluated(0, {bytes(16)})
    state.end("the run is over")
    state.erase()
    assert not list(store.folder.glob("answers")) + list(store.folder.glob("evaluated-*"))


def test_of_many_searches_those_used_last_stay_in_memory(tmp_path: Path) -> None:
    """A platform may have many agreements; each search is followed again when it is needed."""
    states = []
    for number in range(3):
        cast = example_cast()
        search = replace(cast.agreement.search, populations="derived")
        limits = replace(cast.agreement.limits, population_max=1_000_000 // (2 * SEARCH_BYTES))
        agreement = replace(cast.agreement, search=search, limits=limits)
        store = Store.create(tmp_path / str(number), agreement, cast.signatures)
        states.append(AgreementState(store, node=0, key=cast.sealing[0]))
    kept, remembered = KeptSearches(megabytes=2), object()
    for number in (0, 1, 0, 2):
        derivation = states[number].derivation
        assert derivation is not None
        with kept.used(states[number], "platform"):
            derivation._search = remembered  # type: ignore[assignment]
    in_memory = [each.derivation is not None and each.derivation._search for each in states]
    assert in_memory == [remembered, None, remembered]
