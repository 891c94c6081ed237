"""The disclosures in the clear, as the protocols are compared with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[Any]


def ranks(f: Ints) -> Ints:
    order = sorted(range(len(f)), key=lambda i: (-int(f[i]), i))
    r = np.empty(len(f), dtype=int)
    r[order] = range(len(f))
    return r


def disclose(f: Ints, text: str) -> Ints:
    kind, _, number = text.partition(":")
    values = [int(v) for v in f]
    n, k, r = len(values), int(number or 0), ranks(f)
    high, low = max(values), min(values)
    span = high - low
    if kind == "none":
        return np.array(values)
    if kind == "order":
        return r
    if kind == "quantiles":
        return k - 1 - ((n - 1 - r) * k) // n
    if kind == "top":
        return (r < k).astype(int)
    if kind == "above":
        passed = [100 * (v - low) >= k * span for v in values]
        return np.array([int(p or i < 3) for p, i in zip(passed, r, strict=True)])
    return np.array([bucket(high - v, span, k) for v in values])


def bucket(gap: int, span: int, k: int) -> int:
    if k * gap <= span:
        return 0
    return next(j for j in range(1, k) if j * span < k * gap <= (j + 1) * span)


Values = Sequence[Sequence[int]]
"""A line per objective."""


def dominates(values: Values, i: int, j: int) -> bool:
    at_least = all(line[i] >= line[j] for line in values)
    better = any(line[i] > line[j] for line in values)
    return at_least and (better or i < j) and i != j


def rounded_up(span: int) -> int:
    """The smallest number of at most 4 significant bits that is not below the span."""
    unit = 1
    while span > 16 * unit - unit:
        unit *= 2
    return -(-span // unit) * unit


def order_of(values: Values, k: int) -> list[int]:
    others = [sum(line[i] for line in values) - values[k][i] for i in range(len(values[0]))]
    return sorted(
        range(len(values[0])), key=lambda i: (-values[k][i], -others[i] if k == 0 else 0, i)
    )


def crowding(values: Values, spans: Sequence[int]) -> list[int]:
    m, n = len(values), len(values[0])
    found = [max(line) - min(line) + 1 for line in values]
    whole = 2 ** (max(spans).bit_length() + 4)
    total = [0] * n
    index = (n - 1).bit_length()
    exact = m == 2 and (4 * (spans[0] + 1) * (spans[1] + 1)).bit_length() + 2 * index + 1 <= 64
    for k, line in enumerate(values):
        order = order_of(values, k)
        for rank, i in enumerate(order):
            is_end = rank in (0, n - 1)
            gap = 0 if is_end else line[order[rank - 1]] - line[order[rank + 1]]
            if exact:
                total[i] += (2 * found[k] if is_end else gap) * found[1 - k]
            else:
                total[i] += m * whole if is_end else gap * (whole // rounded_up(found[k]))
    return total


def pareto_ranks(values: Values, spans: Sequence[int]) -> list[int]:
    """0 for the best."""
    n = len(values[0])
    counts = [sum(dominates(values, j, i) for j in range(n)) for i in range(n)]
    room = crowding(values, spans)
    order = sorted(range(n), key=lambda i: (counts[i], -room[i], i))
    return [order.index(i) for i in range(n)]
