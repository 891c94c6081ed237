"""`order`: the rank of every individual (the paper's "Order")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.disclosure.method import Disclosure, ranks


@dataclass(frozen=True)
class Order(Disclosure):
    """Reveals ranks, 0 for the best.

    >>> Order().disclose(np.array([5, 9, 7]))
    array([2, 0, 1])
    """

    method: ClassVar[str] = "order"

    @property
    def text(self) -> str:
        """Always `order`."""
        return self.method

    def disclose(self, fitness: NDArray[np.int64], /) -> NDArray[np.int64]:
        """The rank of each individual, a permutation of 0..n-1."""
        return ranks(fitness)

    def levels(self, disclosed: NDArray[Any], /) -> NDArray[np.int64]:
        """The ranks themselves."""
        return np.asarray(disclosed, dtype=np.int64)

    def distinct_values(self, individuals: int, /) -> int:
        """As many as there are individuals."""
        return individuals
