"""The mixtures of several objectives of which a sealed search opens one plan each."""

from __future__ import annotations

from math import gcd

from tacit.errors import ParameterError
from tacit.problems import Problem, simplex_points

FRONT_STEPS = 4
"""Two objectives get so many weightings and one more, if nobody names others."""
MOST_FACTOR = 1 << 20
"""As agreements have it."""


def default_weightings(problem: Problem, /) -> list[tuple[int, ...]]:
    """One search for one objective; for several, mixtures in which each can weigh as much.

    >>> from tacit.problems import generate_assignment
    >>> default_weightings(generate_assignment(1, rows=3, objectives=2))
    [(4, 0), (3, 1), (2, 2), (1, 3), (0, 4)]
    """
    units, count = _units(problem), len(problem.objectives)
    if count == 1:
        return [(1,)]
    if count == 2:
        shares = [(FRONT_STEPS - i, i) for i in range(FRONT_STEPS + 1)]
    else:
        alone = [tuple(int(i == k) for i in range(count)) for k in range(count)]
        shares = [*alone, (1,) * count]  # type: ignore[list-item]
    return [tuple(s * u for s, u in zip(share, units, strict=True)) for share in shares]


def even_weightings(problem: Problem, count: int, /) -> list[tuple[int, ...]]:
    """At least so many mixtures, evenly spread; for two objectives as many.

    With 101 they are those of the ground truth, where weights are as large as their bounds. An
    objective that does not count decides between equals, so that no plan dominates what is found.

    >>> from tacit.problems import generate_assignment
    >>> even_weightings(generate_assignment(1, rows=3, objectives=2), 5)
    [(1, 3001), (1, 3), (1, 1), (3, 1), (3001, 1)]
    """
    units, objectives = _units(problem), len(problem.objectives)
    if objectives < 2 or count < objectives:
        raise ParameterError(
            f"{count} weightings of {objectives} objectives; give at least as many as there are "
            "objectives, and several objectives"
        )
    points = simplex_points(objectives, at_least=count)
    mixed = [[s * u for s, u in zip(point, units, strict=True)] for point in points]
    return [_decisive(problem, [factor // gcd(*each) for factor in each]) for each in mixed]


def _decisive(problem: Problem, factors: list[int]) -> tuple[int, ...]:
    """With a factor of 1 in place of 0, all together too little to outweigh one unit of another."""
    most = sum(
        problem.rows * each.weight_bound
        for factor, each in zip(factors, problem.objectives, strict=True)
        if not factor
    )
    if not most or max(factors) * (most + 1) > MOST_FACTOR:
        return tuple(factors)
    return tuple(factor * (most + 1) or 1 for factor in factors)


def _units(problem: Problem) -> list[int]:
    """What one objective's weights are multiplied by: small ones count more per unit."""
    bounds = [max(1, objective.weight_bound) for objective in problem.objectives]
    return [max(1, max(bounds) // bound) for bound in bounds]


def parse_weighting(text: str, /) -> tuple[int, ...]:
    """The factors of one plan.

    >>> parse_weighting("3:1")
    (3, 1)
    """
    parts = text.split(":")
    if not all(part.isascii() and part.isdigit() and len(part) < 8 for part in parts):
        raise ParameterError(
            f"the weighting {text!r} is none; give whole factors with colons between, as in 3:1"
        )
    return tuple(int(part) for part in parts)
