"""`quantiles:k`: which of k equal groups by rank (the paper's "Order Quantiles")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.disclosure.method import Grouped, ranks


@dataclass(frozen=True)
class Quantiles(Grouped):
    """Reveals the quantile of each individual, 0 for the best.

    Where n is not a multiple of k the best groups are the smaller ones, as in the paper's
    Table 1: eleven individuals in three quantiles make 3, 4 and 4.

    >>> Quantiles(3).disclose(np.arange(11, 0, -1))
    array([0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2])
    """

    method: ClassVar[str] = "quantiles"

    def group_of_rank(self, rank: NDArray[np.int64], individuals: int, /) -> NDArray[np.int64]:
        """The quantile that each rank falls into.

        >>> Quantiles(2).group_of_rank(np.arange(5), 5)
        array([0, 0, 1, 1, 1])
        """
        return self.groups - 1 - ((individuals - 1 - rank) * self.groups) // individuals

    def disclose(self, fitness: NDArray[np.int64], /) -> NDArray[np.int64]:
        """The quantile of each individual."""
        return self.group_of_rank(ranks(fitness), len(fitness))
