"""How many phases there are, with how many steps and which epsilon: public, fixed beforehand.

*Plain*: epsilon is 1 from the start. For costs without much structure. *Scaled*: epsilon falls from
the largest cost to 1, so that structured costs need fewer phases. A schedule follows from public
bounds, never from costs.

A phase that is not the first has at least 2 steps: the last one shows which distances were still
falling. The first has no matched rows, so 1 step is exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import gcd

from tacit.errors import ParameterError

LONG, SHORT = 12, 4
"""Steps of a phase at epsilon 1, and of one before."""
FALL, REPEATS = 4, 8
"""By what epsilon falls, and how many phases it stays."""


@dataclass(frozen=True, slots=True)
class Phase:
    """One phase: its number, its steps, its epsilon, and whether that is less than before."""

    number: int
    steps: int
    epsilon: int
    falls: bool = False

    def __post_init__(self) -> None:
        if self.steps < (1 if self.number == 0 else 2):
            raise ParameterError(
                f"phase {self.number} has {self.steps} steps; after the first at least 2 are needed"
            )


def checked(steps: Sequence[int], epsilons: Sequence[int], *, size: int) -> tuple[Phase, ...]:
    """The phases with these numbers of steps and epsilons, checked.

    >>> checked([1, 3], [7, 1], size=4)[1]
    Phase(number=1, steps=3, epsilon=1, falls=True)
    """
    if len(steps) != len(epsilons) or not steps:
        raise ParameterError("give one number of steps and one epsilon for each phase")
    if any(after > before for before, after in pairwise(epsilons)):
        raise ParameterError("epsilons must not rise")
    for epsilon in set(epsilons):
        if epsilon < 1 or gcd(epsilon, size + 1) != 1:
            raise ParameterError(
                f"epsilon {epsilon} has a factor in common with {size + 1}, or is less than 1"
            )
    before = (epsilons[0], *epsilons)
    return tuple(
        Phase(number, steps[number], epsilon, epsilon != before[number])
        for number, epsilon in enumerate(epsilons)
    )


def plain(size: int, count: int, *, longest: int = LONG) -> tuple[Phase, ...]:
    """A plain schedule of so many phases, most of which have the `longest` number of steps.

    Longer ones are worth their time once few rows are free, and those before rise to them.

    >>> [phase.steps for phase in plain(100, 4)]
    [1, 5, 12, 12]
    >>> [phase.steps for phase in plain(100, 6, longest=20)]
    [1, 5, 8, 12, 20, 20]
    """
    rise = [1, min(5, longest), *([8, LONG] if longest > LONG else [])]
    steps = (rise + [longest] * count)[:count]
    return checked(steps, [1] * count, size=size)


def scaled(size: int, spread: int, last: int, *, longest: int = LONG) -> tuple[Phase, ...]:
    """A scaled schedule that ends with so many phases at epsilon 1, of `longest` steps each.

    `spread` is that of costs that a plan may have: forbidden pairs do not count.

    >>> [(phase.epsilon, phase.steps) for phase in scaled(100, 1, 1)][::8]
    [(102, 1), (25, 4), (6, 4), (2, 4), (1, 12)]
    """
    epsilons = [epsilon for epsilon in _falling(size, spread) for _ in range(REPEATS)]
    steps = [SHORT] * len(epsilons) + [longest] * last
    return checked([1, *steps[1:]], epsilons + [1] * last, size=size)


def finishing(size: int, count: int) -> tuple[Phase, ...]:
    """The phases of a forest that begins with a plan: so many, numbered from 1.

    >>> [(phase.number, phase.steps) for phase in finishing(100, 2)]
    [(1, 12), (2, 12)]
    """
    return checked([LONG] * (count + 1), [1] * (count + 1), size=size)[1:]


def _falling(size: int, spread: int) -> Iterator[int]:
    scale, by = size + 1, 1
    while spread * scale > by:
        epsilon = max(2, spread * scale // by)
        while gcd(epsilon, scale) != 1:
            epsilon += 1
        yield epsilon
        by *= FALL


def largest_epsilon(schedule: Sequence[Phase]) -> int:
    """The largest epsilon of a schedule, for the shape."""
    return max(phase.epsilon for phase in schedule)
