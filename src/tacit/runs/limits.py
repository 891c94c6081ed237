"""Limits of a run, the reasons why it ended, and times as people write them, such as 1m30s."""

from __future__ import annotations

import re
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
    """The nodes could not continue, or refused to."""


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


_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")


def parse_duration(text: str, /) -> float:
    """Read a time in seconds; a bare number counts seconds.

    >>> parse_duration("1m30s"), parse_duration("500ms"), parse_duration("30")
    (90.0, 0.5, 30.0)
    >>> parse_duration("soon")
    Traceback (most recent call last):
    tacit.errors.ParameterError: 'soon' is not a time; write it like 30s, 2m, 1m30s or 500ms
    """
    compact = text.strip().lower().replace(" ", "")
    if re.fullmatch(r"\d+(\.\d+)?", compact):
        compact += "s"
    # What is left when all parts are taken out is no part of a time.
    if not compact or _PART.sub("", compact):
        raise ParameterError(f"{text!r} is not a time; write it like 30s, 2m, 1m30s or 500ms")
    seconds = sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(compact))
    if seconds <= 0:
        raise ParameterError(f"{text!r} leaves no time at all; give a time such as 30s")
    return seconds


def show_duration(seconds: float, /) -> str:
    """Write a time for people.

    >>> show_duration(95), show_duration(4.26), show_duration(0.0312)
    ('1m35s', '4.3s', '31ms')
    """
    if seconds < 1:
        return f"{seconds * 1000:.0f}ms"
    if seconds < 60:
        return f"{seconds:.1f}s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}m{rest:02d}s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02d}m"
