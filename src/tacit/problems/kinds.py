"""The kinds of problems that are known here, by name: ours, and those of installed packages.

A package adds a kind with an entry point of the group `tacit.kinds` that names a subclass of
`Problem`; docs/extending.md shows one.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from tacit.disclosure import Disclosure, Sealed, Unsaid, parse_disclosure
from tacit.errors import ProblemError
from tacit.problems.assignment import Assignment, CapacitatedAssignment
from tacit.problems.objective import Objective
from tacit.problems.problem import Problem
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
    if kind.version != version:
        raise ProblemError(
            f"the kind {name!r} is known here in version {kind.version}, not {version}; install "
            "another version of what brings it"
        )
    return kind


@lru_cache(maxsize=64)
def _installed(name: str) -> type[Problem] | None:
    from importlib.metadata import entry_points  # late: few nodes need it, and it takes its time

    points = {point.value: point for point in entry_points(group=GROUP, name=name)}
    if len(points) > 1:
        raise ProblemError(f"{' and '.join(points)} both bring the kind {name!r}; remove one")
    for point in points.values():
        kind = point.load()
        if not (isinstance(kind, type) and issubclass(kind, Problem) and kind.kind == name):
            raise ProblemError(f"{point.value} is not the kind {name!r}; correct its package")
        return kind
    return None


# What is disclosed of objectives where nobody has said it.


def with_usual_disclosures(problem: Problem, /) -> Problem:
    """The problem with what is usual for its kind where it says nothing: sealed, if that can be.

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
    if best is objective.disclosure.usual_best:
        best = usual.usual_best
    return replace(objective, disclosure=usual, best_mode=best)
