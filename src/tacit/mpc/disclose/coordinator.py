"""One evaluation at the coordinator: adding up what the nodes send it, now or from a record."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from tacit.errors import AbortError, PeerError
from tacit.mpc.bound import FitnessBound
from tacit.mpc.disclose.answer import DisclosedValues, read_answer
from tacit.mpc.disclose.thresholds import shape_of_bits
from tacit.mpc.protocols import opening, shuffle
from tacit.mpc.session import Session
from tacit.mpc.shares import COORDINATOR, Array, party_name
from tacit.mpc.spec import Best, Spec
from tacit.mpc.transport.frame import Buffer, Channel, Frame, Header

Substreams = Mapping[int, Sequence[bytes]]
"""What a node sent to the coordinator: the frames of each substream."""


async def collect(
    session: Session,
    n: int,
    *,
    spec: Spec,
    bound: FitnessBound,
    best: Best,
    best_so_far: int | None = None,
) -> DisclosedValues:
    """The coordinator's side of one evaluation of n individuals; the nodes run `evaluate`.

    `best_so_far` is used under the disclosure `none` only, where the coordinator sees every value
    and finds improvements by itself.

    >>> from tacit.mpc.disclose.node import evaluate
    >>> from tacit.mpc.local import deal_integers, run_parties
    >>> f = deal_integers([-5, 3])
    >>> ask = {"spec": Spec.parse("top:1"), "bound": FitnessBound(-9, 9), "best": "improvement"}
    >>> run = run_parties(
    ...     lambda s: evaluate(s, f[s.me], **ask),
    ...     lambda s: collect(s, 2, **ask),
    ... )
    >>> run.coordinator.labels, run.coordinator.improved
    (array([0, 1]), True)
    """
    spec.check(n)

    async def rows(substream: Session) -> Array:
        shape, word = (
            (shape_of_bits(n, spec), np.uint8) if spec.has_thresholds else ((n,), np.uint32)
        )
        return await shuffle.receive_unshuffled(substream, shape, dtype=word, xor=True)

    async def of_best(substream: Session) -> Array:
        if best == "value":
            return await opening.receive_opened(substream, 1)
        return await opening.receive_opened(substream, 1, dtype=np.uint8, xor=True)

    about_best = None
    if spec.kind == "none":
        disclosed = await opening.receive_opened(session, n)
    elif best == "nothing":
        (disclosed,) = await session.in_parallel(rows)
    else:
        disclosed, about_best = await session.in_parallel(rows, of_best)
    return read_answer(
        disclosed,
        about_best,
        spec=spec,
        bound=bound,
        best=best,
        rounds=session.depth,
        best_so_far=best_so_far,
    )


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


def collect_again(
    parts: Mapping[int, Substreams], n: int, *, spec: Spec, bound: FitnessBound, best: Best
) -> DisclosedValues:
    """What the nodes sent of an evaluation adds up to, from a record and outside an event loop."""

    def wire(peer: int, substream: int) -> _Kept:
        return _Kept(parts.get(peer, {}).get(substream, []), party_name(peer))

    session = Session(COORDINATOR, nodes=len(parts), masks=None, wire=wire)
    return asyncio.run(collect(session, n, spec=spec, bound=bound, best=best))
