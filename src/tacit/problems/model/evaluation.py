"""The seam between search and evaluation: one synchronous call.

The search knows an `Evaluator` and never what stands behind it: plain arithmetic, a simulation of
the Privacy Engine, or three nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What one evaluation gives back."""

    estimates: NDArray[np.float64]
    """Estimated fitness, one row per candidate and one column per objective; larger is better."""

    disclosed: tuple[NDArray[Any], ...]
    """What each objective's disclosure revealed, as it was revealed."""

    best: tuple[int | bool | None, ...]
    """What each objective told of its best fitness."""


class Evaluator(Protocol):
    """Anything that can evaluate a set of candidate plans."""

    def evaluate(self, candidates: NDArray[np.int32], /, *, until: float | None) -> Evaluation:
        """Evaluate plans, one per row.

        `until` is an instant of `time.monotonic()` after which the answer is of no use; an
        evaluator that may wait must give up then.
        """
        ...
