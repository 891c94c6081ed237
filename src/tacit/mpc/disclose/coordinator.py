"""One evaluation at the coordinator: adding up what the nodes send it."""

from __future__ import annotations

import numpy as np

from tacit.mpc.bound import FitnessBound
from tacit.mpc.disclose.answer import DisclosedValues, read_answer
from tacit.mpc.disclose.thresholds import shape_of_bits
from tacit.mpc.protocols import opening, shuffle
from tacit.mpc.session import Session
from tacit.mpc.shares import Array
from tacit.mpc.spec import Best, Spec


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
