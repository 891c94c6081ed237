"""Kinds of problems by name, and a problem from what is public of it.

A package adds a kind with an entry point of the group `tacit.kinds` that names a subclass of
`Problem`; docs/extending.md shows one. Agreements, records and drafts hold a `PublicProblem`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from tacit.disclosure import Disclosure, Sealed, Unsaid, parse_disclosure
from tacit.errors import ProblemError
from tacit.problems.assignment import Assignment, CapacitatedAssignment
from tacit.problems.objective import Objective
from tacit.problems.problem import Participant, Problem
from tacit.problems.tour import Routing, Tour

GROUP = "tacit.kinds"
LONGEST_NAME = 64
_OURS: dict[str, type[Problem]] = {
    each.kind: each for each in (Assignment, CapacitatedAssignment, Tour, Routing)
}


def kind_named(name: str, version: int = 1, /) -> type[Problem]:
    """The class of a kind of problems, in the version asked for.

    >>> kind_named("tour").__name__
    'Tour'
    >>> kind_named("tour", 2)
    Traceback (most recent call last):
    tacit.errors.ProblemError: the kind 'tour' is known here in version 1, not 2; install another \
version of what brings it
    """
    kind = _OURS.get(name) or (_installed(name) if len(name) <= LONGEST_NAME else None)
    if kind is None:
        known = ", ".join(sorted(_OURS))
        raise ProblemError(
            f"the kind {name[:LONGEST_NAME]!r} is unknown here; use one of {known}, or install "
            "its package"
        )
    # Another version may read the same public data in another way, and nodes must agree on it.
    if kind.version != version:
        raise ProblemError(
            f"the kind {name!r} is known here in version {kind.version}, not {version}; install "
            "another version of what brings it"
        )
    return kind


@lru_cache(maxsize=64)
def _installed(name: str) -> type[Problem] | None:
    from importlib.metadata import entry_points  # late: few nodes need it, and it takes its time

    # An installation may list one entry point twice, which is no conflict.
    points = {point.value: point for point in entry_points(group=GROUP, name=name)}
    if len(points) > 1:
        raise ProblemError(f"{' and '.join(points)} both bring the kind {name!r}; remove one")
    for point in points.values():
        kind = point.load()
        # Agreements name a kind by this word, so a package must not bring another kind under it.
        if not (isinstance(kind, type) and issubclass(kind, Problem) and kind.kind == name):
            raise ProblemError(f"{point.value} is not the kind {name!r}; correct its package")
        return kind
    return None


# What is disclosed of objectives where nobody has said it.


def with_usual_disclosures(problem: Problem, /) -> Problem:
    """Fill in the kind's usual disclosures where none is given: sealed, if that can be.

    A search is sealed for all objectives or for none, and needs all of them confidential.
    """
    objectives = problem.objectives
    silent = all(
        each.confidential and isinstance(each.disclosure, Unsaid | Sealed) for each in objectives
    )
    usual = parse_disclosure(problem.usual_disclosure if silent else Problem.usual_disclosure)
    changed = [_saying(each, usual) for each in objectives]
    return replace(problem, objectives=tuple(changed))


def _saying(objective: Objective, usual: Disclosure) -> Objective:
    if not objective.confidential or not isinstance(objective.disclosure, Unsaid):
        return objective
    best = objective.best_mode
    # A best mode that somebody chose stays; one that was left out follows the disclosure.
    if best is objective.disclosure.usual_best:
        best = usual.usual_best
    return replace(objective, disclosure=usual, best_mode=best)


# The public part of a problem.


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
    """Build a problem from its public part; an unknown kind is refused.

    `proven` problems are not searched for a feasible plan: that was done when they were drafted.
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
