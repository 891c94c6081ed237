"""A node's stored answers are read and written by one at a time, each whole or not at all."""

from __future__ import annotations

import asyncio
import resource
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from tacit.agreement.sizes import SEARCH_BYTES, weights_bytes
from tacit.errors import EngineError, LogError, RefusedError
from tacit.mpc import ArithmeticShare
from tacit.node import limits
from tacit.node import store as store_module
from tacit.node.agreement_state import AgreementState
from tacit.node.counters import LAST_NUMBERS
from tacit.node.derivation import Derivation
from tacit.node.limits import KeptSearches, KeptWeights
from tacit.node.policy import Asked
from tacit.node.store import LEASE, Store, StoredAnswer
from tacit.records.requests import pack_candidates, request_hash, unpack_candidates
from tests.on_nodes.fixtures import Cast, example_cast


@pytest.fixture
def cast() -> Cast:
    return example_cast()


def agreement_state(cast: Cast, root: Path) -> AgreementState:
    made = AgreementState(
        Store.create(root, cast.agreement, cast.signatures), node=0, key=cast.sealing[0]
    )
    made.inputs.seed_contributions[0] = "00"
    return made


def asked(cast: Cast, number: int) -> Asked:
    raw = pack_candidates(cast.agreement.known_problem, np.array([[0, 1], [1, 0]]))
    plans = unpack_candidates(cast.agreement.known_problem, raw)
    assert plans is not None
    return Asked(
        0, number, "top:1", "value", request_hash("evaluate", "top:1", "value", raw), plans
    )


def test_numbers_survive_the_process(cast: Cast, tmp_path: Path) -> None:
    first = agreement_state(cast, tmp_path)
    for number in (1, 2, 3):
        first.counters.begin(asked(cast, number))
    again = agreement_state(cast, tmp_path)
    assert again.counters.by_objective[0].highest == 3
    again.counters.begin(asked(cast, 3))  # the same request: answered again, not counted
    with pytest.raises(RefusedError, match="gap"):
        again.counters.begin(asked(cast, 5))
    again.counters.begin(asked(cast, 4))


def test_after_a_restart_of_the_machine_the_lease_counts_as_used(
    cast: Cast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = agreement_state(cast, tmp_path)
    first.counters.begin(asked(cast, 1))
    # The machine loses power, and with it the last lines of the log.
    log = first.store.log.path
    log.write_bytes(log.read_bytes().splitlines(keepends=True)[0])
    monkeypatch.setattr(store_module, "boot_identity", lambda: "another boot")
    for _ in range(2):  # also if the process dies again before it did anything
        again = agreement_state(cast, tmp_path)
        assert again.counters.by_objective[0].highest == 1 + LEASE
    with pytest.raises(RefusedError, match="another request"):
        again.counters.begin(asked(cast, 1))


def test_without_a_boot_identity_every_number_is_synced(
    cast: Cast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "boot_identity", lambda: None)
    first = agreement_state(cast, tmp_path)
    first.counters.begin(asked(cast, 1))
    assert first.store.lease.left(0, 2) < 0
    again = agreement_state(cast, tmp_path)
    assert again.counters.by_objective[0].highest == 1
    again.counters.begin(asked(cast, 2))


def test_files_of_a_node_are_its_own(cast: Cast, tmp_path: Path) -> None:
    made = agreement_state(cast, tmp_path)
    for path in made.store.folder.iterdir():
        assert path.stat().st_mode & 0o077 == 0, path


def test_leases_extended_from_several_threads_are_all_kept(cast: Cast, tmp_path: Path) -> None:
    store = Store.create(tmp_path, cast.agreement, cast.signatures)

    def extend(objective: int) -> None:
        for number in range(1, 101):
            store.lease.extend(objective, number)

    with ThreadPoolExecutor(4) as threads:
        for each in [threads.submit(extend, objective) for objective in range(4)]:
            each.result()
    again = Store(store.folder)
    assert [again.lease.left(objective, 100) for objective in range(4)] == [LEASE] * 4


def test_what_cannot_be_written_down_is_not_evaluated(
    cast: Cast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = agreement_state(cast, tmp_path)
    made.counters.begin(asked(cast, 1))
    with monkeypatch.context() as patch:
        patch.setattr("os.write", lambda file, data: len(data) - 1)
        with pytest.raises(LogError, match="cannot be written"):
            made.counters.begin(asked(cast, 2))
    assert made.counters.by_objective[0].highest == 1
    made.counters.begin(asked(cast, 2))
    assert agreement_state(cast, tmp_path).counters.by_objective[0].highest == 2


def test_what_a_killed_node_was_writing_does_not_stay(cast: Cast, tmp_path: Path) -> None:
    folder = agreement_state(cast, tmp_path).store.folder
    drafts = [folder / ".best-0.0a1b2c3d", folder / "inputs" / ".0-north.0a1b2c3d"]
    for draft in drafts:
        draft.write_bytes(b"shares")
    Store(folder)
    assert not any(draft.exists() for draft in drafts)


def test_of_evaluations_long_ago_nothing_stays_in_memory(cast: Cast, tmp_path: Path) -> None:
    """Neither their requests nor their candidates; the reveal looks those up on the disk."""
    first = agreement_state(cast, tmp_path)
    limits = replace(cast.agreement.limits, evaluations=1000)
    first.counters._agreement = replace(cast.agreement, limits=limits)
    for number in range(1, 101):
        first.counters.begin(asked(cast, number))
    for held in (first, agreement_state(cast, tmp_path)):
        counter = held.counters.by_objective[0]
        assert counter.highest == counter.latest == 100
        assert sorted(counter.used) == list(range(101 - LAST_NUMBERS, 101))
    hashes = [bytes([number]) * 16 for number in range(200)]
    for at in range(0, 200, 50):
        first.store.add_evaluated(0, set(hashes[at : at + 50]))
    assert first.store.were_evaluated(0, {hashes[0], hashes[199]})
    assert not first.store.were_evaluated(0, {hashes[0], bytes([200]) * 16})
    assert not first.store.were_evaluated(1, {hashes[0]})


def test_shares_used_longest_ago_leave_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    casts = [example_cast() for _ in range(3)]
    states = [agreement_state(cast, tmp_path / str(k)) for k, cast in enumerate(casts)]
    monkeypatch.setattr(limits, "KEPT_BYTES", 2 * weights_bytes(casts[0].agreement))
    kept = KeptWeights()
    for number in (0, 1, 0, 2):
        kept.use(states[number])
        states[number].inputs.weights(0)
    assert [bool(state.inputs._weights) for state in states] == [True, False, True]
    assert states[1].inputs.weights(0).shape == (2, 2)


def test_shares_that_are_opened_while_all_is_erased_do_not_stay(cast: Cast, tmp_path: Path) -> None:
    inputs = agreement_state(cast, tmp_path).inputs
    erasing = threading.Thread(target=inputs.erase)

    class Slow(dict[int, ArithmeticShare]):
        """The end of the agreement comes just when shares are about to be kept."""

        def __setitem__(self, objective: int, share: ArithmeticShare) -> None:
            erasing.start()
            erasing.join(0.05)
            super().__setitem__(objective, share)

    inputs._weights = Slow()
    inputs.weights(0)
    erasing.join()
    assert not inputs._weights


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


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """A disk on which no file gets larger than this."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_state_that_does_not_fit_on_the_disk_leaves_the_one_before(
    cast: Cast, tmp_path: Path
) -> None:
    store = agreement_state(cast, tmp_path).store
    store.save_state("best-0", b"before")
    store.lease.extend(0, 1)
    left, files = store.lease.left(0, 1), set(store.folder.iterdir())
    with room_for(8):
        with pytest.raises(OSError, match="File too large"):
            store.save_state("best-0", bytes(1000))
        with pytest.raises(OSError, match="File too large"):
            store.lease.extend(0, 500)
    assert (store.load_state("best-0"), store.lease.left(0, 1)) == (b"before", left)
    assert set(store.folder.iterdir()) == files
    again = Store(store.folder)
    assert again.lease.left(0, 1) == left


def test_an_answer_that_does_not_fit_on_the_disk_leaves_nothing(tmp_path: Path) -> None:
    cast = example_cast()
    store = Store.create(tmp_path, cast.agreement, cast.signatures)
    store.answers.add(0, [1, 0], None)
    with room_for((store.folder / "answers").stat().st_size + 7):
        for _ in range(2):
            with pytest.raises(EngineError, match="check the node's disk"):
                store.answers.add(0, [0, 1], None)
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
