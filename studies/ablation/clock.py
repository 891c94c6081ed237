"""What evaluations and sealed generations take, so that all searches have the same time."""

from __future__ import annotations

import math
from itertools import pairwise

import msgspec

from studies.execution.time_budget import sealed_generations
from tacit.disclosure import split_disclosure
from tacit.errors import ParameterError
from tacit.problems import Problem
from tacit.search.moves import TourParameters


class Clock(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The engine's pace at one delay between its nodes, and the budgets to compare within.

    >>> clock = Clock(latency_ms=0, budgets=(1,), sealed=1.5,
    ...               evaluation={"top": ((100, 0.004), (300, 0.010))})
    >>> clock.evaluation_seconds("top:15", 200)
    0.007
    """

    latency_ms: float
    budgets: tuple[float, ...]
    """In seconds."""
    error_percent: float = 0.0
    """How far the times may be off."""
    sealed: float
    """How many times what the model says a sealed generation takes."""
    evaluation: dict[str, tuple[tuple[int, float], ...]]
    """Per method the measured sets: how many candidates, how many seconds."""

    def evaluation_seconds(self, disclosure: str, candidates: int, /) -> float:
        """What an evaluation of so many candidates takes, linear between measured sets."""
        method, _ = split_disclosure(disclosure)
        measured = sorted(self.evaluation.get(method, ()))
        for (fewer, shorter), (more, longer) in pairwise(measured):
            if fewer <= candidates <= more:
                share = (candidates - fewer) / (more - fewer)
                return shorter + share * (longer - shorter)
        raise ParameterError(
            f"no evaluation of {candidates} candidates under {method} lies between measured ones; "
            "add its seconds to the clock"
        )

    def sealed_generations(
        self, seconds: float, problem: Problem, parameters: TourParameters
    ) -> int:
        """How many generations of a sealed search a budget has time for."""
        delay = self.latency_ms / 1000
        return sealed_generations(seconds, self.sealed, problem, parameters, delay=delay)

    def evaluations(self, seconds: float, disclosure: str, candidates: int, /) -> int:
        """How many evaluations a budget has time for."""
        return math.floor(seconds / self.evaluation_seconds(disclosure, candidates))
