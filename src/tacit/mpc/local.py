"""All parties in one process: for examples, tests and the cost of a protocol."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from tacit.errors import PeerError
from tacit.mpc.masks import KeyedMasks, MaskSource
from tacit.mpc.ring import from_ring, to_ring
from tacit.mpc.session import Session
from tacit.mpc.shares import COORDINATOR, NODES, ArithmeticShare, deal, party_name, reconstruct
from tacit.mpc.transport.frame import Buffer, Channel, Frame, Header
from tacit.mpc.transport.inbox import Inbox
from tacit.mpc.transport.memory import memory_pair
from tacit.mpc.transport.mux import Mux

T = TypeVar("T")
Party = Callable[[Session], Coroutine[Any, Any, T]]


def deal_integers(values: Sequence[Any] | NDArray[np.int64]) -> list[ArithmeticShare]:
    """The three nodes' shares of signed integers."""
    return deal(to_ring(values))


def reveal(shares: Sequence[ArithmeticShare]) -> NDArray[np.int64]:
    """The signed integers behind the three nodes' shares.

    >>> reveal(deal_integers([-1]))
    array([-1])
    """
    return from_ring(reconstruct(shares))


@dataclass(frozen=True, slots=True)
class PartiesRun(Generic[T]):
    """The result of a protocol that all parties ran in one process."""

    results: list[T]
    """What nodes 0, 1 and 2 returned."""
    coordinator: Any
    """What the coordinator returned, if it took part."""
    rounds: int
    """The longest chain of messages, measured."""
    sent: tuple[int, int, int]
    """Bytes sent by each node, measured."""
    received: list[list[tuple[int, bytes]]]
    """What arrived at each of the four parties: sender and payload, if it was recorded."""


class _Network:
    """Wires between all parties: an inbox for each receiver, sender and substream."""

    def __init__(self, record: bool) -> None:
        self.inboxes: dict[tuple[int, int, int], Inbox] = {}
        self.record = record
        self.received: list[list[tuple[int, bytes]]] = [[], [], [], []]

    def inbox(self, to: int, sender: int, substream: int) -> Inbox:
        key = (to, sender, substream)
        if key not in self.inboxes:
            self.inboxes[key] = Inbox(party_name(sender))
        return self.inboxes[key]


class _NetworkWire:
    def __init__(self, network: _Network, me: int, peer: int, substream: int) -> None:
        self._network, self._me, self._peer = network, me, peer
        self._out, self._in = network.inbox(peer, me, substream), network.inbox(me, peer, substream)

    async def send(self, depth: int, payload: Buffer, *, timeout: float) -> None:  # noqa: ARG002
        size = memoryview(payload).nbytes
        if self._network.record:
            self._network.received[self._peer].append((self._me, bytes(payload)))
        self._out.put(Frame(Header(Channel(bytes(16)), bytes(8), depth, 0, size), payload))

    async def receive(self, *, timeout: float) -> Frame:
        return await self._in.get(timeout=timeout)

    def fail(self, error: PeerError) -> None:
        self._in.fail(error)

    def close(self) -> None:
        pass


def fresh_masks() -> Callable[[int], MaskSource]:
    """Random component keys, and from them each node's source of masks."""
    keys = [secrets.token_bytes(32) for _ in NODES]
    return lambda me: KeyedMasks({me: keys[me], (me + 1) % 3: keys[(me + 1) % 3]})


async def parties(
    node: Party[T],
    coordinator: Party[Any] | None = None,
    *,
    masks: Callable[[int], MaskSource] | None = None,
    record: bool = False,
    timeout: float = 10.0,
) -> PartiesRun[T]:
    """Run a protocol with three nodes, and a coordinator if given, on this event loop."""
    network = _Network(record)
    source = masks or fresh_masks()
    sessions = [
        Session(
            me,
            masks=source(me) if me != COORDINATOR else None,
            wire=lambda peer, substream, me=me: _NetworkWire(network, me, peer, substream),  # type: ignore[misc]
            timeout=timeout,
        )
        for me in (*NODES, COORDINATOR)
    ]
    work: list[Coroutine[Any, Any, Any]] = [node(sessions[i]) for i in NODES]
    if coordinator is not None:
        work.append(coordinator(sessions[COORDINATOR]))
    tasks = [asyncio.ensure_future(w) for w in work]
    try:
        results = await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    sent = sessions[0].sent, sessions[1].sent, sessions[2].sent
    rounds = max(session.depth for session in sessions)
    return PartiesRun(results[:3], (*results, None)[3], rounds, sent, network.received)


def run_parties(
    node: Party[T],
    coordinator: Party[Any] | None = None,
    *,
    masks: Callable[[int], MaskSource] | None = None,
    record: bool = False,
    timeout: float = 10.0,
) -> PartiesRun[T]:
    """`parties` on its own event loop.

    >>> async def node(session):
    ...     return session.me
    >>> run_parties(node).results
    [0, 1, 2]
    """
    return asyncio.run(parties(node, coordinator, masks=masks, record=record, timeout=timeout))


def run_linked(party: Callable[[int, dict[int, Mux]], Coroutine[Any, Any, T]]) -> list[T]:
    """Run all four parties over links in memory, each given its index and its links."""

    async def everybody() -> list[T]:
        muxes: list[dict[int, Mux]] = [{} for _ in range(4)]
        for a in range(4):
            for b in range(a):
                first, second = memory_pair(party_name(a), party_name(b))
                muxes[a][b], muxes[b][a] = Mux(first), Mux(second)
        try:
            return list(await asyncio.gather(*(party(me, muxes[me]) for me in range(4))))
        finally:
            for mine in muxes:
                for mux in mine.values():
                    await mux.close()

    return asyncio.run(everybody())
