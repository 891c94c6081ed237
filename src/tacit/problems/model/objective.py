"""One objective: a weight matrix, which way is better, and what may be disclosed of it."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from math import ceil
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tacit.disclosure import BestMode, Disclosure, Exact, Unsaid
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
        weights.setflags(write=False)
        object.__setattr__(self, "weights", weights)
        if self.weight_bound < 0:
            object.__setattr__(self, "weight_bound", int(weights.max(initial=0)))
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
    def tells_values(self) -> bool:
        """Whether an evaluation tells the best fitness as a number.

        >>> Objective("pay", None, weight_bound=9).tells_values
        True
        """
        exact = not self.confidential or isinstance(self.disclosure, Exact)
        return exact or self.best_mode is BestMode.VALUE
