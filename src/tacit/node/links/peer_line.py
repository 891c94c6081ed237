"""One node's link to another node: whether the other is there, and which plan it is bound to.

An evaluation that stalls does not mean that the link is broken: perhaps the platform asked only one
of the nodes. So a link is given up only if the peer does not answer on the link itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

from tacit.errors import AbortError, PeerError, PeerTimeoutError
from tacit.mpc.transport import Mux
from tacit.wire.attempt import NO_ATTEMPT, Attempt
from tacit.wire.messages import TALK
from tacit.wire.peer_messages import (
    Bind,
    Bound,
    Here,
    PeerMessage,
    RelayComes,
    RelayWanted,
    There,
    decode_peer_message,
    encode_peer_message,
)

QUIET_SECONDS = 3600.0
ANSWER_SECONDS = 5.0
ROUND_TRIPS = 3
"""So many are measured when a link is new; the shortest is what the network takes."""
MOST_QUESTIONS = 256
"""Answers that a peer may wait for at a time."""

T = TypeVar("T")

Binder = Callable[[Bind, str], Awaitable[Bound]]
"""Binds this node as a peer asks, and says to what it is bound."""


Relayer = Callable[[RelayWanted | RelayComes], None]
"""Hears of links that go through another."""


def _no_relays(said: RelayWanted | RelayComes) -> None:
    """Nothing goes through this node, nor to it."""


class PeerLine:
    """A link between two nodes. `listen` must run for as long as it is used."""

    def __init__(
        self,
        mux: Mux,
        bind: Binder,
        *,
        relays: Relayer = _no_relays,
        through: int | None = None,
    ) -> None:
        self.mux = mux
        self.through = through
        """The node that the link goes through, if it is not direct."""
        self.round_trip: float | None = None
        """The shortest so far, in seconds; none before the peer has answered."""
        self._bind, self._relays = bind, relays
        self._talk = mux.open(TALK)
        self._asked: asyncio.Future[None] | None = None
        self._asked_at = 0.0
        self._binding: dict[int, asyncio.Future[Bound]] = {}
        self._answering: set[asyncio.Task[None]] = set()
        self._number = 0

    async def listen(self) -> str:
        """Answer the peer's questions until the link breaks, and say why it did."""
        while True:
            try:
                frame = await self._talk.receive(timeout=QUIET_SECONDS)
                await self._heard(decode_peer_message(frame.payload, peer=self.mux.link.peer))
            except PeerTimeoutError:
                continue
            except PeerError as error:
                for number, waiting in self._binding.items():
                    _settle(waiting, Bound(number, NO_ATTEMPT))
                for task in self._answering:
                    task.cancel()
                return error.what

    async def _heard(self, said: PeerMessage) -> None:
        match said:
            case There():
                await self._say(Here(), timeout=ANSWER_SECONDS)
            case Here():
                self._is_here()
            case Bind():
                # It may have to wait for a computation, and who is asked meanwhile must answer.
                if len(self._answering) >= MOST_QUESTIONS:
                    raise AbortError(self.mux.link.peer, "asks more than it waits for")
                task = asyncio.create_task(self._answer(said))
                self._answering.add(task)
                task.add_done_callback(self._answering.discard)
            case Bound():
                waiting = self._binding.get(said.number)
                if waiting is not None:
                    _settle(waiting, said)
            case RelayWanted() | RelayComes():
                self._relays(said)

    def _is_here(self) -> None:
        if self._asked is None or self._asked.done():
            return
        took = asyncio.get_running_loop().time() - self._asked_at
        self.round_trip = took if self.round_trip is None else min(took, self.round_trip)
        self._asked.set_result(None)

    async def measure(self) -> None:
        """See how long the network takes there and back."""
        for _ in range(ROUND_TRIPS):
            if not await self.answers():
                return

    async def _answer(self, asked: Bind) -> None:
        # Who breaks the link meanwhile is heard by `listen`.
        with suppress(PeerError):
            await self._say(await self._bind(asked, self.mux.link.peer), timeout=ANSWER_SECONDS)

    async def say(self, message: RelayWanted | RelayComes, /) -> None:
        """Tell the peer of a link that goes through one of us."""
        await self._say(message, timeout=ANSWER_SECONDS)

    async def _say(self, message: PeerMessage, *, timeout: float) -> None:
        await self._talk.send(1, encode_peer_message(message), timeout=timeout)

    async def answers(self, *, timeout: float = ANSWER_SECONDS) -> bool:
        """Whether the peer answers in time what it is asked from now on, by whomever."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        if self._asked is not None and not self._asked.done() and self._asked_at < now:
            # The answer to an earlier question says nothing of the time since.
            done, _ = await asyncio.wait([self._asked], timeout=timeout)
            if not done:
                return False
        if self._asked is None or self._asked.done():
            self._asked, self._asked_at = loop.create_future(), loop.time()
            try:
                await self._say(There(), timeout=timeout)
            except PeerError:
                return False
        done, _ = await asyncio.wait([self._asked], timeout=timeout)
        return bool(done)

    async def bind(
        self, agreement: bytes, search: int, attempt: Attempt, *, timeout: float
    ) -> Bound:
        """Tell the peer which plan we open; returns what it is bound to, none if it cannot say."""
        self._number += 1
        number = self._number
        answer: asyncio.Future[Bound] = asyncio.get_running_loop().create_future()
        self._binding[number] = answer
        try:
            await self._say(Bind(number, agreement, search, attempt), timeout=timeout)
            done, _ = await asyncio.wait([answer], timeout=timeout)
            return answer.result() if done else Bound(number, NO_ATTEMPT)
        except PeerError:
            return Bound(number, NO_ATTEMPT)
        finally:
            del self._binding[number]


def _settle(waiting: asyncio.Future[T], result: T) -> None:
    if not waiting.done():
        waiting.set_result(result)
