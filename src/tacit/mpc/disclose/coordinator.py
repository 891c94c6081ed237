"""One evaluation at the coordinator: combining the nodes' messages.

What arrives is checked for plausibility. Nodes that were sent different requests derive different
masks, and their messages then add up to noise, which is rejected here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.errors import AbortError
from tacit.mpc.bound import FitnessBound
from tacit.mpc.disclose.node import labels_of_ranks
from tacit.mpc.disclose.thresholds import ALWAYS_ABOVE, receive_thresholds
from tacit.mpc.protocols import labels, opening
from tacit.mpc.ring import from_ring
from tacit.mpc.session import Session
from tacit.mpc.spec import Best, Spec


@dataclass(frozen=True, slots=True)
class DisclosedValues:
    """What one evaluation disclosed.

    `labels` are, per individual: the fitness (none), the rank (order), the number of the quantile
    or bucket, or 1 for true and 0 for false (top, above).
    """

    labels: NDArray[np.int64]
    best_value: int | None
    improved: bool | None
    rounds: int


def _refuse(what: str) -> AbortError:
    return AbortError("the nodes", f"{what}; the answer is noise, ask again")


def _check_labels(disclosed: NDArray[np.int64], spec: Spec, n: int) -> None:
    if spec.kind == "above":
        fits = int(disclosed.sum()) >= min(n, ALWAYS_ABOVE) and disclosed.max(initial=0) <= 1
    elif spec.kind == "buckets":
        # The best is in the first bucket; the worst may be too, if all are equal.
        fits = bool((disclosed == 0).any()) and disclosed.max() < spec.parameter
    else:
        expected = np.sort(labels_of_ranks(np.arange(n), spec))
        fits = np.array_equal(np.sort(disclosed), expected)
    if not fits:
        raise _refuse(f"sent labels that do not fit {spec}")


def _check_value(values: NDArray[np.int64], bound: FitnessBound) -> None:
    if (values < bound.low).any() or (values > bound.high).any():
        raise _refuse(f"sent a fitness outside {bound.low}..{bound.high}")


async def _collect_none(
    session: Session, n: int, bound: FitnessBound, best: Best, best_so_far: int | None
) -> DisclosedValues:
    values = from_ring(await opening.receive_opened(session, n))
    _check_value(values, bound)
    top = int(values.max())
    improved = best_so_far is None or top > best_so_far
    return DisclosedValues(
        values,
        top if best == "value" else None,
        improved if best == "improvement" else None,
        session.depth,
    )


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
    if spec.kind == "none":
        return await _collect_none(session, n, bound, best, best_so_far)

    async def disclosed(substream: Session) -> NDArray[np.int64]:
        if spec.has_thresholds:
            return await receive_thresholds(substream, n, spec=spec)
        return (await labels.receive_labels(substream, n)).astype(np.int64)

    async def disclosed_best(substream: Session) -> NDArray[np.int64]:
        if best == "value":
            return from_ring(await opening.receive_opened(substream, 1))
        bit = await opening.receive_opened(substream, 1, dtype=np.uint8, xor=True)
        return bit.astype(np.int64)

    if best == "nothing":
        (marks,) = await session.in_parallel(disclosed)
        _check_labels(marks, spec, n)
        return DisclosedValues(marks, None, None, session.depth)
    marks, answer = await session.in_parallel(disclosed, disclosed_best)
    _check_labels(marks, spec, n)
    if best == "value":
        _check_value(answer, bound)
        return DisclosedValues(marks, int(answer[0]), None, session.depth)
    if answer[0] not in (0, 1):
        raise _refuse("sent an improvement that is neither yes nor no")
    return DisclosedValues(marks, None, bool(answer[0]), session.depth)
