"""The disclosures in the clear, straight from the exact meanings in the design."""

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
