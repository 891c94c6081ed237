"""`top:k`: whether an individual is among the k best (the paper's "Top Individuals")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.disclosure.method import Disclosure, ranks


@dataclass(frozen=True)
class Top(Disclosure):
    """Reveals true for exactly k individuals.

    >>> Top(2).disclose(np.array([7, 9, 7]))
    array([ True,  True, False])
    """

    count: int
    method: ClassVar[str] = "top"

    @property
    def tells_flags(self) -> bool:
        """Always."""
        return True

    @property
    def text(self) -> str:
        """Such as `top:15`."""
        return f"{self.method}:{self.count}"

    @property
    def least_individuals(self) -> int:
        """At least k."""
        return self.count

    def disclose(self, fitness: NDArray[np.int64], /) -> NDArray[np.bool_]:
        """True for the k best."""
        return np.asarray(ranks(fitness) < self.count)

    def levels(self, disclosed: NDArray[Any], /) -> NDArray[np.int64]:
        """0 for true, 1 for false."""
        return np.asarray(~disclosed, dtype=np.int64)

    def distinct_values(self, individuals: int, /) -> int:  # noqa: ARG002
        """Two: true and false."""
        return 2
