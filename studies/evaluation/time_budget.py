"""The generations that a time budget leaves to each disclosure (the paper's section 4.3)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

import msgspec

from studies.evaluation.run import Settings
from tacit.agreement import TourGroup, tour_groups
from tacit.derived import step_seconds
from tacit.disclosure import SEALED, split_disclosure
from tacit.errors import ParameterError
from tacit.problems import Problem
from tacit.search import SearchParameters
from tacit.search.moves import TourParameters

PAPER_SECONDS = {
    "none": 0.27,
    "buckets": 2.45,
    "above": 0.74,
    "order": 0.78,
    "quantiles": 1.22,
    "top": 0.79,
}
"""The paper's Table 2: seconds to evaluate 300 individuals, by method."""
PAPER_GENERATIONS = 500


class TimeBudget(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Seconds to spend, on evaluations under each method or on a sealed search."""

    seconds: float
    evaluation_seconds: dict[str, float] = {}
    sealed: float | None = None
    """How many times what the model says (`tacit.derived`) a sealed generation takes."""

    def generations(self, disclosure: str, problem: Problem, settings: Settings, /) -> int:
        """How many generations a run has time for.

        >>> from tacit.problems import shipped_problem
        >>> from tacit.search.moves import TourParameters
        >>> problem, budget = shipped_problem("kroA100"), TimeBudget(40, sealed=1.5)
        >>> budget.generations("sealed", problem, TourParameters())
        2174
        """
        if isinstance(settings, SearchParameters):
            return self.last_generation(disclosure)
        return sealed_generations(self.seconds, self.sealed, problem, settings)

    def last_generation(self, disclosure: str, /) -> int:
        """The last generation that fits; the initial population is evaluated too.

        Exact arithmetic on the decimals as written: 135.27 / 0.27 is 501 and not a little less.
        """
        method, _ = split_disclosure(disclosure)
        if method not in self.evaluation_seconds:
            raise ParameterError(
                f"the budget says nothing of {method}; add its seconds to evaluation_seconds"
            )
        each = Fraction(repr(self.evaluation_seconds[method]))
        if each <= 0:
            raise ParameterError(f"an evaluation under {method} takes no time; give its seconds")
        return math.floor(Fraction(repr(self.seconds)) / each) - 1


def sealed_generations(
    seconds: float,
    slower: float | None,
    problem: Problem,
    parameters: TourParameters,
    /,
    *,
    delay: float = 0.0,
) -> int:
    """How many generations of a sealed search there is time for.

    Nodes take `slower` times what the model says, and their messages travel for `delay` seconds.
    """
    if slower is None:
        raise ParameterError(
            f"the budget says nothing of {SEALED}; add how many times what the model says a "
            "generation takes, as in sealed = 1.5"
        )
    if slower <= 0:
        raise ParameterError("a sealed generation takes no time; give a factor above 0")
    each = step_seconds(tour_group(problem, parameters), delay=delay).generation
    return math.floor(seconds / (slower * each))


def tour_group(problem: Problem, parameters: TourParameters, /) -> TourGroup:
    """The public sizes of a search; any seed costs the same."""
    (group,) = tour_groups(problem, [(1,)], parameters)
    return group


def budget_of(evaluation_seconds: Mapping[str, float], /) -> TimeBudget:
    """The paper's way to a budget: 501 evaluations without obfuscation.

    >>> budget_of({"none": 0.1 + 1 / 15}).last_generation("none")
    500
    """
    whole = Fraction(repr(evaluation_seconds["none"])) * (PAPER_GENERATIONS + 1)
    seconds = float(whole)
    if Fraction(repr(seconds)) < whole:
        # A budget that was rounded down would be one evaluation short.
        seconds = math.nextafter(seconds, math.inf)
    return TimeBudget(seconds, dict(evaluation_seconds))


PAPER_BUDGET = budget_of(PAPER_SECONDS)
"""135.27 seconds."""


def comparison_generations(budget: TimeBudget, /) -> dict[str, int]:
    """Per method the generation at which runs are compared, at most the paper's 500.

    >>> comparison_generations(PAPER_BUDGET)
    {'none': 500, 'buckets': 54, 'above': 181, 'order': 172, 'quantiles': 109, 'top': 170}
    """
    return {
        method: min(PAPER_GENERATIONS, budget.last_generation(method))
        for method in budget.evaluation_seconds
    }
