"""`none`: the paper's "no obfuscation". Every fitness is revealed as it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.disclosure.estimation import Estimator, linear
from tacit.disclosure.method import Disclosure


@dataclass(frozen=True)
class Exact(Disclosure):
    """Reveals the exact fitness.

    >>> Exact().disclose(np.array([5, 9, 7]))
    array([5, 9, 7])
    """

    method: ClassVar[str] = "none"

    @property
    def text(self) -> str:
        """Always `none`."""
        return self.method

    def disclose(self, fitness: NDArray[np.int64], /) -> NDArray[np.int64]:
        """The fitness itself."""
        return fitness.copy()

    def levels(self, disclosed: NDArray[Any], /) -> NDArray[np.int64]:
        """How far each individual lies below the best.

        >>> Exact().levels(np.array([5, 9, 7]))
        array([4, 0, 2])
        """
        return np.asarray(disclosed.max() - disclosed, dtype=np.int64)

    def estimates(
        self,
        disclosed: NDArray[Any],
        /,
        *,
        best: int | None,  # noqa: ARG002
        estimator: Estimator = linear,  # noqa: ARG002
    ) -> NDArray[np.float64]:
        """The fitness itself: there is nothing to estimate.

        >>> Exact().estimates(np.array([5, 9]), best=None)
        array([5., 9.])
        """
        return disclosed.astype(np.float64)

    def distinct_values(self, individuals: int, /) -> int:
        """As many as there are individuals."""
        return individuals
