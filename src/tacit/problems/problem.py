"""The contract of a kind of problem: what a candidate looks like and what it is worth.

A *genome* is a permutation, which is what the search works on. A *plan* is what the genome stands
for and what is evaluated: whole numbers, always as many. A kind is a subclass of `Problem`. It says
which cells of the weights a plan adds up (`cells`), which plans are feasible (`fault`), which are
the same (`canonical`) and how large a sum can get (`terms`). Nodes ask it the same questions about
an agreed problem, of which they know everything but the weights. `tacit.problems.kinds` finds
kinds by their names.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.disclosure import Pareto
from tacit.errors import ProblemError
from tacit.problems.matching import climbed_plan
from tacit.problems.objective import Objective, Sense, check_names, check_objectives, check_owners
from tacit.problems.objective import Participant as Participant

# The seam between search and evaluation: one synchronous call, which gives this back.
#
# The search never knows what stands behind it: plain arithmetic, a simulation of the Privacy
# Engine, or nodes.


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What one evaluation gives back."""

    estimates: NDArray[np.float64]
    """Estimated fitness, one row per candidate and one column per objective; larger is better."""

    disclosed: tuple[NDArray[Any], ...]
    """What each objective's disclosure revealed, as it was revealed."""

    best: tuple[int | bool | None, ...]
    """What each objective disclosed of its best fitness."""


Plans = NDArray[np.integer[Any]]
"""One plan per line."""

MOST_PAIRS = 10**8
"""A matrix of more would not fit the memory of an ordinary machine."""


class Cells(NamedTuple):
    """The cells that plans add up, one line per plan; all three broadcast to one shape."""

    rows: Plans
    columns: Plans
    factors: Plans | None = None
    """What each cell is multiplied with, whole and not negative; None where all count once."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Problem(ABC):
    """What all problems have in common. See `Assignment` and `Tour`."""

    kind: ClassVar[str]
    version: ClassVar[int] = 1
    """Counts up when the same public data would mean something else."""
    data_fields: ClassVar[tuple[str, ...]] = ()
    """Fields for public data of a kind, each a whole number or many: see `whole_numbers`."""
    between_places: ClassVar[bool] = False
    """Whether rows and columns are the same places and cell (a, b) is the way from a to b."""
    preset: ClassVar[str] = "paper-ap"
    """The parameters of a search where none are named."""
    service_preset: ClassVar[str] = "tuned-ap"
    """The same on a platform."""
    sealed_moves: ClassVar[str | None] = None
    """By which moves a sealed search changes plans: "assignment", "tour", or it cannot."""
    usual_disclosure: ClassVar[str] = "top:15"
    """The disclosure of objectives for which none is given."""
    heads: ClassVar[tuple[str, str]] = ("row", "column")
    """What the two numbers of an entry of `listed` are."""
    usual_sense: ClassVar[Sense] = "maximize"
    """The sense of an objective whose file does not say."""

    name: str
    rows: int
    columns: int
    objectives: tuple[Objective, ...]
    participants: tuple[Participant, ...] = ()
    row_names: tuple[str, ...] | None = None
    column_names: tuple[str, ...] | None = None
    forbidden: NDArray[np.bool_] | None = None
    """Public: true where a row may not take a column."""
    symmetric: bool | None = None
    """Whether ways between places are worth the same in both directions; None: the weights tell."""
    coordinates: NDArray[np.float64] | None = None
    """Where the places lie, for drawing; n x 2."""
    optimum: int | None = None
    """The best possible value of the only objective in the user's sense, scaled, where known."""
    source: str | None = None
    """Where the data come from, to be named with results."""
    proven: bool = False
    """Whether a feasible plan is known to exist; otherwise kinds that can look for one do."""

    def __post_init__(self) -> None:
        if self.between_places:
            self._check_places()
        elif self.coordinates is not None or self.symmetric:
            raise ProblemError(
                f"only ways between places have coordinates or are symmetric, not the "
                f"{self.kind} {self.name!r}; leave them out"
            )
        if not self.participants:
            owner = Participant("owner", tuple(range(self.rows)))
            object.__setattr__(self, "participants", (owner,))
        check_objectives(self.objectives, self.rows, self.columns, terms=self.terms)
        check_owners(self.participants, self.rows)
        check_names(self.row_names, self.rows, "row")
        check_names(self.column_names, self.columns, "column")

    def _check_places(self) -> None:
        if self.rows != self.columns:
            raise ProblemError(
                f"a {self.kind} needs a square matrix, this one is {self.rows} x {self.columns}; "
                "give one row and one column per city"
            )
        if self.rows < 2:
            raise ProblemError(f"a {self.kind} needs at least two cities; add some")
        if self.forbidden is not None:
            raise ProblemError(f"a {self.kind} has no forbidden pairs; remove them")
        if self.coordinates is not None and self.coordinates.shape != (self.rows, 2):
            raise ProblemError(
                f"there are coordinates for {len(self.coordinates)} of {self.rows} cities; "
                "give an x and a y for each"
            )

    @property
    def data(self) -> dict[str, int | list[int]]:
        """The public data of its own kind, as an agreement and a file have it."""
        values = {name: getattr(self, name) for name in self.data_fields}
        return {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}

    @property
    @abstractmethod
    def genome_length(self) -> int:
        """The number of items that a genome permutes."""

    @property
    @abstractmethod
    def plan_length(self) -> int:
        """The number of entries of a plan."""

    @property
    def terms(self) -> int:
        """The largest number of cells, each times its factor, that a feasible plan adds up.

        Comparisons on nodes are only right within the bound that follows from it.
        """
        return self.plan_length

    @property
    def evaluates_together(self) -> bool:
        """Whether one evaluation is of all objectives: a Pareto score is disclosed of them."""
        return isinstance(self.objectives[0].disclosure, Pareto)

    @property
    def allowed(self) -> NDArray[np.bool_] | None:
        """Which item of a genome each row may take, or None where it may take any."""
        return None

    @property
    def sealed_items(self) -> NDArray[np.intp]:
        """The column of each item that a sealed search gives to the rows, or visits."""
        return np.arange(self.columns)

    @property
    def is_symmetric(self) -> bool:
        """Whether ways count the same in both directions; where that is unknown, they do."""
        if self.symmetric is not None or not self.between_places:
            return bool(self.symmetric)
        # Without weights both directions count as one candidate: nodes, which have none, then never
        # count more distinct candidates than there are.
        known = [each.weights for each in self.objectives if each.weights is not None]
        return all(np.array_equal(weights, weights.T) for weights in known)

    @abstractmethod
    def plans(self, genomes: NDArray[np.int32], /) -> NDArray[np.int32]:
        """The plans that genomes stand for, one per row: feasible where items are `allowed`."""

    @abstractmethod
    def cells(self, plans: Plans, /) -> Cells:
        """The cells that each plan adds up, from what is public alone."""

    @abstractmethod
    def _fault(self, plans: Plans) -> tuple[NDArray[np.bool_], str] | None:
        """Find the infeasible ones of plans of the right length and range, and the reason."""

    def fault(self, plans: Plans, /) -> tuple[int, str] | None:
        """The first plan that is not feasible, and what it does; None where all are."""
        if plans.shape[1] != self.plan_length:
            return 0, f"has {plans.shape[1]} entries in place of {self.plan_length}"
        if not len(plans):
            return None
        # The range first: kinds index matrices with these numbers, where negative ones would wrap
        # around.
        if plans.max() >= self.columns or plans.min() < 0:
            beyond = ((plans >= self.columns) | (plans < 0)).any(axis=1)
            return int(beyond.argmax()), "takes a column that does not exist"
        found = self._fault(plans)
        return None if found is None else (int(found[0].argmax()), found[1])

    def have_the_form(self, plans: Plans, /) -> bool:
        """Return whether these are plans, perhaps with forbidden pairs.

        A sealed search may end before it has found one without.
        """
        return replace(self, forbidden=None, proven=True).fault(plans) is None

    def check_plan(self, plan: Sequence[int], /) -> None:
        found = self.fault(np.array([plan], dtype=np.int64))
        if found is not None:
            raise ProblemError(f"the plan {found[1]}")

    def canonical(self, plans: Plans, /) -> Plans:
        """One line per plan; the same for two plans exactly if they add up the same cells."""
        rows, columns, factors = self.cells(plans)
        if self.is_symmetric:
            rows, columns = np.minimum(rows, columns), np.maximum(rows, columns)
        flat = np.multiply(rows, self.columns, dtype=np.int64) + columns
        if factors is not None:  # A cell that counts twice is another one.
            flat = np.where(factors == 0, -1, flat + factors * (self.rows * self.columns))
        return np.sort(flat, axis=1)

    def sums(self, weights: NDArray[np.int64], plans: NDArray[np.int32], /) -> NDArray[np.int64]:
        """The sum of the weights that each plan picks; a kind may have a faster way to it."""
        return self.cell_sums(weights, plans)

    def cell_sums(self, values: NDArray[Any], plans: Plans, /) -> NDArray[Any]:
        """The sum of the cells of each plan, times their factors, of any kind of numbers."""
        rows, columns, factors = self.cells(plans)
        flat = np.multiply(rows, self.columns, dtype=np.intp) + columns
        picked = values.ravel().take(flat)
        return np.asarray((picked if factors is None else picked * factors).sum(axis=1))

    def good_plan(self, values: NDArray[np.float64], /) -> NDArray[np.int32]:
        """A plan that is good, or best, by known values of all cells, of which more is better."""
        return climbed_plan(self, values)

    def listed(self, plan: Sequence[int], /) -> list[tuple[int, int]]:
        """A plan as people read it: a row, position or vehicle (see `heads`), and what it gets."""
        return list(enumerate(plan))

    def listed_names(self, plan: Sequence[int], /) -> list[tuple[str, str]]:
        """The same in names; positions and vehicles have none and are counted from 1."""
        rows, columns = self.labels
        if self.between_places:
            return [(str(first + 1), columns[place]) for first, place in self.listed(plan)]
        return [(rows[row], columns[column]) for row, column in self.listed(plan)]

    def named_plan(self, plan: Sequence[int], /) -> list[tuple[str, str]] | None:
        """The cells of a plan in the problem's own names, or None where it has none."""
        if self.row_names is None and self.column_names is None:
            return None
        rows, columns = self.labels
        cells = self.cells(np.array([plan], dtype=np.int64))
        each = np.broadcast_arrays(*(part for part in cells if part is not None))
        lines = zip(*(part[0].tolist() for part in each), strict=True)
        return [(rows[row], columns[column]) for row, column, *factor in lines if factor != [0]]

    @property
    def labels(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The names of rows and columns, or their numbers. Places have one name for both."""
        rows, columns = self.row_names, self.column_names
        if self.between_places:
            rows = columns = rows or columns
        return (
            rows or tuple(map(str, range(self.rows))),
            columns or tuple(map(str, range(self.columns))),
        )

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
        return self.terms * self.objectives[objective].weight_bound
