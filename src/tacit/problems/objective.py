"""One objective: a weight matrix, which way is better, and what may be disclosed of it."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from math import ceil
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tacit.disclosure import BestMode, Disclosure, Exact, Pareto, Unsaid
from tacit.errors import ProblemError

Sense = Literal["maximize", "minimize"]

FITNESS_BITS = 48
"""A fitness needs at most this many bits, so that every comparison fits the nodes' 64-bit ring
with room for tie-breaking indices (up to 13 bits) and for the factors of buckets and thresholds."""


@dataclass(frozen=True, eq=False)
class Objective:
    """An objective over the cells of a matrix.

    `weights` are whole numbers in 0..weight_bound, as the users give them times `scale`; they are
    absent where only the participants know them. Inside the system larger fitness is better, so
    a cost counts negatively.

    >>> delay = Objective("delay", np.array([[3, 1], [2, 5]]), sense="minimize")
    >>> delay.weight_bound, delay.sign
    (5, -1)
    """

    name: str
    weights: NDArray[np.int64] | None
    sense: Sense = "maximize"
    confidential: bool = True
    disclosure: Disclosure = Unsaid()  # noqa: RUF009 - immutable
    """Left out, `solve` takes what is usual for the kind of problem, sealed where that can be."""
    best_mode: BestMode = None  # type: ignore[assignment]
    """Left out, what is usual for the disclosure: nothing of a sealed search."""
    scale: int = 1
    weight_bound: int = -1

    def __post_init__(self) -> None:
        if vars(self)["best_mode"] is None:  # which the type does not say: nobody meets it
            object.__setattr__(self, "best_mode", self.disclosure.usual_best)
        if self.sense not in ("maximize", "minimize"):
            raise ProblemError(
                f"objective {self.name!r}: {self.sense!r} is not a sense; use maximize or minimize"
            )
        if self.scale < 1:
            raise ProblemError(
                f"objective {self.name!r}: scale is {self.scale}; use 1, 10, 100 or the like"
            )
        if self.weights is None:
            if self.weight_bound < 0:
                raise ProblemError(
                    f"objective {self.name!r} has neither weights nor a weight_bound; "
                    "give at least the bound"
                )
            return
        weights = np.ascontiguousarray(self.weights, dtype=np.int64)
        # Shared by everything that evaluates, so that nobody changes them in place.
        weights.setflags(write=False)
        object.__setattr__(self, "weights", weights)
        if self.weight_bound < 0:
            # At least 1: in an agreement an objective with the bound 0 is refused.
            object.__setattr__(self, "weight_bound", int(weights.max(initial=1)))
        self._check_range(weights)

    def _check_range(self, weights: NDArray[np.int64]) -> None:
        outside = np.argwhere((weights < 0) | (weights > self.weight_bound))
        if len(outside):
            row, column = (int(i) for i in outside[0])
            weight = int(weights[row, column])
            trouble = "is negative" if weight < 0 else f"is above the bound {self.weight_bound}"
            raise ProblemError(
                f"objective {self.name!r}: weight {weight} in row {row}, column {column} "
                f"{trouble}; weights lie between 0 and weight_bound, so shift, rescale or raise "
                "the bound"
            )

    @property
    def sign(self) -> int:
        """+1 where large sums are good, -1 where they are costs."""
        return 1 if self.sense == "maximize" else -1

    def to_user(self, fitness: float, /) -> float:
        """A fitness in the user's own unit: unscaled, costs positive.

        >>> Objective("delay", None, sense="minimize", scale=100, weight_bound=9).to_user(-250)
        2.5
        """
        value = self.sign * fitness / self.scale
        return int(value) if value == int(value) else value

    def least_fitness(self, value: float, /) -> int:
        """The smallest internal fitness that is at least as good as a value in the user's unit.

        >>> Objective("delay", None, sense="minimize", scale=100, weight_bound=9).least_fitness(2.5)
        -250
        >>> Objective("pay", None, weight_bound=9).least_fitness(2.5)
        3
        """
        # By way of text, since 1.1 * 10 is more than 11 in binary.
        return ceil(self.sign * Decimal(str(value)) * self.scale)

    @property
    def discloses_values(self) -> bool:
        """Whether an evaluation discloses the best fitness as a number.

        >>> Objective("pay", None, weight_bound=9).discloses_values
        True
        """
        exact = not self.confidential or isinstance(self.disclosure, Exact)
        return exact or self.best_mode is BestMode.VALUE


# What every problem refuses: objectives, owners, names and public data that do not fit.


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
        # In Python `True` is an integer, and in a file it is a mistake.
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
