"""Costs that are hard for cycle cancelling: ties, twins, copies of columns and wide ranges."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]


def _grid(size: int) -> tuple[Numbers, Numbers]:
    i, j = np.indices((size, size))
    return i.astype(np.int64), j.astype(np.int64)


def cyclic(size: int, seed: int) -> Numbers:
    """Return (j - i) mod n: all rotations are nearly as good, and cycles of cost 0 abound."""
    i, j = _grid(size)
    return (j - i) % size


def divisors(size: int, seed: int) -> Numbers:
    """Return greatest common divisors."""
    i, j = _grid(size)
    return np.gcd(i + 1, j + 1)


def copies(size: int, seed: int) -> Numbers:
    """Return columns that stand four times, as those with a capacity of 4 do."""
    rng = np.random.default_rng(seed)
    return np.repeat(rng.integers(0, 1000, (size, -(-size // 4))), 4, axis=1)[:, :size]


def powers(size: int, seed: int) -> Numbers:
    """Return powers of 2 up to 2^29."""
    i, j = _grid(size)
    return 2 ** ((i * j) % 30)


def uniform(size: int, seed: int) -> Numbers:
    """Return independent costs."""
    return np.random.default_rng(seed).integers(0, 1001, (size, size))


def few_values(size: int, seed: int) -> Numbers:
    """Return costs of 0, 1 and 2."""
    return np.random.default_rng(seed).integers(0, 3, (size, size))


def rank_one(size: int, seed: int) -> Numbers:
    """Return products of a row's and a column's factor."""
    rng = np.random.default_rng(seed)
    made: Numbers = np.outer(rng.integers(1, 100, size), rng.integers(1, 100, size))
    return made


def distances(size: int, seed: int) -> Numbers:
    """Return distances of points in a plane."""
    points = np.random.default_rng(seed).random((2, size, 2)) * 1000
    between = points[0][:, None] - points[1][None]
    made: Numbers = np.hypot(between[..., 0], between[..., 1]).astype(np.int64)
    return made


def zero_rows(size: int, seed: int) -> Numbers:
    """Return a problem with fewer rows than columns, filled up with zero rows."""
    made = uniform(size, seed)
    made[2 * size // 3 :] = 0
    return made


def convex(size: int, seed: int) -> Numbers:
    """Return squared lateness, which is zero before a row's own time."""
    rng = np.random.default_rng(seed)
    due, slot = np.sort(rng.integers(0, size, size)), np.arange(size)
    late: Numbers = np.maximum(slot[None] - due[:, None], 0) ** 2
    return rng.integers(1, 20, size)[:, None] * late


FAMILIES: dict[str, Callable[[int, int], Numbers]] = {
    each.__name__: each
    for each in (
        cyclic, divisors, copies, powers, uniform, few_values, rank_one, distances, zero_rows,
        convex,
    )
}  # fmt: skip
