"""The public shape of the table that a sealed search works on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tacit.errors import ProblemError
from tacit.problems import Problem


@dataclass(frozen=True)
class PublicShape:
    """The size of the table and the range of its cells, `low` to `low + spread`.

    >>> PublicShape("assignment", rows=2, columns=3, low=0, spread=9).width
    3
    """

    kind: str
    """Of the moves."""
    rows: int
    columns: int
    low: int
    spread: int
    symmetric: bool = False
    """Tours: whether a leg has the same value in both directions."""
    allowed_spread: int | None = None
    """The spread of the cells of allowed pairs, where others are forbidden."""

    @property
    def unit(self) -> int:
        """The unit of temperatures."""
        return self.spread if self.allowed_spread is None else self.allowed_spread

    @property
    def width(self) -> int:
        """Columns of the table, the one of the ids included."""
        return self.rows + 1

    @property
    def total_span(self) -> int:
        """The largest difference of two plans' values."""
        return self.rows * self.spread


def public_shape(problem: Problem, weighting: Sequence[int], /) -> PublicShape:
    """The shape of the weighted sum of a problem's objectives.

    A forbidden pair has the value `low`: so little that any plan without one is better than any
    plan with one.

    >>> from tacit.problems import generate_assignment
    >>> public_shape(generate_assignment(1, rows=3, objectives=2, weights_up_to=9), (2, 1))
    PublicShape(kind='assignment', rows=3, columns=3, low=0, spread=27, symmetric=False, \
allowed_spread=None)
    """
    if problem.sealed_moves is None:
        raise ProblemError(
            f"there are no moves by which a sealed search could change a plan of the kind "
            f"{problem.kind!r}; choose another disclosure"
        )
    low = high = 0
    for factor, objective in zip(weighting, problem.objectives, strict=True):
        most = factor * objective.sign * objective.weight_bound
        low, high = low + min(0, most), high + max(0, most)
    size = problem.sealed_moves, problem.rows, len(problem.sealed_items)
    if problem.forbidden is None:
        return PublicShape(*size, low, high - low, problem.is_symmetric)
    least = high - (problem.rows + 1) * (high - low + 1)
    return PublicShape(*size, least, high - least, problem.is_symmetric, high - low)
