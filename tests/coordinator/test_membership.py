"""The platform names a node only by proof, or by its silence while the others answer."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tacit.coordinator.coordinator import Coordinator
from tacit.coordinator.membership import Loss, Naming, Watch, enough_of
from tacit.coordinator.node_client import NodeClient, ask_for_sealing_keys
from tacit.coordinator.secure import SecureEngine
from tacit.errors import (
    LoneRefusalError,
    MismatchError,
    PeerError,
    PeerLostError,
    PeerTimeoutError,
    RefusedError,
)
from tests.records.test_evidence import CAST, WRONG, signed, statement

PAIR = statement(1, 3, (1, 2), lies={1: WRONG}), statement(2, 3, (1, 2))
AGAIN = (
    statement(1, 0, (1, 3), lies={3: WRONG}, exchange=2),
    statement(3, 0, (1, 3), exchange=2),
)
IRRELEVANT = [signed(statement(1, 3, (0, 1), exchange=n)) for n in range(9, 39)]


def mismatch(*evidence: bytes) -> MismatchError:
    return MismatchError("node 1", "node 2", evidence=evidence)


def test_attempts_are_signed_once_something_did_not_fit() -> None:
    naming = Naming(CAST.agreement)
    signs = []
    for reason in (PeerError("node 2", "is gone"), mismatch()):
        naming.hear(reason)
        signs.append(naming.signed)
    assert signs == [False, True]
    assert (naming.suspects, naming.named, naming.words) == (frozenset(), None, "")


def test_a_pair_names_nobody_and_two_pairs_do() -> None:
    naming = Naming(CAST.agreement)
    known = []
    for statements in (PAIR, PAIR, AGAIN):
        naming.hear(mismatch(*map(signed, statements)))
        known.append((set(naming.suspects), naming.named))
    assert known == [({1, 2}, None), ({1, 2}, None), ({1}, 1)]
    assert sorted(naming.evidence) == sorted(map(signed, (*PAIR, *AGAIN)))


def test_what_a_node_makes_up_changes_nothing() -> None:
    naming = Naming(CAST.agreement)
    forged = PAIR[1].encode() + signed(PAIR[0])[-64:]
    for evidence in ([signed(PAIR[0]), forged], [b""], [signed(PAIR[0])], IRRELEVANT):
        naming.hear(mismatch(*evidence))
        assert not naming.suspects
        assert not naming.evidence


def test_statements_that_prove_nothing_are_not_passed_on() -> None:
    """Whoever lies adds so many of them that a proof would be too long to be sent."""
    naming = Naming(CAST.agreement)
    naming.hear(mismatch(*IRRELEVANT, *map(signed, PAIR)))
    assert naming.evidence == [*map(signed, PAIR)]
    naming.hear(mismatch(*map(signed, AGAIN), *IRRELEVANT))
    assert naming.named == 1
    assert len(naming.evidence) == 4


def blamed(silent: list[float | None], *, pair: bool = False) -> str:
    """Who is named if nodes were silent for so long; one that is not connected has None."""
    clients: Any = [
        SimpleNamespace(
            name=f"node {number}",
            connected=seconds is not None,
            silent_for=lambda seconds=seconds: seconds or 0.0,
        )
        for number, seconds in enumerate(silent)
    ]
    loss: Any = SimpleNamespace(members=clients, awaited=clients, is_proven=False, failing=None)
    naming = Naming(CAST.agreement)
    if pair:
        naming.hear(MismatchError("node 1", "node 2", evidence=[*map(signed, PAIR)]))
    return str(Watch(clients, loss, naming).blame(None))


def test_a_node_is_named_that_does_not_answer_while_the_others_do() -> None:
    assert "node 1: has not answered for 0.7 s" in blamed([0.3, 0.7, 0.0])
    # Who all got no core since the same question are not told apart.
    assert "the nodes: did not finish" in blamed([0.7, 0.71, 0.69])
    assert "the nodes: did not finish" in blamed([0.05, 0.0, 0.0])


def test_a_node_that_was_silent_for_a_moment_is_not_named_in_place_of_another() -> None:
    assert "node 2: cannot be reached" in blamed([0.3, 0.0, None])
    assert "departed from the protocol" in blamed([0.3, 0.0, 0.0, 0.0], pair=True)


def test_the_node_is_named_also_if_the_coordinators_own_thread_gets_no_core() -> None:
    clients = [NodeClient(number, "127.0.0.1:1", cast(Any, None), 0.0) for number in range(3)]
    for client in clients:
        client._line = cast(Any, SimpleNamespace(mux=SimpleNamespace(failure=None)))
    clients[1]._asked_at = time.monotonic() - 1.0
    engine: Any = SimpleNamespace(_coordinator=Coordinator(CAST.agreement, clients))
    never: Future[None] = Future()
    with pytest.raises(PeerTimeoutError, match="node 1: has not answered for 1"):
        SecureEngine.wait(engine, never, until=time.monotonic())
    assert never.cancelled()


class BusyNode:
    """A node that shakes hands late."""

    name = "node 0"

    def __init__(self, late: int) -> None:
        self.late = late

    async def connect(self) -> None:
        self.late -= 1
        if self.late >= 0:
            await asyncio.sleep(0)
            raise PeerTimeoutError(self.name, "did not answer for 2 s")
        raise PeerLostError(self.name, "reached at last")


def test_a_busy_node_is_asked_for_its_sealing_key_until_the_time_is_over() -> None:
    async def ask(node: BusyNode, within: float) -> None:
        terms = CAST.agreement.nodes[:1]
        await ask_for_sealing_keys(cast(Any, [node]), terms, nonce="", platform="", within=within)

    with pytest.raises(PeerLostError, match="reached at last"):
        asyncio.run(ask(BusyNode(3), 60.0))
    with pytest.raises(PeerTimeoutError, match="node 0"):
        asyncio.run(ask(BusyNode(1_000_000), 2.1))


def test_giving_up_on_a_node_that_is_being_left_cancels_nothing_for_those_after() -> None:
    """A link closes slowly; who waits too briefly to reach its node again must not break it."""

    class ClosesSlowly(NodeClient):
        async def disconnect(self) -> None:
            await asyncio.sleep(0.05)

    async def reach_twice() -> None:
        client = ClosesSlowly(0, "127.0.0.1:1", cast(Any, None), 0.0)
        client._line = cast(Any, SimpleNamespace(mux=SimpleNamespace(failure=None)))
        client.give_up()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await client.connect()
        await client.connect()

    asyncio.run(reach_twice())


# What one of four nodes says alone.


class Asked:
    """Nodes that have failed or answered, and what the platform makes of it."""

    def __init__(self, *replies: BaseException | None, on_loss: str = "wait") -> None:
        clients: Any = [
            SimpleNamespace(
                number=k, name=f"node {k}", connected=True, connect=nothing, silent_for=lambda: 0.0
            )
            for k in range(len(replies))
        ]
        agreement: Any = SimpleNamespace(
            on_loss=on_loss, grace_seconds=10.0, sealed=True, objectives=[]
        )
        self.loss = Loss(agreement, clients)
        self._watch = Watch(clients, self.loss, Naming(CAST.agreement))
        self._replies = replies

    async def outcome(self) -> Any:
        loop = asyncio.get_running_loop()
        replies = [loop.create_future() for _ in self._replies]
        for future, error in zip(replies, self._replies, strict=True):
            if error is None:
                future.set_result("done")
            else:
                future.set_exception(error)
        try:
            return await self._watch.result(asyncio.gather(*replies), replies)
        except (RefusedError, PeerError) as error:
            return error

    def blamed(self) -> str:
        return str(self._watch.blame(None))


async def nothing() -> None:
    """Connect to a node that is connected."""


def refusal(node: int, kind: str = "") -> RefusedError:
    return RefusedError(f"node {node}", "not now", kind=kind)


def told_by(node: int, peer: int) -> PeerError:
    return PeerError(f"node {peer}", f"failed (says node {node})")


def test_one_of_four_that_refuses_fails_and_two_refuse() -> None:
    async def work() -> None:
        others = [told_by(node, 3) for node in range(3)]
        for liar in (0, 3):
            replies: list[BaseException | None] = [*others]
            replies.insert(liar, refusal(liar))
            asked = Asked(*replies)
            error = await asked.outcome()
            assert isinstance(error, LoneRefusalError)
            assert (error.peer, error.refusal.reason) == (f"node {liar}", "not now")
            # Until the deadline, whatever was the last trouble.
            assert f"node {liar}: refuses" in asked.blamed()
        two = await Asked(others[0], refusal(1), refusal(2), others[2]).outcome()
        assert isinstance(two, RefusedError)
        of_three = await Asked(others[0], refusal(1), others[2]).outcome()
        assert isinstance(of_three, RefusedError)

    asyncio.run(work())


def test_a_second_refusal_is_waited_for() -> None:
    """Honest nodes that all refuse do so one after the other."""

    async def work() -> None:
        asked, loop = Asked(None, None, None, None), asyncio.get_running_loop()
        replies: list[asyncio.Future[Any]] = [loop.create_future() for _ in range(4)]
        replies[2].set_exception(refusal(2))
        for node in (0, 1, 3):
            loop.call_later(0.15, replies[node].set_exception, refusal(node))
        with pytest.raises(RefusedError):
            await asked._watch.result(asyncio.gather(*replies), replies)

    asyncio.run(work())


def test_the_others_are_asked_about_a_node_that_fails_for_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They go on without it only if they do not reach it either."""
    now = 100.0

    async def lost(*replies: BaseException | None, on_loss: str = "three") -> int | None:
        nonlocal now
        asked = Asked(*replies, on_loss=on_loss)
        monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: now)
        for _ in range(2):
            await asked.outcome()
            await asked.loss.connect(everybody=False)
            if asked.loss.without is not None:
                break
            now += 3.0
            await asked.loss.connect(everybody=True)
            assert asked.loss.without is None
        await asked.loss.connect(everybody=False)
        first = asked.loss.without
        # Who is reached by others is asked about again, and not at once.
        asked.loss.is_not_gone()
        await asked.loss.connect(everybody=False)
        assert asked.loss.without is None
        asked.loss.failed(None)
        now += 3.0
        await asked.loss.connect(everybody=False)
        assert asked.loss.without is None
        return first

    refusing = [told_by(0, 3), told_by(1, 3), told_by(2, 3), refusal(3)]
    assert asyncio.run(lost(*refusing)) == 3
    assert asyncio.run(lost(*refusing, on_loss="wait")) is None
    # Two that say so of a third, and one that says so of another.
    assert asyncio.run(lost(told_by(0, 3), told_by(1, 3), None, told_by(3, 1))) == 3
    assert asyncio.run(lost(None, told_by(1, 2), None, None)) is None


def test_one_of_four_makes_no_loss_up() -> None:
    """Else nothing would be signed any more, and no other node could be lost."""

    async def happened(*said: int | None) -> bool:
        asked = Asked(None, None, None, None, on_loss="three")
        asked.loss.opened(said)
        return asked.loss.has_happened

    assert not asyncio.run(happened(None, None, None, 1))
    assert asyncio.run(happened(None, 0, 0, 0))
    assert asyncio.run(happened(0, 0, 0))


def test_three_answers_of_four_are_enough() -> None:
    async def work() -> None:
        loop = asyncio.get_running_loop()
        never: asyncio.Future[str] = loop.create_future()

        def answering(count: int, *others: asyncio.Future[str]) -> list[asyncio.Future[str]]:
            made: list[asyncio.Future[str]] = [loop.create_future() for _ in range(count)]
            for each in made:
                each.set_result("done")
            return [*others, *made]

        failed: asyncio.Future[str] = loop.create_future()
        failed.set_exception(refusal(0))
        assert await enough_of(answering(3, failed), within=60.0) == ["done"] * 3
        assert await enough_of(answering(3, never), within=60.0) == ["done"] * 3
        for asked in (answering(2, failed), answering(2, failed, failed)):
            with pytest.raises(RefusedError):
                await enough_of(asked, within=60.0)
        with pytest.raises(PeerTimeoutError):
            await enough_of(answering(2, loop.create_future()), within=0.01)

    asyncio.run(work())
