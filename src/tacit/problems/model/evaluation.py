"""The seam between search and evaluation: one synchronous call, which gives this back.

The search never knows what stands behind it: plain arithmetic, a simulation of the Privacy Engine,
or nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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
