"""Truncation: the best survive."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def truncation(estimates: NDArray[np.float64], survivors: int, /) -> NDArray[np.int64]:
    """The indices of the best, best first; ties go to the lower index.

    >>> truncation(np.array([1.0, 3.0, 2.0, 3.0]), 3)
    array([1, 3, 2])
    """
    return np.argsort(-estimates, kind="stable")[:survivors]
