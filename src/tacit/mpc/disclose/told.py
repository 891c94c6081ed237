"""An answer put together from its parts: at the nodes too, or later from a record.

Nodes 0 and 1 send the coordinator masked parts that add up to what is disclosed. Where the nodes
are to learn it as well, both send the same bytes to the two other nodes, and every node puts the
answer together as the coordinator does. 1 round, beside the delivery to the coordinator; nodes 0
and 1 send their part twice more.

Each part alone is uniform, since it is masked with what nodes 0 and 1 share, and the two add up to
what is disclosed. So a node's view follows from its own part, or from fresh randomness at node 2,
and from what is disclosed: it learns that, and nothing else. Whether the best improved stays with
the coordinator, since no search needs it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from tacit.errors import AbortError, PeerError
from tacit.mpc.bound import FitnessBound
from tacit.mpc.cost import Cost
from tacit.mpc.disclose.coordinator import DisclosedValues, collect
from tacit.mpc.disclose.thresholds import row_bytes
from tacit.mpc.session import Session
from tacit.mpc.shares import COORDINATOR, NODES, party_name
from tacit.mpc.spec import Best, Spec
from tacit.mpc.transport.frame import Buffer, Channel, Frame, Header

Substreams = Mapping[int, Sequence[bytes]]
"""What a node sent to the coordinator: the frames of each substream."""
SENDERS = (0, 1)
"""The nodes that send a part; node 2 has none."""


class _Kept:
    """A substream that arrived before, to be received again."""

    def __init__(self, frames: Iterable[bytes], peer: str) -> None:
        self._frames: Iterator[bytes] = iter(frames)
        self._peer = peer

    async def send(self, depth: int, payload: Buffer, *, timeout: float) -> None:
        """Nobody listens."""

    async def receive(self, *, timeout: float) -> Frame:  # noqa: ARG002 - as wires have it
        """The next frame of the record."""
        for data in self._frames:
            return Frame(Header(Channel(bytes(16)), bytes(8), 1, 0, len(data)), data)
        raise AbortError(self._peer, "sent less than this, says the record")

    def fail(self, error: PeerError) -> None:
        """Nobody waits."""

    def close(self) -> None:
        """Nothing is open."""


async def put_together(
    parts: Mapping[int, Substreams], n: int, *, spec: Spec, bound: FitnessBound, best: Best
) -> DisclosedValues:
    """What the parts of the nodes add up to, checked as the coordinator checks it.

    >>> part = np.array([6, 9], np.uint64).tobytes()
    >>> parts = {0: {0: [part]}, 1: {0: [part]}}
    >>> ask = {"spec": Spec.parse("none"), "bound": FitnessBound(0, 20), "best": "nothing"}
    >>> asyncio.run(put_together(parts, 2, **ask)).labels
    array([12, 18])
    """

    def wire(peer: int, substream: int) -> _Kept:
        return _Kept(parts.get(peer, {}).get(substream, []), party_name(peer))

    session = Session(COORDINATOR, masks=None, wire=wire)
    return await collect(session, n, spec=spec, bound=bound, best=best)


def put_together_again(
    parts: Mapping[int, Substreams], n: int, *, spec: Spec, bound: FitnessBound, best: Best
) -> DisclosedValues:
    """The same, from a record and outside an event loop."""
    return asyncio.run(put_together(parts, n, spec=spec, bound=bound, best=best))


def searched_best(spec: Spec, best: Best) -> Best:
    """What of the best fitness a search makes something of, and so the nodes learn."""
    return "value" if best == "value" and spec.kind != "none" else "nothing"


def _sizes(n: int, spec: Spec, best: Best) -> dict[int, int]:
    """Bytes of a part, per substream."""
    if spec.kind == "none":
        return {0: 8 * n}
    sizes = {1: n * row_bytes(spec) if spec.has_thresholds else 4 * n}
    if searched_best(spec, best) == "value":
        sizes[2] = 8
    return sizes


async def tell_nodes(
    session: Session, n: int, *, spec: Spec, bound: FitnessBound, best: Best
) -> DisclosedValues:
    """What the coordinator was sent of this evaluation, at every node; see the module.

    >>> from tacit.mpc.disclose.node import evaluate
    >>> from tacit.mpc.local import deal_integers, run_parties
    >>> f = deal_integers([-5, 3, 9])
    >>> ask = {"spec": Spec.parse("order"), "bound": FitnessBound(-9, 9), "best": "nothing"}
    >>> async def node(s):
    ...     await evaluate(s, f[s.me], **ask)
    ...     return await tell_nodes(s, 3, **ask)
    >>> run = run_parties(node, lambda s: collect(s, 3, **ask))
    >>> run.results[2].labels, run.coordinator.labels
    (array([2, 1, 0]), array([2, 1, 0]))
    """
    sizes = _sizes(n, spec, best)
    parts: dict[int, Substreams] = {}
    if session.me in SENDERS:
        ours = {k: [b"".join(session.told[k])] for k in sizes}
        parts[session.me] = ours
        whole = np.frombuffer(b"".join(ours[k][0] for k in sizes), dtype=np.uint8)
        for peer in NODES:
            if peer != session.me:
                await session.send(peer, whole)
    for sender in SENDERS:
        if sender != session.me:
            data = (await session.receive(sender, sum(sizes.values()), np.uint8)).tobytes()
            parts[sender] = _split(data, sizes)
    return await put_together(parts, n, spec=spec, bound=bound, best=searched_best(spec, best))


def _split(data: bytes, sizes: Mapping[int, int]) -> Substreams:
    found, at = {}, 0
    for substream, size in sizes.items():
        found[substream] = [data[at : at + size]]
        at += size
    return found


def cost(n: int, *, spec: Spec, best: Best) -> Cost:
    """The cost of telling the nodes; it is over when the nodes are, not the coordinator."""
    size = sum(_sizes(n, spec, best).values())
    return Cost.of(1, [size, size], [size, size], [])
