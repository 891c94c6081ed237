"""When a run ends: the first of any combination of limits."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tacit.errors import ParameterError


class StopReason(StrEnum):
    """Why a run ended."""

    GENERATIONS = "generations"
    DEADLINE = "deadline"
    EVALUATIONS = "evaluations"
    TARGET = "target"
    STALLED = "stalled"
    INTERRUPTED = "interrupted"
    OPTIMAL = "optimal"
    NODES = "nodes"
    """The nodes could not go on, or refused to."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of a run; those left out do not limit. Without any, 500 generations as in the paper.

    >>> Limits(deadline=-1)
    Traceback (most recent call last):
    tacit.errors.ParameterError: deadline is -1; give a positive number
    """

    generations: int | None = None
    """The last generation; the initial population is generation 0."""
    deadline: float | None = None
    """Seconds from the start of the run, the first generation included."""
    evaluations: int | None = None
    """How many sets of candidates may be evaluated in all."""
    target: float | None = None
    """Stop when the disclosed best is this good, in the user's unit."""
    stall: int | None = None
    """Stop after so many generations in which no better value was disclosed."""

    def __post_init__(self) -> None:
        for name in ("deadline", "evaluations", "stall"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ParameterError(f"{name} is {value}; give a positive number")
        if self.generations is not None and self.generations < 0:
            raise ParameterError(f"generations is {self.generations}; give 0 or more")

    @property
    def is_unlimited(self) -> bool:
        """Whether nothing would ever end the run."""
        return all(value is None for value in vars(self).values())

    def reached(
        self, *, generation: int, evaluations: int, stalled_for: int, target_met: bool
    ) -> StopReason | None:
        """The limit that is reached, the deadline apart, which the run watches itself."""
        if self.target is not None and target_met:
            return StopReason.TARGET
        if self.generations is not None and generation >= self.generations:
            return StopReason.GENERATIONS
        if self.evaluations is not None and evaluations >= self.evaluations:
            return StopReason.EVALUATIONS
        if self.stall is not None and stalled_for >= self.stall:
            return StopReason.STALLED
        return None
