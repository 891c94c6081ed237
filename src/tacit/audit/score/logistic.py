"""The logistic loss of many observations at once, where attacks spend most of their time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

TOGETHER = 512
"""How many factors between 1 and 2 are multiplied before one logarithm of the product."""


def logistic_loss(ahead: NDArray[np.float64], /) -> tuple[float, NDArray[np.float64]]:
    """The sum of log(1 + exp(-ahead)), and how hard each observation pulls: 1/(1 + exp(ahead)).

    >>> loss, pull = logistic_loss(np.array([0.0, np.inf]))
    >>> round(loss, 3), pull.tolist()
    (0.693, [0.5, 0.0])
    """
    shrunk = np.exp(-np.abs(ahead))
    grown = 1 + shrunk
    pull = np.where(ahead > 0, shrunk, 1.0) / grown
    whole = len(grown) // TOGETHER * TOGETHER
    products = np.multiply.reduce(grown[:whole].reshape(-1, TOGETHER), axis=1)
    rest = np.multiply.reduce(grown[whole:])
    loss = float(np.log(products).sum() + np.log(rest) - np.minimum(ahead, 0).sum())
    return loss, pull
