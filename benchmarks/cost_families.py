"""Families of costs that the exact solver is measured on: how structured costs are decides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.problems import generate_delays

Numbers = NDArray[Any]


@dataclass(frozen=True)
class Instance:
    """Costs, rows x columns, forbidden pairs, and the largest cost that is agreed on."""

    costs: Numbers
    high: int
    forbidden: NDArray[np.bool_] | None = None


@dataclass(frozen=True)
class Family:
    """How instances are drawn, and which schedule fits them."""

    scaled: bool
    phases: int
    """Of a plain schedule all, of a scaled one those at epsilon 1."""


FAMILIES = {
    "uniform": Family(False, 12),
    "ties": Family(False, 12),
    "effects": Family(False, 25),
    "euclidean": Family(False, 25),
    "rectangular": Family(False, 9),
    "sparse": Family(False, 12),
    "rank one": Family(True, 8),
    "slots": Family(True, 12),
    "delays": Family(True, 12),
    "late delays": Family(False, 36),
}


def instance(name: str, size: int, seed: int) -> Instance:
    """An instance of a family with this many columns."""
    rng, n = np.random.default_rng(seed), size
    if name == "slots":
        value, due = rng.integers(1, 11, n), np.sort(rng.integers(0, max(1, 6 * n // 10), n))
        late = np.arange(n) - np.minimum(due, np.arange(n))[:, None]
        return Instance(np.where(late >= 0, value[:, None] * late, 0), 10 * n, late < 0)
    if name in ("delays", "late delays"):
        flights = n if name == "delays" else max(1, 2 * n // 3)
        problem = generate_delays(seed, flights=flights, slots=n)
        costs = np.array(problem.objectives[0].weights, dtype=np.int64)
        forbidden = np.asarray(problem.forbidden, dtype=bool)
        costs = np.where(forbidden, 0, costs)
        return Instance(costs, problem.objectives[0].weight_bound, forbidden)
    if name == "sparse":
        forbidden = rng.random((n, n)) >= 5 / n
        forbidden[np.arange(n), rng.permutation(n)] = False
        return Instance(rng.integers(0, 1001, (n, n)), 1000, forbidden)
    return Instance(*_without_forbidden(name, rng, n))


def _without_forbidden(name: str, rng: np.random.Generator, n: int) -> tuple[Numbers, int]:
    if name == "uniform":
        return rng.integers(0, 1001, (n, n)), 1000
    if name == "ties":
        return rng.integers(0, 11, (n, n)), 10
    if name == "effects":
        rows, columns = rng.integers(0, 450, n), rng.integers(0, 450, n)
        return np.add.outer(rows, columns) + rng.integers(0, 101, (n, n)), 1000
    if name == "euclidean":
        here, there = rng.random((n, 2)), rng.random((n, 2))
        apart = np.hypot(*(here[:, None] - there[None]).transpose(2, 0, 1))
        return (apart * 707).astype(np.int64), 1000
    if name == "rectangular":
        return rng.integers(0, 1001, (6 * n // 10, n)), 1000
    if name == "rank one":
        return np.outer(rng.integers(0, 32, n), rng.integers(0, 32, n)), 31 * 31
    raise KeyError(name)
