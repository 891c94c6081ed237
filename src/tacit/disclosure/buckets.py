"""`buckets:k`: which k-th of the fitness range (the paper's "Fitness Buckets")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.disclosure.method import Disclosure


@dataclass(frozen=True)
class Buckets(Disclosure):
    """Reveals the bucket of each individual, 0 for the best.

    With span = max - min, bucket 0 holds k*(max-f) <= span and bucket j holds
    j*span < k*(max-f) <= (j+1)*span. No division, so that the secure version is exact too.

    >>> Buckets(3).disclose(np.array([100, 67, 66, 34, 33, 0]))
    array([0, 0, 1, 1, 2, 2])
    """

    groups: int
    method: ClassVar[str] = "buckets"

    @property
    def text(self) -> str:
        """Such as `buckets:5`."""
        return f"{self.method}:{self.groups}"

    @property
    def least_individuals(self) -> int:
        """One individual per bucket."""
        return self.groups

    def disclose(self, fitness: NDArray[np.int64], /) -> NDArray[np.int64]:
        """The bucket of each individual; all in bucket 0 where all are equal."""
        best = fitness.max()
        span = best - fitness.min()
        if span == 0:
            return np.zeros(len(fitness), dtype=np.int64)
        # ceil(k*(max-f)/span) - 1, with the best itself (0) joining bucket 0.
        upper_edge = -((-self.groups * (best - fitness)) // span)
        return np.asarray(np.maximum(upper_edge - 1, 0), dtype=np.int64)

    def levels(self, disclosed: NDArray[Any], /) -> NDArray[np.int64]:
        """The buckets themselves."""
        return np.asarray(disclosed, dtype=np.int64)

    def distinct_values(self, individuals: int, /) -> int:  # noqa: ARG002
        """The number of buckets."""
        return self.groups
