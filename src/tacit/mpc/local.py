"""Sessions without a network: all parties in one process, or the coordinator's from a record.

For examples, tests, the cost of a protocol, and checks of what a finished run received.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from tacit.errors import AbortError, PeerError
from tacit.mpc.masks import KeyedMasks, MaskSource
from tacit.mpc.ring import from_ring, to_ring
from tacit.mpc.session import Session, run_all
from tacit.mpc.shares import (
    COORDINATOR,
    ArithmeticShare,
    deal,
    held_by,
    party_name,
    reconstruct,
)
from tacit.mpc.signed_letters import Signer
from tacit.mpc.transport.frame import Buffer, Channel, Frame, Header
from tacit.mpc.transport.link import Inbox, memory_pair
from tacit.mpc.transport.mux import Mux

T = TypeVar("T")
Party = Callable[[Session], Coroutine[Any, Any, T]]


def deal_integers(
    values: Sequence[Any] | NDArray[np.int64], *, nodes: int = 3
) -> list[ArithmeticShare]:
    """All nodes' shares of signed integers."""
    return deal(to_ring(values), nodes=nodes)


def reveal(shares: Sequence[ArithmeticShare]) -> NDArray[np.int64]:
    """The signed integers behind all nodes' shares.

    >>> reveal(deal_integers([-1]))
    array([-1])
    """
    return from_ring(reconstruct(shares))


@dataclass(frozen=True, slots=True)
class PartiesRun(Generic[T]):
    """The result of a protocol that all parties ran in one process."""

    results: list[T]
    """What the nodes returned."""
    coordinator: Any
    """What the coordinator returned, if it took part."""
    rounds: int
    """The longest chain of messages, measured."""
    sent: tuple[int, ...]
    """Bytes sent by each node, measured."""
    received: list[list[tuple[int, bytes]]]
    """What arrived at each node, and last at the coordinator: sender and payload, if recorded."""


class _Network:
    """Wires between all parties: an inbox for each receiver, sender and substream."""

    def __init__(self, nodes: int, record: bool) -> None:
        self.inboxes: dict[tuple[int, int, int], Inbox] = {}
        self.record = record
        self.received: list[list[tuple[int, bytes]]] = [[] for _ in range(nodes + 1)]

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
        # No channel, tag or number: frames in one process are neither lost nor mixed up.
        self._out.put(Frame(Header(Channel(bytes(16)), bytes(8), depth, 0, size), payload))

    async def receive(self, *, timeout: float) -> Frame:
        return await self._in.get(timeout=timeout)

    def fail(self, error: PeerError) -> None:
        self._in.fail(error)

    def close(self) -> None:
        pass


def fresh_masks(nodes: int = 3) -> Callable[[int], MaskSource]:
    """Random component keys, and from them each node's source of masks."""
    keys = [secrets.token_bytes(32) for _ in range(nodes)]
    return lambda me: KeyedMasks({c: keys[c] for c in held_by(me, nodes)})


async def parties(
    node: Party[T],
    coordinator: Party[Any] | None = None,
    *,
    nodes: int = 3,
    masks: Callable[[int], MaskSource] | None = None,
    record: bool = False,
    timeout: float = 10.0,
    signers: Callable[[int], Signer] | None = None,
    tellers: Callable[[int], Signer] | None = None,
) -> PartiesRun[T]:
    """Run a protocol with all nodes, and a coordinator if given, on this event loop."""
    network = _Network(nodes, record)
    source = masks or fresh_masks(nodes)
    sessions = [
        Session(
            me,
            nodes=nodes,
            masks=source(me) if me != COORDINATOR else None,
            wire=lambda peer, substream, me=me: _NetworkWire(network, me, peer, substream),  # type: ignore[misc]
            timeout=timeout,
            signer=signers(me) if signers is not None and me != COORDINATOR else None,
            teller=tellers(me) if tellers is not None and me != COORDINATOR else None,
        )
        for me in (*range(nodes), COORDINATOR)
    ]
    work: list[Coroutine[Any, Any, Any]] = [node(sessions[i]) for i in range(nodes)]
    if coordinator is not None:
        work.append(coordinator(sessions[COORDINATOR]))
    # A failure cancels all parties, as a notice does on real links.
    results = await run_all(work)
    sent = tuple(session.sent for session in sessions[:nodes])
    rounds = max(session.depth for session in sessions)
    answer = results[nodes] if coordinator is not None else None
    return PartiesRun(results[:nodes], answer, rounds, sent, network.received)


def run_parties(
    node: Party[T],
    coordinator: Party[Any] | None = None,
    **options: Any,  # noqa: ANN401
) -> PartiesRun[T]:
    """`parties` with its options, on an event loop of its own.

    >>> async def node(session):
    ...     return session.me
    >>> run_parties(node).results
    [0, 1, 2]
    """
    return asyncio.run(parties(node, coordinator, **options))


def run_linked(
    party: Callable[[int, dict[int, Mux]], Coroutine[Any, Any, T]], *, nodes: int = 3
) -> list[T]:
    """Run all nodes and the coordinator over links in memory, each given its index and links."""
    names = [*range(nodes), COORDINATOR]

    async def everybody() -> list[T]:
        muxes: dict[int, dict[int, Mux]] = {name: {} for name in names}
        for at, a in enumerate(names):
            for b in names[:at]:
                first, second = memory_pair(party_name(a), party_name(b))
                muxes[a][b], muxes[b][a] = Mux(first), Mux(second)
        try:
            return list(await asyncio.gather(*(party(me, muxes[me]) for me in names)))
        finally:
            for mine in muxes.values():
                for mux in mine.values():
                    await mux.close()

    return asyncio.run(everybody())


Substreams = Mapping[int, Sequence[bytes]]
"""What a node sent to the coordinator: the frames of each substream."""


class _ReplayedWire:
    """A substream that arrived before."""

    def __init__(self, frames: Iterable[bytes], peer: str) -> None:
        self._frames: Iterator[bytes] = iter(frames)
        self._peer = peer

    async def send(self, depth: int, payload: Buffer, *, timeout: float) -> None:
        """Nobody listens."""

    async def receive(self, *, timeout: float) -> Frame:  # noqa: ARG002 - as wires have it
        """The next frame of the record."""
        # The record has no depths and numbers: they were checked when the frames arrived.
        for data in self._frames:
            return Frame(Header(Channel(bytes(16)), bytes(8), 1, 0, len(data)), data)
        raise AbortError(self._peer, "sent less than this, says the record")

    def fail(self, error: PeerError) -> None:
        """Nobody waits."""

    def close(self) -> None:
        """Nothing is open."""


def receive_again(parts: Sequence[Substreams], receive: Callable[[Session], Awaitable[T]], /) -> T:
    """What the coordinator's side of a protocol makes of what each node sent; not inside a loop.

    >>> import hashlib
    >>> from tacit.mpc.protocols.opening import receive_opened
    >>> words = [(2).to_bytes(8, "little"), b"", (3).to_bytes(8, "little")]
    >>> hashes = [hashlib.sha256(word).digest() for word in words]
    >>> parts = [{0: [hashes[0]]}, {0: [words[0] + hashes[1]]}, {0: [words[2]]}]
    >>> receive_again(parts, lambda session: receive_opened(session, 1))
    array([5], dtype=uint64)
    """

    def wire(peer: int, substream: int) -> _ReplayedWire:
        return _ReplayedWire(parts[peer].get(substream, []), party_name(peer))

    async def run() -> T:
        return await receive(Session(COORDINATOR, nodes=len(parts), masks=None, wire=wire))

    return asyncio.run(run())
