"""What every problem refuses: objectives, owners, names and public data that do not fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.disclosure import BestMode, Pareto
from tacit.errors import ProblemError
from tacit.problems.model.objective import FITNESS_BITS, Objective

LARGEST_DATUM = 10**9
"""Capacities and demands are no larger, so that their sums never overflow."""


@dataclass(frozen=True)
class Participant:
    """Somebody who owns rows of the weight matrices.

    >>> Participant("north", (0, 1)).rows
    (0, 1)
    """

    name: str
    rows: tuple[int, ...]


def check_objectives(
    objectives: tuple[Objective, ...], rows: int, columns: int, /, *, terms: int
) -> None:
    """Refuse objectives whose matrix or bound does not fit the problem.

    >>> check_objectives((), 2, 2, terms=2)
    Traceback (most recent call last):
    tacit.errors.ProblemError: the problem has no objective; give at least one
    """
    if not objectives:
        raise ProblemError("the problem has no objective; give at least one")
    names = [objective.name for objective in objectives]
    if len(set(names)) < len(names):
        raise ProblemError(f"two objectives share a name in {names}; name them apart")
    _check_together(objectives)
    for objective in objectives:
        if objective.weights is not None and objective.weights.shape != (rows, columns):
            shape = " x ".join(map(str, objective.weights.shape))
            raise ProblemError(
                f"objective {objective.name!r} has a {shape} matrix in a {rows} x {columns} "
                "problem; give every objective the same shape"
            )
        if terms * objective.weight_bound >= 2**FITNESS_BITS:
            raise ProblemError(
                f"objective {objective.name!r}: sums of {terms} weights up to "
                f"{objective.weight_bound} need more than {FITNESS_BITS} bits; use a smaller "
                "scale or coarser weights"
            )


def _check_together(objectives: tuple[Objective, ...]) -> None:
    """Refuse a Pareto score of some of the objectives, or with something of each besides."""
    together = {str(o.disclosure) for o in objectives if isinstance(o.disclosure, Pareto)}
    if not together:
        return
    alike = all(o.confidential and str(o.disclosure) in together for o in objectives)
    if len(objectives) < 2 or len(together) > 1 or not alike:
        raise ProblemError(
            f"{min(together)} is of all objectives together; give it to two or more, all of them "
            "confidential, or to none"
        )
    if any(o.best_mode is not BestMode.NOTHING for o in objectives):
        raise ProblemError(
            f"{min(together)} discloses nothing of a best fitness; write nothing in its place"
        )


def whole_numbers(what: str, given: object, /, *, count: int, least: int) -> tuple[int, ...]:
    """Public data of a kind: so many whole numbers, none below `least`.

    >>> whole_numbers("capacities", [2, 0], count=2, least=1)
    Traceback (most recent call last):
    tacit.errors.ProblemError: capacities has 0 at place 1; give whole numbers from 1 to 1000000000
    """
    numbers = tuple(given) if isinstance(given, (list, tuple, np.ndarray)) else ()
    if len(numbers) != count or not numbers:
        raise ProblemError(f"{what} has {len(numbers)} numbers; give {max(count, 1)}")
    for place, number in enumerate(numbers):
        whole = isinstance(number, (int, np.integer)) and not isinstance(number, bool)
        if not whole or not least <= number <= LARGEST_DATUM:
            raise ProblemError(
                f"{what} has {number!r} at place {place}; give whole numbers from {least} to "
                f"{LARGEST_DATUM}"
            )
    return tuple(map(int, numbers))


def check_owners(participants: tuple[Participant, ...], rows: int, /) -> None:
    """Refuse rows with no owner or with two.

    >>> check_owners((Participant("a", (0, 1)), Participant("b", (1,))), 2)
    Traceback (most recent call last):
    tacit.errors.ProblemError: row 1 belongs to 'a' and to 'b'; every row has one owner
    """
    owner: dict[int, str] = {}
    names: set[str] = set()
    for participant in participants:
        if participant.name in names:
            raise ProblemError(f"two participants are named {participant.name!r}; name them apart")
        names.add(participant.name)
        for row in participant.rows:
            if not 0 <= row < rows:
                raise ProblemError(
                    f"participant {participant.name!r} owns row {row}, but rows are 0 to {rows - 1}"
                    "; correct its rows"
                )
            if row in owner:
                raise ProblemError(
                    f"row {row} belongs to {owner[row]!r} and to {participant.name!r}; "
                    "every row has one owner"
                )
            owner[row] = participant.name
    for row in range(rows):
        if row not in owner:
            raise ProblemError(f"row {row} has no owner; add it to one participant's rows")


def check_names(names: tuple[str, ...] | None, expected: int, what: str, /) -> None:
    """Refuse a list of names that is not one name each.

    >>> check_names(("a", "a"), 2, "row")
    Traceback (most recent call last):
    tacit.errors.ProblemError: the row name 'a' stands twice; name rows apart
    """
    if names is None:
        return
    if len(names) != expected:
        raise ProblemError(
            f"there are {len(names)} {what} names for {expected} {what}s; give one each"
        )
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ProblemError(f"the {what} name {name!r} stands twice; name {what}s apart")
        seen.add(name)
