"""The settings of an exact sealed solver, as an agreement pins them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from tacit.errors import ParameterError

MOST_PHASES = 1000
MOST_STEPS = 200
MOST_TOGETHER = 128
MOST_CHECKPOINTS = 16
MOST_GAP = 1000
MANY = 128
"""With more rows or columns than that, paths to the last free ones are longer."""


def check_gap(base: int, /) -> None:
    """Refuse a ladder that has no steps, or hardly any."""
    if base and not 2 <= base <= MOST_GAP:
        raise ParameterError(
            f"gap is {base}; give 2 to {MOST_GAP}, to whose powers it is rounded, or 0 for none"
        )


@dataclass(frozen=True, kw_only=True)
class ExactParameters:
    """How long the forest grows: all of it is public and fixed beforehand.

    With `scaling` epsilon falls from the largest cost to 1 before the `phases` at epsilon 1, which
    structured costs need and others do not. A phase looks for paths of up to so many `steps`; the
    first ones for shorter paths. Of several weightings, that many are solved
    `together`, in the same messages; with 0, as many as fit messages of a few megabytes.

    After each of the phases that `checkpoints` names, as in "6:8:10", it is opened whether all is
    proved; then the solver stops there, and the plans are opened.

    With a `gap` of 2 or more, each plan comes with a bound of what it lacks to the optimum, which
    is rounded up to 0, 1, or a power of that number.

    With `bisect`, the weightings of two objectives are solved from both ends to the middle of ever
    smaller intervals, and those between two equal plans, which have that plan too, are left out.

    >>> ExactParameters(checkpoints="6:8").told_after
    (6, 8)
    >>> ExactParameters(phases=0)
    Traceback (most recent call last):
    tacit.errors.ParameterError: phases is 0; give 1 to 1000
    """

    method: Literal["exact"] = "exact"
    phases: int = 12
    scaling: bool = False
    steps: int = 12
    together: int = 0
    checkpoints: str = ""
    gap: int = 0
    bisect: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.phases <= MOST_PHASES:
            raise ParameterError(f"phases is {self.phases}; give 1 to {MOST_PHASES}")
        if not 2 <= self.steps <= MOST_STEPS:
            raise ParameterError(f"steps is {self.steps}; give 2 to {MOST_STEPS}")
        if not 0 <= self.together <= MOST_TOGETHER:
            raise ParameterError(f"together is {self.together}; give 0 to {MOST_TOGETHER}")
        check_gap(self.gap)
        told = self.told_after
        rises = all(before < after for before, after in pairwise((0, *told)))
        if not rises or len(told) > MOST_CHECKPOINTS:
            raise ParameterError(
                f"checkpoints is {self.checkpoints!r}; give 1 to {MOST_CHECKPOINTS} phases in "
                "their order, as in 6:8:10, or none"
            )

    @property
    def told_after(self) -> tuple[int, ...]:
        """The phases after which it is told whether all is proved."""
        try:
            return tuple(int(each) for each in self.checkpoints.split(":") if self.checkpoints)
        except ValueError:
            return (0,)  # which is refused


def exact_parameters_for(objectives: int, positions: int = 0, /) -> ExactParameters:
    """What the solver takes where nothing is said, of this many objectives, rows and columns.

    Several objectives have many weightings, and all are to be proved: of the hardest, some free
    rows are far from any free column. Longer phases take as many steps in all, and reach them. So
    it is with many rows.

    >>> [exact_parameters_for(1, rows).phases for rows in (100, 200)]
    [12, 16]
    >>> exact_parameters_for(2).steps
    16
    """
    if positions > MANY:
        return ExactParameters(phases=16, steps=16)
    return ExactParameters() if objectives == 1 else ExactParameters(phases=13, steps=16)
