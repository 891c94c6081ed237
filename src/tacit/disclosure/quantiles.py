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

    Where k does not divide n, sizes differ by one and the larger groups are spread evenly: the j
    worst groups together hold n j / k individuals, rounded up. Eleven in three quantiles make 3,
    4 and 4, as in the paper's Table 1; seven in five make 1, 1, 2, 1 and 2.

    >>> Quantiles(3).disclose(np.arange(11, 0, -1))
    array([0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2])
    >>> np.bincount(Quantiles(5).disclose(np.arange(7)))
    array([1, 1, 2, 1, 2])

    SQL's NTILE and numpy.array_split put all larger groups at one end (1, 1, 1, 2, 2). The paper
    says "approximately n/k". Here every border lies less than one individual from n j / k, which
    is what an estimator with equal distances assumes; theirs may lie k / 4 away. Agreements and
    logs of earlier runs have these groups, so another rule would be another disclosure.
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
