"""The meanings of the disclosures, word for word from the design, on plain Python integers.

Nothing here sorts or vectorizes: every value is found by looking at all others.
"""

from __future__ import annotations

from fractions import Fraction


def rank(fitness: list[int], i: int) -> int:
    """How many are better, an equal one of lower index among them."""
    return sum(
        other > fitness[i] or (other == fitness[i] and j < i) for j, other in enumerate(fitness)
    )


def order(fitness: list[int]) -> list[int]:
    return [rank(fitness, i) for i in range(len(fitness))]


def quantiles(fitness: list[int], k: int) -> list[int]:
    n = len(fitness)
    return [k - 1 - ((n - 1 - r) * k) // n for r in order(fitness)]


def buckets(fitness: list[int], k: int) -> list[int]:
    best, span = max(fitness), max(fitness) - min(fitness)

    def bucket(f: int) -> int:
        if span == 0 or k * (best - f) <= span:
            return 0
        fitting = [j for j in range(1, k) if j * span < k * (best - f) <= (j + 1) * span]
        assert len(fitting) == 1, "buckets neither overlap nor leave gaps"
        return fitting[0]

    return [bucket(f) for f in fitness]


def top(fitness: list[int], k: int) -> list[bool]:
    return [r < k for r in order(fitness)]


def above(fitness: list[int], p: int) -> list[bool]:
    worst, span = min(fitness), max(fitness) - min(fitness)
    return [
        100 * (f - worst) >= p * span or r < 3 for f, r in zip(fitness, order(fitness), strict=True)
    ]


def linear_estimate(best: int, u: int, m: int) -> Fraction:
    """The paper's section 3.4 with the design's two exceptions."""
    if u == 1:
        return Fraction(best)
    span = 2 * abs(best) if best != 0 else 1
    worst = best - span
    return best - m * Fraction(best - worst, u - 1)
