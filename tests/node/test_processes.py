"""Which computations get a process of their agreement, and what travels there."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Callable
from typing import Any, cast

import msgspec
import pytest

from tacit.errors import (
    AbortError,
    LinkClosedError,
    MaskReuseError,
    MismatchError,
    PeerTimeoutError,
)
from tacit.mpc import Session
from tacit.mpc.local import fresh_masks
from tacit.node import processes
from tacit.node.processes import ForkLine, Processes, WorkerProcess
from tacit.node.worker import TaskFailed, error_of, failure_of


class Started:
    """In place of a worker."""

    is_gone, pid = False, 1

    def end(self) -> None:
        self.is_gone = True


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> Processes:
    async def start(*_: object) -> Any:
        return Started()

    monkeypatch.setattr(WorkerProcess, "start", start)
    monkeypatch.setattr(processes, "MOST_WORKERS", 2)
    return Processes("node 0", cast(ForkLine, object()))


async def nested(pool: Processes, *computations: tuple[bytes, bool]) -> list[bool]:
    """Whether each of these gets a process, while all before it compute."""
    if not computations:
        return []
    (agreement, is_long), *rest = computations
    async with pool.worker_for(agreement, is_long=is_long) as worker:
        return [worker is not None, *await nested(pool, *rest)]


def test_short_steps_are_computed_here_while_nobody_else_computes(pool: Processes) -> None:
    short, large = (b"a", False), (b"b", True)
    assert asyncio.run(nested(pool, short)) == [False]
    assert asyncio.run(nested(pool, large)) == [True]
    assert asyncio.run(nested(pool, short, (b"c", False))) == [False, True]
    # As many as there are cores; large ones in any case, each in that of its own agreement.
    others = [(bytes([k]), False) for k in range(5)]
    assert asyncio.run(nested(pool, *others)) == [False, True, True, False, False]
    assert asyncio.run(nested(pool, *others, large)) == [False, True, True, False, False, True]
    # Of one agreement one at a time, since they share its process.
    assert asyncio.run(nested(pool, large, large)) == [True, False]


def test_processes_that_wait_are_as_many_as_cores_and_go_with_their_agreement(
    pool: Processes,
) -> None:
    for name in (b"a", b"b", b"c", b"b"):
        assert asyncio.run(nested(pool, (name, True))) == [True]
    assert [*pool.pids] == [b"c", b"b"]
    pool.forget(b"b")
    pool.forget(b"never seen")
    assert [*pool.pids] == [b"c"]


def test_a_session_that_was_handed_over_draws_no_masks_here() -> None:
    def nowhere(_peer: int, _substream: int) -> Any:
        raise AssertionError("nothing is sent")

    session = Session(0, nodes=3, masks=fresh_masks()(0), wire=nowhere)
    session.words("before", 1, 2)
    with pytest.raises(MaskReuseError, match="before it begins"):
        session.hand_over()
    session = Session(0, nodes=3, masks=fresh_masks()(0), wire=nowhere, greeting=b"hello")
    terms = pickle.loads(pickle.dumps(session.hand_over()))
    elsewhere = terms.session(nowhere)
    assert elsewhere.words("mask", 1, 2).size == 2
    for again in (session.hand_over, lambda: session.words("mask", 1, 2)):
        with pytest.raises(MaskReuseError):
            cast(Callable[[], object], again)()


@pytest.mark.parametrize(
    "error",
    [
        PeerTimeoutError("node 1", "sent nothing for 3 s"),
        LinkClosedError("node 2", "closed the link"),
        AbortError("node 1", "counts wrong"),
        MismatchError("node 1", "node 2", evidence=[b"said"]),
    ],
)
def test_errors_of_peers_come_back_as_they_were(error: Any) -> None:
    data = msgspec.msgpack.encode(failure_of(error, "node 0"))
    back: Any = error_of(msgspec.msgpack.decode(data, type=TaskFailed))
    assert type(back) is type(error)
    assert str(back) == str(error)
    assert getattr(back, "evidence", ()) == getattr(error, "evidence", ())


def test_an_internal_error_of_a_process_names_its_own_node() -> None:
    back = error_of(failure_of(ValueError("of what is secret"), "node 0"))
    assert back.peer == "node 0"
    assert "secret" not in str(back)
