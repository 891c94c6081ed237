"""The mixtures of several objectives of which a sealed search opens one plan each."""

from __future__ import annotations

from tacit.errors import ParameterError
from tacit.problems import Problem

FRONT_STEPS = 4
"""Two objectives get so many weightings and one more, if nobody names others."""


def default_weightings(problem: Problem, /) -> list[tuple[int, ...]]:
    """One search for one objective; for several, mixtures in which each can weigh as much.

    >>> from tacit.problems import generate_assignment
    >>> default_weightings(generate_assignment(1, rows=3, objectives=2))
    [(4, 0), (3, 1), (2, 2), (1, 3), (0, 4)]
    """
    bounds = [max(1, objective.weight_bound) for objective in problem.objectives]
    # An objective with small weights counts more per unit.
    units = [max(1, max(bounds) // bound) for bound in bounds]
    count = len(bounds)
    if count == 1:
        return [(1,)]
    if count == 2:
        shares = [(FRONT_STEPS - i, i) for i in range(FRONT_STEPS + 1)]
    else:
        alone = [tuple(int(i == k) for i in range(count)) for k in range(count)]
        shares = [*alone, (1,) * count]  # type: ignore[list-item]
    return [tuple(s * u for s, u in zip(share, units, strict=True)) for share in shares]


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
