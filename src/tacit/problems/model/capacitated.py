"""Capacitated assignment: every row gets a column, and a column takes so many rows at most."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.errors import ProblemError
from tacit.problems.model.assignment import Assignment
from tacit.problems.model.problem import Plans
from tacit.problems.model.problem_checks import whole_numbers

MOST_PLACES, MOST_CHOICES = 1 << 16, 10**7
"""Places in all, and places times rows: what a search permutes and a feasibility check looks at."""


@dataclass(frozen=True, eq=False, kw_only=True)
class CapacitatedAssignment(Assignment):
    """Assign every row a column that has room; `capacities` are public.

    A genome permutes places, of which a column has as many as rows it takes (no more than there
    are rows). A plan has columns, so that it does not matter which of its places a row got.

    >>> from tacit.problems import Objective
    >>> pay = Objective("pay", np.array([[1, 9], [8, 3], [2, 6]]))
    >>> problem = CapacitatedAssignment(name="tiny", rows=3, columns=2, objectives=(pay,),
    ...                                 capacities=(1, 2))
    >>> problem.plans(np.array([[2, 0, 1]], dtype=np.int32))
    array([[1, 0, 1]], dtype=int32)
    """

    kind: ClassVar[str] = "capacitated"
    data_fields: ClassVar[tuple[str, ...]] = ("capacities",)

    capacities: tuple[int, ...] = ()
    """How many rows each column takes."""

    def _check_room(self) -> None:
        numbers = whole_numbers("capacities", self.capacities, count=self.columns, least=0)
        object.__setattr__(self, "capacities", numbers)
        if self.rows > sum(numbers):
            raise ProblemError(
                f"{self.rows} rows cannot be assigned to columns that take {sum(numbers)} in all; "
                "raise their capacities or add columns"
            )
        places = sum(min(number, self.rows) for number in numbers)
        if places > MOST_PLACES or places * self.rows > MOST_CHOICES:
            raise ProblemError(
                f"columns that take {places} rows in all are too many places for {self.rows} rows; "
                "lower their capacities"
            )

    @cached_property
    def sealed_items(self) -> NDArray[np.intp]:
        """The column of each place."""
        return np.repeat(np.arange(self.columns), np.minimum(self.capacities, self.rows))

    @property
    def genome_length(self) -> int:
        """All places are permuted."""
        return len(self.sealed_items)

    @property
    def allowed(self) -> NDArray[np.bool_] | None:
        """Which place each row may take, or None where it may take any."""
        return None if self.forbidden is None else ~self.forbidden[:, self.sealed_items]

    def plans(self, genomes: NDArray[np.int32], /) -> NDArray[np.int32]:
        """The columns of the first m places of each genome."""
        return self.sealed_items.astype(np.int32)[genomes[:, : self.rows]]

    def _crowded(self, plans: Plans) -> tuple[NDArray[np.bool_], str] | None:
        room = np.minimum(self.capacities, self.rows)
        in_order = np.sort(plans, axis=1, kind="stable")
        # Where a column has too many rows, it stands again that many places further on.
        at = np.arange(self.rows) + room[in_order]
        again = np.take_along_axis(in_order, np.minimum(at, self.rows - 1), axis=1) == in_order
        over = np.asarray((again & (at < self.rows)).any(axis=1))
        return (over, "gives a column more rows than it takes") if over.any() else None
