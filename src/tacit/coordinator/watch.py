"""Waiting for nodes: who failed first and why, who stays silent, and who is to blame at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from tacit.coordinator.loss import Loss
from tacit.coordinator.naming import Naming
from tacit.coordinator.node_client import NodeClient
from tacit.errors import MpcError, PeerError, PeerTimeoutError, RefusedError
from tacit.wire.replies import Message

T = TypeVar("T")
R = TypeVar("R", bound=Message)

PING_SECONDS = 0.1
"""How often nodes are asked whether they are there, while one of them is waited for."""


class Watch:
    """Watches the nodes of one agreement while something is waited for."""

    def __init__(self, clients: Sequence[NodeClient], loss: Loss, naming: Naming, /) -> None:
        self._clients, self._loss, self._naming = clients, loss, naming

    async def cancel(self, asked: Iterable[asyncio.Future[Any]], /) -> None:
        """Have the nodes stop what they were asked for and have not answered."""
        for reply in asked:
            for client in self._clients:
                await client.cancel(reply)

    async def result(self, work: asyncio.Future[T], asked: Iterable[asyncio.Future[R]], /) -> T:
        """The result of some work, unless a node fails or stays silent first."""
        replies = list(asked)
        try:
            while not work.done() and not any(_failed(reply) for reply in replies):
                everything: set[asyncio.Future[Any]] = {work}
                everything.update(reply for reply in replies if not reply.done())
                done, _ = await asyncio.wait(
                    everything, timeout=PING_SECONDS, return_when=asyncio.FIRST_COMPLETED
                )
                if not done:
                    await self._look_around()
            if work.done() and not _failed(work):
                return work.result()
            raise await self._why(work, replies)
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)

    async def _why(
        self, work: asyncio.Future[T], replies: list[asyncio.Future[R]]
    ) -> BaseException:
        """The reason of a failure: a refusal counts most, and comes right after its notice."""
        missing = [reply for reply in replies if not reply.done()]
        if missing:
            await asyncio.wait(missing, timeout=PING_SECONDS)
        reasons = [_reason(reply) for reply in replies if _failed(reply)]
        refusals = [reason for reason in reasons if isinstance(reason, RefusedError)]
        if _failed(work):
            reasons.append(_reason(work))
        for reason in reasons:
            self._naming.hear(reason)
        self.exclude()
        return (*refusals, *reasons)[0]

    def exclude(self) -> None:
        """Go on without a node that is proven to cheat."""
        if self._naming.named is not None:
            self._loss.exclude(self._naming.named)

    async def _look_around(self) -> None:
        for client in self._loss.members:
            if client.silent_for() > self._loss.patience:
                self._loss.fell_silent(client)
                client.give_up()
                what = f"has not answered for {self._loss.patience:g} s"
                raise PeerTimeoutError(client.name, what)
            await client.ping()

    def blame(self, trouble: MpcError | None, /) -> MpcError:
        """Who it was, as far as we can tell.

        On a busy machine every node is silent for a moment, so that says least. May be called from
        any thread.
        """
        gone = next((client for client in self._loss.members if not client.connected), None)
        if gone is not None:
            return PeerTimeoutError(gone.name, "cannot be reached, and time is up; start it")
        if self._naming.words and not self._loss.is_proven:
            return PeerTimeoutError("the nodes", f"{self._naming.words}, and time is up")
        silent = self._most_silent()
        if silent is not None:
            what = f"has not answered for {silent.silent_for():.1f} s, and time is up"
            return PeerTimeoutError(silent.name, what)
        if isinstance(trouble, PeerError):
            return PeerTimeoutError(trouble.peer, f"{trouble.what}, and time is up")
        return PeerTimeoutError("the nodes", "did not finish in time")

    def _most_silent(self) -> NodeClient | None:
        """The node that does not answer while the others do, which are asked at the same times."""
        silent, other = sorted(self._loss.members, key=lambda each: -each.silent_for())[:2]
        longer = silent.silent_for() - other.silent_for()
        return silent if longer > PING_SECONDS / 2 and silent.silent_for() > PING_SECONDS else None


def _reason(future: asyncio.Future[Any]) -> BaseException:
    # Whoever waited for it before may have been cancelled, and that is no reason to cancel us.
    error = None if future.cancelled() else future.exception()
    return error or MpcError("nobody waited for the end of the evaluation")


def _failed(future: asyncio.Future[Any]) -> bool:
    return future.done() and (future.cancelled() or future.exception() is not None)
