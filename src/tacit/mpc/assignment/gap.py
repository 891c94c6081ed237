"""How far a plan may be from the optimum, rounded up to a public ladder.

Known in shares is F, by how much a plan may cost more than the optimum. It is compared with the
steps of a ladder 0, 1, b, b^2, ..., whose last step no two plans can be apart. Opened is the
*rung*, how many of the steps below the last hold. The gap itself would tell the plan's cost to the
unit wherever the bound is known to be close. The rung is 0 where nothing holds or there is no plan.

The comparisons go with those of the certificate, so the ladder adds no round.
"""

from __future__ import annotations

from collections.abc import Sequence


def ladder(base: int, widest: int, /) -> tuple[int, ...]:
    """Return the steps, of which the last is as far as two plans can be apart; none without a base.

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
    """Return by how many units at most a plan with this rung is worse than the optimum.

    >>> [bound_of(rung, ladder(10, 2500)) for rung in (0, 2, 5)]
    [2500, 100, 0]
    """
    return steps[len(steps) - 1 - rung]


def rung_of(gap: int, steps: Sequence[int], /) -> int:
    """Return how many steps below the last hold of a gap.

    >>> rung_of(10, ladder(10, 2500)), rung_of(0, (0, 7)), rung_of(1, (0, 7))
    (3, 1, 0)
    """
    return sum(gap <= step for step in steps[:-1])
