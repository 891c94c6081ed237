"""How good a set of plans is (the paper's section 4.4).

All functions take internal fitness, larger being better.
"""

from __future__ import annotations

import moocore
import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]


def relative_error(value: float, optimum: int, /) -> float:
    """How far a value lies from the optimum, as a share of it; 0 is optimal.

    >>> relative_error(95, 100), relative_error(105, 100)
    (0.05, 0.05)
    """
    return abs(optimum - value) / abs(optimum) if optimum else float(value != optimum)


def generational_distance_plus(found: Points, truth: Points, /) -> float:
    """GD+ (Ishibuchi et al. 2015): how far the found points fall short of the ground truth.

    The mean over found points of the distance to the nearest point of the truth, where only
    shortfalls count. It is IGD+ with the roles of the sets exchanged and both negated.

    >>> generational_distance_plus(np.array([[6.0, 8.0]]), np.array([[10.0, 5.0], [9.0, 12.0]]))
    4.0
    """
    return float(moocore.igd_plus(truth, ref=found, maximise=False))


def inverted_generational_distance_plus(found: Points, truth: Points, /) -> float:
    """IGD+ (Ishibuchi et al. 2015): how far the ground truth is from being covered.

    >>> inverted_generational_distance_plus(np.array([[6.0, 8.0]]), np.array([[10.0, 5.0]]))
    4.0
    """
    return float(moocore.igd_plus(found, ref=truth, maximise=True))


def normalized(points: Points, truth: Points, /) -> Points:
    """Points on a scale on which the ground truth's ideal is 1 and its nadir 0.

    The paper puts the ideal at 0 and the nadir at 1 and calls small values better; distances are
    the same.

    >>> normalized(np.array([[5.0, 1.0]]), np.array([[0.0, 2.0], [10.0, 0.0]]))
    array([[0.5, 0.5]])
    """
    nadir, ideal = truth.min(axis=0), truth.max(axis=0)
    return np.asarray((points - nadir) / np.where(ideal > nadir, ideal - nadir, 1.0))
