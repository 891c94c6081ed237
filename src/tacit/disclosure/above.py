"""`above:p`: whether fitness reaches p % of the range (the paper's "Above Threshold")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.disclosure.method import Disclosure, ranks

ALWAYS_TRUE = 3
"""The best three are always true, so that a single best individual is never identified."""


@dataclass(frozen=True)
class Above(Disclosure):
    """Reveals true where 100*(f-min) >= p*span, and for the three best in any case.

    >>> Above(70).disclose(np.array([100, 70, 69, 0]))
    array([ True,  True,  True, False])
    """

    percent: int
    method: ClassVar[str] = "above"

    @property
    def tells_flags(self) -> bool:
        """Always."""
        return True

    @property
    def text(self) -> str:
        """Such as `above:80`."""
        return f"{self.method}:{self.percent}"

    def disclose(self, fitness: NDArray[np.int64], /) -> NDArray[np.bool_]:
        """True for those at or above the threshold, and for the three best."""
        worst = fitness.min()
        span = fitness.max() - worst
        reaches = 100 * (fitness - worst) >= self.percent * span
        return np.asarray(reaches | (ranks(fitness) < ALWAYS_TRUE))

    def levels(self, disclosed: NDArray[Any], /) -> NDArray[np.int64]:
        """0 for true, 1 for false."""
        return np.asarray(~disclosed, dtype=np.int64)

    def distinct_values(self, individuals: int, /) -> int:  # noqa: ARG002
        """Two: true and false."""
        return 2
