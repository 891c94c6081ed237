"""The contract of a problem: what a candidate looks like and what it is worth.

A *genome* is a permutation, which is what the search works on. A *plan* is what the genome stands
for and what is evaluated: for an assignment plan[r] is the column of row r, for a tour the cities
in the order of the visit. `Assignment` and `Tour` are the two kinds; a third is one more subclass.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.errors import ProblemError
from tacit.problems.model.objective import FITNESS_BITS, Objective


@dataclass(frozen=True)
class Participant:
    """Somebody who owns rows of the weight matrices.

    >>> Participant("north", (0, 1)).rows
    (0, 1)
    """

    name: str
    rows: tuple[int, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class Problem(ABC):
    """What all problems have in common. See `Assignment` and `Tour`."""

    kind: ClassVar[str]

    name: str
    rows: int
    columns: int
    objectives: tuple[Objective, ...]
    participants: tuple[Participant, ...] = ()
    row_names: tuple[str, ...] | None = None
    column_names: tuple[str, ...] | None = None
    optimum: int | None = None
    """The best possible value of the only objective in the user's sense, scaled, where known."""
    source: str | None = None
    """Where the data come from, to be named with results."""

    def __post_init__(self) -> None:
        if not self.participants:
            owner = Participant("owner", tuple(range(self.rows)))
            object.__setattr__(self, "participants", (owner,))
        check_objectives(self.objectives, self.rows, self.columns)
        check_owners(self.participants, self.rows)
        check_names(self.row_names, self.rows, "row")
        check_names(self.column_names, self.columns, "column")

    @property
    @abstractmethod
    def genome_length(self) -> int:
        """How many items a genome permutes."""

    @property
    @abstractmethod
    def plan_length(self) -> int:
        """How many entries a plan has."""

    @property
    def allowed(self) -> NDArray[np.bool_] | None:
        """Which column each row may take, or None where it may take any."""
        return None

    @abstractmethod
    def plans(self, genomes: NDArray[np.int32], /) -> NDArray[np.int32]:
        """The plans that genomes stand for, one per row."""

    @abstractmethod
    def sums(self, weights: NDArray[np.int64], plans: NDArray[np.int32], /) -> NDArray[np.int64]:
        """The sum of the weights that each plan picks."""

    @abstractmethod
    def check_plan(self, plan: Sequence[int], /) -> None:
        """Refuse a plan that is not feasible, with the reason."""

    def fitness(self, objective: int, plans: NDArray[np.int32], /) -> NDArray[np.int64]:
        """Internal fitness of plans: larger is better, costs are negative."""
        chosen = self.objectives[objective]
        if chosen.weights is None:
            raise ProblemError(
                f"the weights of objective {chosen.name!r} are not here: its participants hold "
                "them; evaluate it on nodes"
            )
        return chosen.sign * self.sums(chosen.weights, plans)

    def fitness_bound(self, objective: int, /) -> int:
        """The largest absolute fitness that any plan can have, from public figures alone."""
        return self.plan_length * self.objectives[objective].weight_bound


def check_objectives(objectives: tuple[Objective, ...], rows: int, columns: int, /) -> None:
    """Refuse objectives whose matrix or bound does not fit the problem.

    >>> check_objectives((), 2, 2)
    Traceback (most recent call last):
    tacit.errors.ProblemError: the problem has no objective; give at least one
    """
    if not objectives:
        raise ProblemError("the problem has no objective; give at least one")
    names = [objective.name for objective in objectives]
    if len(set(names)) < len(names):
        raise ProblemError(f"two objectives share a name in {names}; name them apart")
    for objective in objectives:
        if objective.weights is not None and objective.weights.shape != (rows, columns):
            shape = " x ".join(map(str, objective.weights.shape))
            raise ProblemError(
                f"objective {objective.name!r} has a {shape} matrix in a {rows} x {columns} "
                "problem; give every objective the same shape"
            )
        if rows * objective.weight_bound >= 2**FITNESS_BITS:
            raise ProblemError(
                f"objective {objective.name!r}: {rows} rows of weights up to "
                f"{objective.weight_bound} need more than {FITNESS_BITS} bits; use a smaller "
                "scale or coarser weights"
            )


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
