"""How good a set of plans is (the paper's section 4.4).

All functions take internal fitness, larger being better.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.jit import kernel

Points = NDArray[np.float64]


def relative_error(value: float, optimum: int, /) -> float:
    """How far a value lies from the optimum, as a share of it; 0 is optimal.

    >>> relative_error(95, 100), relative_error(105, 100)
    (0.05, 0.05)
    """
    return abs(optimum - value) / abs(optimum) if optimum else float(value != optimum)


@kernel
def distances_plus(found: Points, truth: Points) -> tuple[float, float]:
    """GD+ and IGD+ (Ishibuchi et al. 2015), where only shortfalls count.

    GD+ is the mean over found points of the distance to the nearest point of the truth; IGD+ the
    mean over the truth of the distance to the nearest found point. Both are taken of every
    generation, so in one pass; a library that takes one at a time is their peer in the tests.

    >>> distances_plus(np.array([[6.0, 8.0]]), np.array([[10.0, 5.0], [9.0, 12.0]]))
    (4.0, 4.5)
    """
    from_found = np.full(found.shape[0], np.inf)
    from_truth = np.full(truth.shape[0], np.inf)
    for i in range(found.shape[0]):
        for j in range(truth.shape[0]):
            square = 0.0
            for k in range(found.shape[1]):
                short = truth[j, k] - found[i, k]
                if short > 0.0:
                    square += short * short
            from_found[i] = min(from_found[i], square)
            from_truth[j] = min(from_truth[j], square)
    return np.sqrt(from_found).mean(), np.sqrt(from_truth).mean()


def normalized(points: Points, truth: Points, /) -> Points:
    """Points on a scale on which the ground truth's ideal is 1 and its nadir 0.

    The paper puts the ideal at 0 and the nadir at 1 and calls small values better; distances are
    the same.

    >>> normalized(np.array([[5.0, 1.0]]), np.array([[0.0, 2.0], [10.0, 0.0]]))
    array([[0.5, 0.5]])
    """
    nadir, ideal = truth.min(axis=0), truth.max(axis=0)
    return np.asarray((points - nadir) / np.where(ideal > nadir, ideal - nadir, 1.0))
