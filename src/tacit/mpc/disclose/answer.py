"""What an evaluation disclosed, read from what was opened, and checked for plausibility.

The coordinator reads it, the nodes where they are told, and whoever checks a record. Nodes whose
states differ open noise, which is rejected here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.errors import AbortError
from tacit.mpc.bound import FitnessBound
from tacit.mpc.disclose.thresholds import ALWAYS_ABOVE, groups_of
from tacit.mpc.ring import from_ring
from tacit.mpc.shares import Array
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


def labels_of_ranks(ranks: NDArray[np.intp], spec: Spec) -> NDArray[np.uint32]:
    """What order, quantiles and top disclose of an individual with this rank.

    >>> labels_of_ranks(np.arange(11), Spec.parse("quantiles:3"))
    array([0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2], dtype=uint32)
    """
    n, k = len(ranks), spec.parameter
    if spec.kind == "quantiles":
        return (k - 1 - ((n - 1 - ranks) * k) // n).astype(np.uint32)
    if spec.kind == "top":
        return (ranks < k).astype(np.uint32)
    return ranks.astype(np.uint32)


def searched_best(spec: Spec, best: Best) -> Best:
    """What of the best fitness a search makes something of, and so the nodes may be told."""
    return "value" if best == "value" and spec.kind != "none" else "nothing"


def _refuse(what: str) -> AbortError:
    return AbortError("the nodes", f"{what}; the answer is noise, ask again")


def _check_labels(disclosed: NDArray[np.int64], spec: Spec) -> None:
    n = len(disclosed)
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


def read_answer(
    rows: Array,
    about_best: Array | None,
    *,
    spec: Spec,
    bound: FitnessBound,
    best: Best,
    rounds: int = 0,
    best_so_far: int | None = None,
) -> DisclosedValues:
    """The disclosed values from what was opened of the population, and of its best.

    `best_so_far` is used under the disclosure `none` only, where every value is seen and
    improvements are found by whoever sees them.

    >>> opened = np.array([[1], [0]], dtype=np.uint8)
    >>> ask = {"spec": Spec.parse("buckets:2"), "bound": FitnessBound(0, 9), "best": "nothing"}
    >>> read_answer(opened, None, **ask).labels
    array([1, 0])
    """
    if spec.kind == "none":
        values = from_ring(rows)
        _check_value(values, bound)
        top = int(values.max())
        improved = best_so_far is None or top > best_so_far
        shown = top if best == "value" else None
        return DisclosedValues(values, shown, improved if best == "improvement" else None, rounds)
    labels = groups_of(rows, spec) if spec.has_thresholds else rows.astype(np.int64)
    _check_labels(labels, spec)
    if best == "nothing" or about_best is None:
        return DisclosedValues(labels, None, None, rounds)
    if best == "value":
        value = from_ring(about_best)
        _check_value(value, bound)
        return DisclosedValues(labels, int(value[0]), None, rounds)
    if about_best[0] not in (0, 1):
        raise _refuse("sent an improvement that is neither yes nor no")
    return DisclosedValues(labels, None, bool(about_best[0]), rounds)
