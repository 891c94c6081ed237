"""The settings of a sealed search of a tour where none are given.

They fit any lengths: the temperature ends at a ten-thousandth of the largest possible weight, and
the last part of a run has no noise at all, so that lengths may be as small beside that one as they
like (docs/search.md describes how they were found).
"""

from __future__ import annotations

from tacit.problems import Problem
from tacit.search.moves.parameters import TourParameters

SYMMETRIC_MOVES, DIRECTED_MOVES = (45, 0), (10, 45)
"""Inversions and exchanges, in percent; the others are or-opt moves."""


def fitted_parameters(problem: Problem, /) -> TourParameters:
    """Return the settings for a problem of this kind.

    >>> from tacit.problems import shipped_problem
    >>> fitted_parameters(shipped_problem("kroA100")).windows
    2
    """
    # What an inversion turns around costs as much as before only where ways are not directed.
    moves = SYMMETRIC_MOVES if problem.is_symmetric else DIRECTED_MOVES
    return TourParameters(
        children=500,
        windows=2,
        swap_percent=moves[0],
        exchange_percent=moves[1],
        heat_start=800,
        heat_end=40,
        descent_percent=5,
        levels=2,
    )
