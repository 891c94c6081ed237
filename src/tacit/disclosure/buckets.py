"""`buckets:k`: which k-th of the fitness range (the paper's "Fitness Buckets")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.disclosure.method import Grouped


@dataclass(frozen=True)
class Buckets(Grouped):
    """Reveals the bucket of each individual, 0 for the best.

    With span = max - min, bucket 0 holds k*(max-f) <= span and bucket j holds
    j*span < k*(max-f) <= (j+1)*span. No division, so that the secure version is exact too.

    >>> Buckets(3).disclose(np.array([100, 67, 66, 34, 33, 0]))
    array([0, 0, 1, 1, 2, 2])
    """

    method: ClassVar[str] = "buckets"

    def disclose(self, fitness: NDArray[np.int64], /) -> NDArray[np.int64]:
        """The bucket of each individual; all in bucket 0 where all are equal."""
        best = fitness.max()
        span = best - fitness.min()
        if span == 0:
            return np.zeros(len(fitness), dtype=np.int64)
        # ceil(k*(max-f)/span) - 1, with the best itself (0) joining bucket 0.
        upper_edge = -((-self.groups * (best - fitness)) // span)
        return np.asarray(np.maximum(upper_edge - 1, 0), dtype=np.int64)
