"""The public range of the weights as side information: no cell lies outside of it.

Beside the bounds, the range gives the scale of the disclosed best values (see `anchor`).
"""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt

import numpy as np

from tacit.audit.attacks.anchor import ITERATIONS, anchored_prior
from tacit.audit.attacks.disclosed import by_what_is_disclosed
from tacit.audit.record.view import Cells, View

HALF_RANGE = sqrt(3)
"""Half of the range, in units of the spread of a cell that is uniform in it."""


def recover(view: View, found: Mapping[str, Cells], /) -> Cells | None:
    """Estimate the cells, or None where the scale is unknown or equations determine all."""
    if view.best is None or view.values is not None:
        return None
    return by_what_is_disclosed(
        view,
        prior=anchored_prior(view, np.zeros(view.cell_count)),
        found=found,
        iterations=ITERATIONS,
        limit=HALF_RANGE,
    )
