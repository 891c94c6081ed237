"""Costs that are hard for cycle cancelling: ties, twins, copies of columns and wide ranges."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Rule = Callable[[Numbers, Numbers, int, np.random.Generator], Numbers]
"""Costs from the numbers of rows and of columns, the size, and a source of randomness."""
FAR = 1_000_000


def _points(n: int, rng: np.random.Generator) -> tuple[Numbers, Numbers]:
    first, second = rng.integers(0, 1000, (2, 2, n))
    return first[..., None], second[:, None]


def _distances(n: int, rng: np.random.Generator) -> Numbers:
    (x, y), (a, b) = _points(n, rng)
    made: Numbers = np.hypot(x - a, y - b).astype(np.int64)
    return made


def _streets(n: int, rng: np.random.Generator) -> Numbers:
    (x, y), (a, b) = _points(n, rng)
    made: Numbers = np.abs(x - a) + np.abs(y - b)
    return made


def _squared_lateness(n: int, rng: np.random.Generator) -> Numbers:
    due = np.sort(rng.integers(0, n, n))[:, None]
    late: Numbers = np.maximum(np.arange(n)[None] - due, 0) ** 2
    made: Numbers = rng.integers(1, 20, n)[:, None] * late
    return made


def _one_plan(n: int, rng: np.random.Generator) -> Numbers:
    """Return costs under which all but one plan cost far more."""
    costs = rng.integers(FAR, 2 * FAR, (n, n))
    costs[np.arange(n), rng.permutation(n)] = 0
    return costs


def _one_feasible_plan(n: int, rng: np.random.Generator) -> Numbers:
    """Return costs of a triangle under a permutation: one plan has no forbidden pair."""
    costs = np.where(np.triu(np.ones((n, n), dtype=bool)), rng.integers(0, 9, (n, n)), 9 * n + 1)
    return costs[rng.permutation(n)]


def _few_pairs(n: int, rng: np.random.Generator) -> Numbers:
    """Return costs of which most are those of forbidden pairs."""
    allowed = rng.random((n, n)) < 4 / n
    allowed[np.arange(n), rng.permutation(n)] = True
    return np.where(allowed, rng.integers(0, 100, (n, n)), 99 * n + 1)


def _nearly_equal_plans(n: int, rng: np.random.Generator) -> Numbers:
    """Return sums of an effect of the row and one of the column, and sometimes 1 more."""
    effects = rng.integers(0, 1000, (n, 1)) + rng.integers(0, 1000, (1, n))
    return effects + rng.integers(0, 2, (n, n))


def _blocks(n: int, rng: np.random.Generator, high: int) -> Numbers:
    same = np.arange(n)[:, None] // 3 == np.arange(n)[None] // 3
    return np.where(same, rng.integers(0, high, (n, n)), FAR)


RULES: dict[str, Rule] = {
    "rotations": lambda i, j, n, _: (j - i) % n,
    "reflections": lambda i, j, n, _: (i + j) % n,
    "products modulo": lambda i, j, n, _: i * j % n,
    "squares modulo": lambda i, j, n, _: (i * i + 3 * j * j) % n,
    "divisors": lambda i, j, n, _: np.gcd(i + 1, j + 1),
    "multiples": lambda i, j, n, _: np.lcm(i + 1, j + 1) % 97,
    "powers of two": lambda i, j, n, _: 2 ** (i * j % 30),
    "powers of three": lambda i, j, n, _: 3 ** ((i + 2 * j) % 18),
    "exclusive or": lambda i, j, n, _: i ^ j,
    "common bits": lambda i, j, n, _: i & j,
    "different bits": lambda i, j, n, _: np.bitwise_count(i ^ j).astype(np.int64),
    "apart": lambda i, j, n, _: np.abs(i - j),
    "apart squared": lambda i, j, n, _: (i - j) ** 2,
    "around a ring": lambda i, j, n, _: np.minimum((i - j) % n, (j - i) % n),
    "monge": lambda i, j, n, _: i * (n - 1 - j),
    "anti-monge": lambda i, j, n, _: i * j,
    "staircase": lambda i, j, n, _: np.where(j <= i, 0, 1),
    "steep staircase": lambda i, j, n, _: np.where(j <= i, i - j, n * (j - i)),
    "equal": lambda i, j, n, _: np.full((n, n), 7),
    "one cheap pair per row": lambda i, j, n, _: (i != j).astype(np.int64),
    "one dear pair per row": lambda i, j, n, _: (i == j).astype(np.int64),
    "long way round": lambda i, j, n, _: np.where((j - i) % n == 1, 0, np.where(i == j, 1, n)),
    "uniform": lambda i, j, n, rng: rng.integers(0, 1001, (n, n)),
    "wide": lambda i, j, n, rng: rng.integers(0, 10**9, (n, n)),
    "two values": lambda i, j, n, rng: rng.integers(0, 2, (n, n)),
    "three values": lambda i, j, n, rng: rng.integers(0, 3, (n, n)),
    "rank one": lambda i, j, n, rng: np.outer(rng.integers(1, 99, n), rng.integers(1, 99, n)),
    "rank two": lambda i, j, n, rng: rng.integers(0, 50, (n, 2)) @ rng.integers(0, 50, (2, n)),
    "effects": lambda i, j, n, rng: rng.integers(0, 99, (n, 1)) + rng.integers(0, 99, (1, n)),
    "nearly equal plans": lambda i, j, n, rng: _nearly_equal_plans(n, rng),
    "copies of columns": lambda i, j, n, rng: rng.integers(0, 1000, (n, n))[:, j[0] // 4],
    "copies of rows": lambda i, j, n, rng: rng.integers(0, 1000, (n, n))[j[0] // 4],
    "zero rows": lambda i, j, n, rng: np.where(3 * i < 2 * n, rng.integers(0, 1001, (n, n)), 0),
    "along diagonals": lambda i, j, n, rng: rng.integers(0, 100, 2 * n)[j - i + n],
    "blocks": lambda i, j, n, rng: _blocks(n, rng, 100),
    "blocks of ties": lambda i, j, n, rng: _blocks(n, rng, 2),
    "distances": lambda i, j, n, rng: _distances(n, rng),
    "streets": lambda i, j, n, rng: _streets(n, rng),
    "squared lateness": lambda i, j, n, rng: _squared_lateness(n, rng),
    "one plan": lambda i, j, n, rng: _one_plan(n, rng),
    "one feasible plan": lambda i, j, n, rng: _one_feasible_plan(n, rng),
    "few pairs": lambda i, j, n, rng: _few_pairs(n, rng),
}


def costs_of(rule: Rule, size: int, seed: int) -> Numbers:
    """Return square costs by a rule."""
    i, j = np.indices((size, size)).astype(np.int64)
    return np.asarray(rule(i, j, size, np.random.default_rng([size, seed])), dtype=np.int64)


FAMILIES: dict[str, Callable[[int, int], Numbers]] = {
    name: partial(costs_of, rule) for name, rule in RULES.items()
}
