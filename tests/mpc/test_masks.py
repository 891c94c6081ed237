"""Masks are uniform, and none is drawn twice."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from tacit.errors import PeerError
from tacit.mpc import (
    COORDINATOR,
    ArithmeticShare,
    Context,
    Epoch,
    FitnessBound,
    Spec,
    agree_epoch,
    evaluate,
    hand_over,
    open_session,
    share_without,
)
from tacit.mpc import epoch as epoch_module
from tacit.mpc.local import deal_integers, reveal, run_linked
from tacit.mpc.masks import KeyedMasks, expand
from tacit.mpc.transport.mux import Mux
from tests.mpc.mask_checks import MasksDrawn, check_every_bit_is_fair, recorded

STREAMS = 400
SOURCE = KeyedMasks({0: bytes(32)})


def test_keys_are_expanded_as_rfc_5869_says() -> None:
    key = "077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5"
    info = "f0f1f2f3f4f5f6f7f8f9"
    expanded = "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf"
    assert expand(bytes.fromhex(key), bytes.fromhex(info)).hex() == expanded


def test_every_bit_of_a_word_is_random() -> None:
    words = SOURCE.words("x", 0, 50 * STREAMS)
    check_every_bit_is_fair([word.tobytes() for word in words])


@pytest.mark.parametrize("count", [8192, 8193, 20_001])
def test_long_streams_go_on_where_short_ones_end(count: int) -> None:
    subkey = expand(bytes(32), b"words|x")
    stream = Cipher(algorithms.AES(subkey[:16]), modes.CTR(subkey[16:])).encryptor()
    words = SOURCE.words("x", 0, count)
    assert words.tobytes() == stream.update(bytes(8 * count))
    assert not words.flags.writeable


def test_every_bit_of_a_streams_key_is_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    keys: list[bytes] = []
    aes = algorithms.AES

    def noted(key: bytes) -> algorithms.AES:
        keys.append(key)
        return aes(key)

    monkeypatch.setattr(algorithms, "AES", noted)
    for number in range(STREAMS):
        SOURCE.words(str(number), 0, 1)
    assert {len(key) for key in keys} == {16}
    check_every_bit_is_fair(keys)


NODES, LOST = 4, 3
BOUND = FitnessBound(0, 99)
FITNESS = {1: [5, 40, 12, 7], 2: [80, 3, 9, 21], 3: [30, 90, 2, 8]}
SHARES = {number: deal_integers(values, nodes=NODES) for number, values in FITNESS.items()}
BEST_SIZE = [((1,), np.dtype(np.uint64))]
now: ContextVar[tuple[int, str]] = ContextVar("now")
"""Who draws, and the computation that it is for."""


class _KilledError(Exception):
    """The node dies here."""


def _dying(exchange: Callable[..., Awaitable[Any]], *, after: int) -> Any:
    """Rounds of which the last is not reached."""
    left = iter(range(after))

    async def next_round(*letters: Any) -> Any:
        if next(left, None) is None:
            raise _KilledError
        return await exchange(*letters)

    return next_round


class OneNode:
    """A node in a run in which node 3 dies twice, is done without, and comes back."""

    def __init__(self, me: int) -> None:
        self.me, self.muxes = me, dict[int, Mux]()
        self.best: ArithmeticShare | None = None
        self.epoch = Epoch({})

    async def begin(self, number: int, *, without: int | None = None) -> None:
        muxes = {peer: mux for peer, mux in self.muxes.items() if peer != without}
        self.epoch = await agree_epoch(self.me, muxes, number=number, timeout=5)

    async def compute(
        self, step: str, number: int, attempt: int, *, dies: bool = False, returns: bool = False
    ) -> None:
        """An evaluation that builds on the best so far, handed over to node 3 if it `returns`."""
        now.set((self.me, step))
        context = Context(b"agreement", 0, number, attempt, bytes([number]))
        members = self.epoch.members
        muxes = {members.index(k): mux for k, mux in self.muxes.items() if k in members}
        muxes[COORDINATOR] = self.muxes[COORDINATOR]
        me = members.index(self.me)
        fitness = SHARES[number][self.me]
        if len(members) < NODES:
            fitness = share_without(fitness, me=self.me, lost=LOST)
        async with open_session(context, me=me, muxes=muxes, epoch=self.epoch, timeout=5) as s:
            best = self.best
            if best is not None and len(best.parts) >= len(members):
                best = share_without(best, me=self.me, lost=LOST)
            if returns:
                held = [best] if best is not None else []
                (best,) = await hand_over(s, held, BEST_SIZE, lost=LOST, label="return")
            if dies and self.me == LOST:
                s.exchange = _dying(s.exchange, after=4)  # type: ignore[method-assign]
            done = await evaluate(
                s,
                fitness,
                spec=Spec.parse("top:1"),
                bound=BOUND,
                best="improvement",
                best_so_far=best,
            )
        self.best = done.best_so_far

    async def fails(self, step: str, number: int, attempt: int) -> None:
        kept = self.best
        with pytest.raises((PeerError, _KilledError)):
            await self.compute(step, number, attempt, dies=True)
        self.best = kept


async def with_all(node: OneNode) -> None:
    await node.begin(1)
    await node.compute("first", 1, 0)
    # The answer was not heard: the same again, in the same epoch, from the same state.
    node.best = None
    await node.compute("first again", 1, 1)
    await node.fails("dies", 2, 2)


async def with_all_again(node: OneNode) -> None:
    """With new links, on which a platform that starts again counts its attempts anew."""
    await node.begin(2)
    await node.fails("dies again", 2, 2)


async def with_three(node: OneNode) -> None:
    if node.me == LOST:
        node.best = None
        return
    await node.begin(3, without=LOST)
    await node.compute("by three", 2, 2)
    await node.compute("by three again", 2, 3)


async def with_one_back(node: OneNode) -> None:
    await node.begin(4)
    await node.compute("back", 3, 2, returns=True)


def whole_run() -> list[ArithmeticShare]:
    """What the nodes keep at its end."""
    nodes = [OneNode(me) for me in range(NODES)]
    for phase in (with_all, with_all_again, with_three, with_one_back):

        async def party(
            me: int,
            muxes: dict[int, Mux],
            phase: Callable[[OneNode], Awaitable[None]] = phase,
        ) -> None:
            if me != COORDINATOR:
                nodes[me].muxes = muxes
                await phase(nodes[me])

        run_linked(party, nodes=NODES)
    return [node.best for node in nodes if node.best is not None]


def drawn_in_a_run() -> tuple[MasksDrawn, list[ArithmeticShare]]:
    drawn = MasksDrawn()

    def note(_: KeyedMasks, stream: str, label: str) -> None:
        who, step = now.get()
        drawn.add(who, stream, f"{step}|{label}")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(KeyedMasks, "words", recorded(KeyedMasks.words, note))
        return drawn, whole_run()


def test_no_mask_is_drawn_twice() -> None:
    drawn, bests = drawn_in_a_run()
    assert reveal(bests).tolist() == [90]
    assert drawn.repeated() == 0
    steps = {each.partition("|")[0] for said in drawn.purposes.values() for each in said}
    assert len(steps) == 7
    assert len(drawn.purposes) > 200


def without_attempt(self: Context) -> bytes:
    return b"|".join([self.agreement, b"%d" % self.evaluation, self.request])


class _Forgetful(set[bytes]):
    def __contains__(self, _: object) -> bool:
        return False


@pytest.mark.parametrize("forgotten", ["attempt", "epoch"])
def test_the_counting_notices_what_keys_do_not_depend_on(
    forgotten: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if forgotten == "attempt":
        monkeypatch.setattr(Context, "info", without_attempt)
        # Otherwise the epoch itself refuses to draw again.
        monkeypatch.setattr(epoch_module, "set", _Forgetful, raising=False)
    else:
        monkeypatch.setattr(
            epoch_module, "_component_key", lambda _, component, __: bytes([component]) * 32
        )
    drawn, _ = drawn_in_a_run()
    assert drawn.repeated() > 10


def test_an_epoch_does_not_draw_for_one_attempt_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Context, "info", without_attempt)
    with pytest.raises(Exception, match="was computed before"):
        drawn_in_a_run()
