"""The settings of a sealed search where none are given: they fit the size of the problem.

They fit any costs: the temperature ends at a ten-thousandth of the largest possible weight, and the
last part of a run has no noise at all, so that costs may be as small beside that one as they like
(docs/search.md describes how they were found).
"""

from __future__ import annotations

from tacit.problems import Problem
from tacit.search.moves.parameters import SealedParameters

LARGEST_BLOCK = 18
"""Larger blocks find more per generation, which then takes longer than it is worth."""
FEW_BLOCKS = 8
"""With more of them a third level saves more comparisons than its rounds cost."""
SYMMETRIC_MOVES, DIRECTED_MOVES = (45, 0), (10, 45)
"""Inversions and exchanges of a tour, in percent; the others are or-opt moves."""


def fitted_parameters(problem: Problem, /) -> SealedParameters:
    """The settings for a problem of this size.

    >>> from tacit.problems import generate_assignment
    >>> fitted_parameters(generate_assignment(1, rows=100)).block
    16
    >>> fitted_parameters(generate_assignment(1, rows=30, columns=36)).block
    18
    """
    if problem.sealed_moves == "tour":
        # What an inversion turns around costs as much as before only where ways are not directed.
        moves = SYMMETRIC_MOVES if problem.is_symmetric else DIRECTED_MOVES
        return SealedParameters(
            children=500,
            windows=2,
            swap_percent=moves[0],
            exchange_percent=moves[1],
            heat_start=800,
            heat_end=40,
            descent_percent=5,
            levels=2,
        )
    items = len(problem.sealed_items)
    positions = problem.rows + min(problem.rows, max(items - problem.rows, 0))
    # Blocks that use up the positions.
    blocks = -(-positions // LARGEST_BLOCK)
    return SealedParameters(
        block=max(2, positions // blocks),
        heat_start=280,
        heat_end=1,
        descent_percent=10,
        levels=2 if blocks <= FEW_BLOCKS else 3,
    )
