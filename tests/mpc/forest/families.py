"""Families of costs, small: the same that the solver is measured on."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

FAMILIES = (
    "uniform",
    "ties",
    "equal",
    "effects",
    "rank one",
    "line",
    "slots",
    "late slots",
    "sparse",
    "rectangular",
    "capacities",
    "infeasible",
)
Family = tuple[NDArray[np.int64], NDArray[np.bool_] | None, tuple[int, ...] | None]


def family(name: str, seed: int, size: int) -> Family:
    """Costs, forbidden pairs, and the columns of all places if some have several."""
    rng = np.random.default_rng(seed)
    n = size
    nothing = np.zeros((n, n), dtype=bool)
    if name in ("slots", "late slots"):
        count = n if name == "slots" else max(1, 2 * n // 3)
        value, due = rng.integers(1, 11, count), np.sort(rng.integers(0, max(1, n // 2), count))
        due = np.minimum(due, n - count + np.arange(count))
        late = np.arange(n) - due[:, None]
        return np.where(late >= 0, value[:, None] * late, 0), late < 0, None
    if name == "sparse":
        allowed = rng.random((n, n)) < 0.4
        allowed[np.arange(n), rng.permutation(n)] = True
        return rng.integers(0, 101, (n, n)), ~allowed, None
    if name == "infeasible":
        forbidden = nothing.copy()
        forbidden[: n // 2 + 1, n // 2 :] = True
        return rng.integers(0, 101, (n, n)), forbidden, None
    if name == "rectangular":
        return rng.integers(0, 101, (max(1, n // 2), n)), None, None
    if name == "capacities":
        places = tuple(int(c) for c in np.sort(rng.integers(0, max(1, n // 2), n)))
        return rng.integers(0, 101, (n, max(1, n // 2))), None, places
    return _balanced(name, rng, n), None, None


def _balanced(name: str, rng: np.random.Generator, n: int) -> Any:
    if name == "uniform":
        return rng.integers(0, 1001, (n, n))
    if name == "ties":
        return rng.integers(0, 3, (n, n))
    if name == "equal":
        return np.full((n, n), 5)
    if name == "effects":
        rows, columns = rng.integers(0, 450, n), rng.integers(0, 450, n)
        return np.add.outer(rows, columns) + rng.integers(0, 101, (n, n))
    if name == "rank one":
        return np.outer(rng.integers(0, 32, n), rng.integers(0, 32, n))
    if name == "line":
        here, there = np.sort(rng.integers(0, 1001, (2, n)), axis=1)
        return np.abs(np.subtract.outer(here, there))
    raise KeyError(name)
