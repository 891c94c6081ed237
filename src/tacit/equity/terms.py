"""The terms of long-term equity: agreed once in a series, and again in every run of it.

With them the reference plan that savings are counted from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from tacit.equity.rule import EquityRule
from tacit.errors import AgreementError
from tacit.problems import Problem, Tour

Reference = Literal["first come", "given"]
Told = Literal["nothing", "level", "balance"]


MEAN, SPREAD = "saved", "spread"
"""What the numbers are called that all are told."""


@dataclass(frozen=True, slots=True)
class Telling:
    """What is told of one run."""

    level: bool = False
    """To each what it saved, and its factor in this run."""
    balance: bool = False
    """To each its balance after this run, too."""
    mean: bool = False
    """To all the sum of the saved shares, in 128ths."""
    spread: bool = False
    """To all the largest balance minus the least, of all in the book: who takes part in a run
    does not choose whose balances are compared."""

    @property
    def numbers(self) -> int:
        """How many numbers each participant is told of itself."""
        return 3 if self.balance else 2 if self.level else 0

    @property
    def opened(self) -> tuple[str, ...]:
        """The names of the numbers that all are told."""
        return (MEAN,) * self.mean + (SPREAD,) * self.spread


class _EquityStruct(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Immutable, and no field that we ignore."""


class EquityTerms(_EquityStruct, frozen=True, kw_only=True):
    """The rule of a series, and what is told; every number stands in what is signed."""

    levels: int
    """Weights are multiplied by 16 minus this to 16 plus this."""
    decay: int
    """What is left of a step after one more own run, in thousandths."""
    spacing: int
    """How far ahead one level is, in 128ths of a saved share."""
    reference: Reference
    """The plan that savings are counted from: the rows in their order take the first column that
    they may and that has room, or each run gives one."""
    told: Told
    """What each participant is told of itself: nothing, what it saved and its level, or its
    balance, too."""
    every: int
    """In every so many-th run that counts; others tell nothing."""
    mean: bool = False
    """Whether all are told the mean of the saved shares then."""
    spread: bool = False
    """Whether all are told then how far apart balances are."""

    @property
    def rule(self) -> EquityRule:
        """As the protocols take it; refused where it is out of range."""
        return EquityRule(self.levels, self.decay, self.spacing)

    def telling(self, place: int, /) -> Telling:
        """What is told of this run, of those that count from 1; numbers may be left out."""
        # By place among the counted runs: runs that are broken off bring no telling closer.
        if place % self.every:
            return Telling()
        level = self.told != "nothing"
        return Telling(level, self.told == "balance", self.mean, self.spread)


class RunEquity(_EquityStruct, frozen=True, kw_only=True):
    """Equity in one run."""

    terms: EquityTerms
    """As in the series."""
    head: str
    """The head of the chain of all runs that were counted before, in hexadecimal."""
    reference: list[int]
    """The column of each row under the reference plan."""


def columns_of(problem: Problem, plan: Sequence[int], /) -> NDArray[np.intp]:
    """The column of each row under a plan: of a tour, where it goes on to from each place.

    >>> from tacit.problems import Objective
    >>> km = Objective("km", None, weight_bound=9)
    >>> columns_of(Tour(name="t", rows=3, columns=3, objectives=(km,)), [0, 2, 1])
    array([2, 0, 1])
    """
    rows, columns, _ = problem.cells(np.array([plan], dtype=np.intp))
    rows, columns = np.broadcast_arrays(rows, columns)
    made = np.empty(problem.rows, dtype=np.intp)
    made[rows[0]] = columns[0]
    return made


def first_come(problem: Problem, /) -> list[int]:
    """First come, first served: the rows in their order take the first column that has room.

    A tour visits the places in their order.

    >>> from tacit.problems import Assignment, Objective
    >>> mask = np.array([[True, False, False], [False, False, False]])
    >>> costs = Objective("delay", None, weight_bound=9)
    >>> first_come(Assignment(name="tiny", rows=2, columns=3, objectives=(costs,), forbidden=mask))
    [1, 0]
    """
    if isinstance(problem, Tour):
        return list(range(problem.rows))
    room = np.bincount(problem.sealed_items, minlength=problem.columns)
    made = []
    for row in range(problem.rows):
        free = room > 0 if problem.forbidden is None else (room > 0) & ~problem.forbidden[row]
        column = int(np.argmax(free))
        if not free[column]:
            raise AgreementError(
                f"first come, first served leaves row {row} without a column; take another order "
                "of rows, allow more pairs, or agree that each run gives a reference plan"
            )
        room[column] -= 1
        made.append(column)
    return made
