"""Whether a search begins with a plan that is grown: from the mask, sizes and times alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tacit.engine.agreement.grown import grown_course
from tacit.engine.agreement.sealed import table_of
from tacit.engine.derived.finish_time import KnownTime, seconds_of
from tacit.errors import AgreementError
from tacit.mpc.forest import MOSTLY
from tacit.mpc.sealed import cost_of_growing, grown_in_the_clear
from tacit.problems import Problem
from tacit.search.moves import PublicShape, Schedule, SealedParameters, public_shape

PART, PART_WITH_FINISH = 0.75, 0.05
"""Of the time, at most: a search finds little where few pairs are allowed, but a finish much."""
SLOWER = 2.5
"""What nodes may take longer to compute than the model says; the network takes what it takes."""


def clear_start(
    values: NDArray[np.int64], problem: Problem, shape: PublicShape, /
) -> NDArray[np.intp]:
    """The item of each row, from rows x items of values: what nodes grow on shares."""
    grown = grown_course(problem, shape)
    return grown_in_the_clear(grown.high - values, grown.cells, grown.known)


def start_seconds(
    problem: Problem,
    search: SealedParameters,
    weighting: Sequence[int],
    /,
    *,
    nodes: int = 3,
    delay: float = 0.0,
) -> float:
    """What growing a start takes by the model of `finish_time`."""
    shape = public_shape(problem, weighting)
    table = table_of(Schedule(shape, search, seed=0, stream=0))
    needed = cost_of_growing(nodes, table, grown_course(problem, shape).cells)
    return seconds_of(needed.rounds, needed.bytes_per_node, delay=delay)


def fitted_start(
    problem: Problem,
    search: SealedParameters,
    weightings: Sequence[Sequence[int]],
    known: KnownTime,
    /,
) -> SealedParameters:
    """The search with the start that fits the mask and the time.

    >>> from tacit.problems import generate_assignment, generate_named
    >>> problem, search = generate_named("sparse", 1, rows=100), SealedParameters(block=16)
    >>> for seconds in (0.5, 2):
    ...     fitted_start(problem, search, [(1,)], KnownTime(deadline=seconds)).start
    'drawn'
    'grown'
    >>> whole = generate_assignment(1, rows=100)
    >>> fitted_start(whole, search, [(1,)], KnownTime(deadline=2)).start
    'drawn'
    """
    mask = problem.forbidden
    if mask is None or mask.mean() <= MOSTLY:
        return search
    try:
        computing, all_of_it = (
            sum(start_seconds(problem, search, each, nodes=known.nodes, delay=delay)
                for each in weightings)
            for delay in (0.0, known.delay)
        )  # fmt: skip
    except AgreementError:
        return search
    part, slower = (PART_WITH_FINISH, 1.0) if search.finish else (PART, SLOWER)
    seconds = all_of_it + (slower - 1) * computing
    if known.deadline is not None and seconds > part * known.deadline:
        return search
    return replace(search, start="grown")
