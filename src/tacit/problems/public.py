"""What everybody may know of a problem, as agreements, records and the platform's drafts say it."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from tacit.errors import ProblemError
from tacit.problems.kinds import kind_named
from tacit.problems.objective import Objective
from tacit.problems.problem import Participant, Problem

BLOCK_PAIRS = 1 << 14


class PublicProblem(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The public part of a problem."""

    name: str
    kind: str
    rows: int
    columns: int
    row_names: list[str] | None = None
    column_names: list[str] | None = None
    forbidden: list[tuple[int, int]] = []
    """Pairs of a row and a column that it may not take."""
    symmetric: bool = False
    """Whether ways cost the same in both directions, so that both count as one candidate."""
    version: int = 1
    """Of the kind."""
    data: dict[str, int | list[int]] = {}
    """What the kind knows besides, such as capacities."""


def public_problem(problem: Problem, /) -> PublicProblem:
    """The public part of a problem."""
    forbidden = [] if problem.forbidden is None else np.argwhere(problem.forbidden).tolist()
    return PublicProblem(
        name=problem.name,
        kind=problem.kind,
        rows=problem.rows,
        columns=problem.columns,
        row_names=None if problem.row_names is None else list(problem.row_names),
        column_names=None if problem.column_names is None else list(problem.column_names),
        forbidden=[(row, column) for row, column in forbidden],
        symmetric=problem.is_symmetric,
        version=problem.version,
        data=problem.data,
    )


def _mask(public: PublicProblem) -> NDArray[np.bool_]:
    """The forbidden pairs as a matrix, if each lies in it and stands once."""
    mask = np.zeros((public.rows, public.columns), dtype=np.bool_)
    # In blocks: a node does this in a thread, and others should get their turn.
    for first in range(0, len(public.forbidden), BLOCK_PAIRS):
        block = public.forbidden[first : first + BLOCK_PAIRS]
        try:
            row, column = np.array(block, dtype=np.int64).T
        except OverflowError:
            raise ProblemError("a forbidden pair lies outside the matrix; correct it") from None
        beyond = (row < 0) | (row >= public.rows) | (column < 0) | (column >= public.columns)
        if beyond.any():
            wrong = block[int(beyond.argmax())]
            raise ProblemError(
                f"the forbidden pair {wrong[0]}, {wrong[1]} lies outside the matrix; correct it"
            )
        mask[row, column] = True
    if np.count_nonzero(mask) < len(public.forbidden):
        raise ProblemError("a forbidden pair stands twice; give each once")
    return mask


def problem_without_weights(
    public: PublicProblem,
    objectives: tuple[Objective, ...],
    participants: tuple[Participant, ...] = (),
    /,
    *,
    proven: bool = False,
) -> Problem:
    """The problem of which only this is known; an unknown kind is refused.

    `proven` problems are not searched for a feasible plan: whoever drafted them has done that.
    """
    kind = kind_named(public.kind, public.version)
    data: dict[str, Any] = dict(public.data)
    if set(data) != set(kind.data_fields):
        wanted = " and ".join(kind.data_fields) or "no data"
        raise ProblemError(
            f"a problem of the kind {public.kind!r} has {wanted}, not "
            f"{' and '.join(map(repr, data)) or 'none'}"
        )
    mask = _mask(public) if public.forbidden else None
    return kind(
        name=public.name,
        rows=public.rows,
        columns=public.columns,
        objectives=objectives,
        participants=participants,
        row_names=None if public.row_names is None else tuple(public.row_names),
        column_names=None if public.column_names is None else tuple(public.column_names),
        forbidden=mask,
        symmetric=public.symmetric,
        proven=proven,
        **data,
    )
