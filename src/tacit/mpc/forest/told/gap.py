"""How far a plan may be from the optimum, rounded up to a public ladder.

What is known in shares is a gap in scaled units: the reduced costs of a matching, added up. The
plan's cost exceeds the optimum's by a whole number of units, so by at most gap // scale. That is
compared with the steps of a ladder 0, 1, b, b^2, ..., whose last step no two plans can be apart.
Opened is how many of the steps below the last hold, the *rung*: one of few numbers, in place of the
gap, which would say the plan's cost to the unit wherever the bound is known to be close. Where
nothing holds the rung is 0, and so it is where there is no plan. Where it is proved it is the most.

The comparisons go with those of the certificate: no round more.
"""

from __future__ import annotations

from collections.abc import Sequence


def ladder(base: int, widest: int, /) -> tuple[int, ...]:
    """The steps, of which the last is as far as two plans can be apart; none without a base.

    >>> ladder(10, 2500)
    (0, 1, 10, 100, 1000, 2500)
    >>> ladder(0, 2500)
    ()
    """
    if not base:
        return ()
    steps = [0]
    while (following := steps[-1] * base or 1) < widest:
        steps.append(following)
    return (*steps, max(1, widest))


def bound_of(rung: int, steps: Sequence[int], /) -> int:
    """What a rung says: by at most so many units a plan is worse than the optimum.

    >>> [bound_of(rung, ladder(10, 2500)) for rung in (0, 2, 5)]
    [2500, 100, 0]
    """
    return steps[len(steps) - 1 - rung]


def rung_of(gap: int, steps: Sequence[int], /, *, scale: int) -> int:
    """How many steps below the last hold of a gap in scaled units.

    >>> rung_of(101 * 10, ladder(10, 2500), scale=101), rung_of(100, (0, 7), scale=101)
    (3, 1)
    """
    return sum(gap <= limit for limit in limits(steps, scale=scale))


def limits(steps: Sequence[int], /, *, scale: int) -> list[int]:
    """Up to which scaled gap each step below the last holds."""
    return [scale * (step + 1) - 1 for step in steps[:-1]]
