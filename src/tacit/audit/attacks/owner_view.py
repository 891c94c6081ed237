"""An owner, or several together, where the plan is for its owners: it knows its own rows of it.

It knows the costs of these rows, too, and so which columns it would have liked better than its own:
somebody else wanted those. All of it is about columns, and of no other row in particular. Where
there are as many rows as columns, that cannot be told from a constant per column, which changes no
plan; so the score is 0 exactly.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tacit.audit.record.view import Cells


def recover(weights: NDArray[np.float64], own: Mapping[int, int], /) -> dict[str, Cells]:
    """Estimates of the others' cells; of `weights` only the rows of `own`, its plan, are used."""
    rows = list(own)
    taken = np.zeros(weights.shape[1])
    taken[list(own.values())] = -1.0
    wanted = np.zeros(weights.shape[1])
    for row, column in own.items():
        wanted = np.maximum(wanted, weights[row] - weights[row, column])
    estimates = {"left to the others": taken, "wanted by others": wanted}
    found = {name: np.tile(each, (weights.shape[0], 1)) for name, each in estimates.items()}
    for each in found.values():
        each[rows] = 0.0
    return {name: each.ravel() for name, each in found.items()}
