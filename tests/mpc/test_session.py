import asyncio
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from tacit.errors import (
    AbortError,
    MaskReuseError,
    MpcError,
    ParameterError,
    PeerTimeoutError,
)
from tacit.mpc import (
    Context,
    FitnessBound,
    Session,
    Spec,
    agree_epoch,
    collect,
    evaluate,
    open_session,
)
from tacit.mpc.disclose.coordinator import DisclosedValues
from tacit.mpc.epoch import Epoch
from tacit.mpc.epoch import cost as epoch_cost
from tacit.mpc.local import deal_integers, run_linked, run_parties
from tacit.mpc.masks import KeyedMasks
from tacit.mpc.transport.frame import Buffer, decode
from tacit.mpc.transport.memory import MemoryLink
from tacit.mpc.transport.mux import Mux

SPEC, BOUND = Spec.parse("order"), FitnessBound(-100, 100)


def test_no_label_is_drawn_twice() -> None:
    async def node(session: Session) -> None:
        session.words("once", session.me, 2)
        session.words("once", session.next, 2)
        with pytest.raises(MaskReuseError, match="already drawn"):
            session.words("once", session.me, 2)
        with pytest.raises(MaskReuseError, match="already drawn"):
            session.permutation("once", session.me, 2)

    run_parties(node)


def test_substreams_can_be_taken_again_and_rounds_add_up() -> None:
    async def pass_on(session: Session) -> int:
        await session.send(session.next, np.full(1, session.me, dtype=np.uint64))
        return int((await session.receive(session.previous, 1))[0])

    async def twice(session: Session) -> int:
        return await pass_on(session) + await pass_on(session)

    async def node(session: Session) -> list[int]:
        substreams = session.substreams(2)
        heard = []
        for _ in range(300):  # more often than there are substreams
            heard += await session.in_parallel(pass_on, twice, substreams=substreams)
        return heard

    run = run_parties(node)
    assert run.rounds == 600
    assert run.results[1] == [0, 0] * 300
    assert run.results[0] == [2, 4] * 300


def test_substreams_share_one_register_of_labels() -> None:
    async def draw(session: Session) -> None:
        session.words("once", session.me, 1)

    async def node(session: Session) -> None:
        await session.in_parallel(draw, draw)

    with pytest.raises(MaskReuseError):
        run_parties(node)


def test_the_coordinator_draws_nothing() -> None:
    async def coordinator(session: Session) -> None:
        session.words("any", 0, 1)

    async def node(session: Session) -> None:
        await asyncio.sleep(0)

    with pytest.raises(MaskReuseError, match="holds no keys"):
        run_parties(node, coordinator)


def test_zero_sharings_add_up_to_zero_and_are_fresh() -> None:
    async def node(session: Session) -> tuple[np.ndarray, np.ndarray]:
        return session.zero_sum("a", 5), session.zero_xor("b", 5)

    runs = [run_parties(node).results for _ in range(2)]
    for run in runs:
        assert not (run[0][0] + run[1][0] + run[2][0]).any()
        assert not (run[0][1] ^ run[1][1] ^ run[2][1]).any()
    for sharing in (0, 1):
        assert len({part[sharing].tobytes() for run in runs for part in run}) == 6


def test_every_part_of_the_context_changes_the_masks() -> None:
    base = Context(b"a", 0, 1, 0, b"r")
    # Every byte of a number counts.
    objectives, attempts = ([1 << 8 * byte for byte in range(2)] for _ in range(2))
    evaluations = [1 + (1 << shift) for shift in (0, *range(6, 64, 8))]
    others = [
        Context(b"b", 0, 1, 0, b"r"),
        *(Context(b"a", number, 1, 0, b"r") for number in objectives),
        *(Context(b"a", 0, number, 0, b"r") for number in evaluations),
        *(Context(b"a", 0, 1, number, b"r") for number in attempts),
    ]
    contexts = [base, *others, replace(base, request=b"s")]
    epoch = Epoch({0: bytes(32), 1: bytes(32)})
    drawn = {epoch.masks(c).words("x", 0, 4).tobytes() for c in contexts}
    assert len(drawn) == len(contexts)
    assert len({c.tag for c in contexts}) == len(contexts)
    # A request has no conversations of its own, so that nodes notice when theirs differ.
    assert len({c.channel(0) for c in contexts}) == len(contexts) - 1
    assert base.channel(0) != base.channel(1)
    with pytest.raises(MaskReuseError, match="computed before"):
        epoch.masks(base)


def test_labels_and_components_have_streams_of_their_own() -> None:
    masks = KeyedMasks({0: bytes(32), 1: bytes([1]) * 32})
    drawn = {masks.words(label, c, 4).tobytes() for label in ("a", "b") for c in (0, 1)}
    assert len(drawn) == 4


def test_keys_are_fresh_in_every_epoch_and_common_to_each_pair() -> None:
    async def node(me: int, muxes: dict[int, Mux]) -> list[dict[int, bytes]]:
        if me == 3:
            return []
        epochs = [await agree_epoch(me, muxes, number=k, timeout=5) for k in (0, 1)]
        return [epoch._keys for epoch in epochs]

    parties = run_linked(node)
    for k in (0, 1):
        for c in range(3):
            assert parties[c][k][c] == parties[(c + 2) % 3][k][c]
    assert len({key for me in range(3) for keys in parties[me] for key in keys.values()}) == 6


def test_agreeing_on_keys_costs_what_is_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: Counter[str] = Counter()
    depths: list[int] = []
    send = MemoryLink.send

    async def counted(self: MemoryLink, header: bytes, payload: Buffer, *, timeout: float) -> None:
        sent[self._other._peer if self._other else ""] += len(header) + len(payload)
        depths.append(decode(header, peer=self.peer).depth)
        await send(self, header, payload, timeout=timeout)

    async def node(me: int, muxes: dict[int, Mux]) -> None:
        if me < 3:
            await agree_epoch(me, muxes, timeout=5)

    monkeypatch.setattr(MemoryLink, "send", counted)
    run_linked(node)
    assert tuple(sent[f"node {i}"] for i in range(3)) == epoch_cost().sent
    assert max(depths) == epoch_cost().rounds


async def _evaluate(
    me: int, muxes: dict[int, Mux], epoch: Epoch | None, number: int, request: bytes = b"r"
) -> DisclosedValues | None:
    shares = _SHARES
    context = Context(b"agreement", 0, number, 0, request)
    ask = {"spec": SPEC, "bound": BOUND}
    async with open_session(context, me=me, muxes=muxes, epoch=epoch, timeout=5) as session:
        if me == 3:
            return await collect(session, 4, best="value", **ask)  # type: ignore[arg-type]
        await evaluate(session, shares[me], best="value", **ask)  # type: ignore[arg-type]
        return None


_SHARES = deal_integers([5, -7, 5, 0])


def test_evaluations_interleave_on_the_same_links() -> None:
    async def party(me: int, muxes: dict[int, Mux]) -> list[DisclosedValues | None]:
        epoch = await agree_epoch(me, muxes) if me < 3 else None
        numbers = range(5) if me != 1 else reversed(range(5))
        return list(await asyncio.gather(*(_evaluate(me, muxes, epoch, k) for k in numbers)))

    for outcome in run_linked(party)[3]:
        assert outcome is not None
        assert outcome.labels.tolist() == [0, 3, 1, 2]
        assert (outcome.best_value, outcome.rounds) == (5, 9)


def test_nodes_with_different_requests_notice_and_the_epoch_ends() -> None:
    async def party(me: int, muxes: dict[int, Mux]) -> tuple[str, bool]:
        epoch = await agree_epoch(me, muxes) if me < 3 else None
        try:
            await asyncio.wait_for(
                _evaluate(me, muxes, epoch, 1, b"other" if me == 2 else b"r"), timeout=0.5
            )
        except (MpcError, TimeoutError) as error:
            return str(error), epoch is None or epoch.closed
        return "", False

    said = run_linked(party)
    assert any("works on another request" in text for text, _ in said[:3])
    assert all(closed for _, closed in said[:3])


def test_a_failed_session_ends_the_epoch() -> None:
    async def party(me: int, muxes: dict[int, Mux]) -> bool:
        if me == 3:
            return True
        epoch = await agree_epoch(me, muxes)
        context = Context(b"agreement", 0, 1, 0, b"r")
        with pytest.raises(AbortError):
            async with open_session(context, me=me, muxes=muxes, epoch=epoch):
                raise AbortError("node 0", "stopped")
        with pytest.raises(MaskReuseError, match="has ended"):
            epoch.masks(Context(b"agreement", 0, 2, 0, b"r"))
        with pytest.raises(MaskReuseError, match="agree_epoch"):
            async with open_session(context, me=me, muxes=muxes, epoch=None):
                pass
        return epoch.closed

    assert all(run_linked(party))


def test_a_message_of_the_wrong_size_names_its_sender() -> None:
    async def node(session: Session) -> None:
        await session.send(session.next, np.zeros(3, dtype=np.uint64))
        await session.receive(session.previous, 4)

    with pytest.raises(AbortError, match=r"node \d: sent 24 bytes where 32 were due"):
        run_parties(node)


def test_a_silent_peer_is_named() -> None:
    async def node(session: Session) -> None:
        if session.me == 0:
            await session.receive(2, 1)

    with pytest.raises(PeerTimeoutError, match=r"node 2: sent nothing for 0\.01 s"):
        run_parties(node, timeout=0.01)


def test_received_arrays_cannot_be_written() -> None:
    async def node(session: Session) -> None:
        await session.send(session.next, np.zeros(3, dtype=np.uint64))
        array = await session.receive(session.previous, 3)
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1

    run_parties(node)


def test_numbers_that_frames_cannot_hold() -> None:
    with pytest.raises(ParameterError, match="attempt is 65536"):
        Context(b"a", 0, 1, 65536, b"r")
