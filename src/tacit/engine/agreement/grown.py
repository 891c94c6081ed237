"""The public side of a start that is grown on allowed pairs: which they are, and a plan of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.errors import AgreementError, ParameterError
from tacit.mpc.sealed import AllowedCells
from tacit.problems import Problem, feasible_assignment
from tacit.search.moves import PublicShape, Schedule

PART, PER_ROW = 4, 8
"""One pair in so many may be allowed, or so many per row where that is more."""


@dataclass(frozen=True, eq=False)
class GrownStart:
    """What nodes need to know: it follows from the mask and the bounds alone."""

    cells: AllowedCells
    known: NDArray[np.intp]
    """The item of each row in any plan without forbidden pairs."""
    high: int
    """The largest value of a pair, which costs nothing."""


@dataclass(frozen=True, kw_only=True)
class GrownSchedule(Schedule):
    """The course of a search that begins so."""

    grown: GrownStart


def grown_course(problem: Problem, public: PublicShape, /) -> GrownStart:
    """What follows for a problem; refused where there is no such start.

    >>> from tacit.problems import generate_named
    >>> from tacit.search.moves import public_shape
    >>> problem = generate_named("sparse", 1, rows=30)
    >>> len(grown_course(problem, public_shape(problem, (1,))).cells.rows)
    176
    """
    if public.kind != "assignment" or problem.forbidden is None or public.rows != public.columns:
        raise AgreementError(
            "a start is grown where pairs are forbidden and there are as many items as rows; "
            "set start to drawn"
        )
    allowed = ~problem.forbidden[:, problem.sealed_items]
    most = max(allowed.size // PART, PER_ROW * public.rows)
    if (pairs := int(allowed.sum())) > most:
        # Time and memory of a start grow with the pairs, and a search does well where it is full.
        raise AgreementError(
            f"a start is grown where few pairs are allowed: {most:,} here, not {pairs:,}; set "
            "start to drawn"
        )
    known = feasible_assignment(allowed)
    if known is None:
        raise AgreementError("every plan has a forbidden pair, so none is grown; allow more pairs")
    try:
        cells = AllowedCells(allowed, public.unit)
    except ParameterError as error:
        raise AgreementError(f"no start is grown, so set start to drawn: {error}") from None
    return GrownStart(cells, known.astype(np.intp), public.low + public.spread)
