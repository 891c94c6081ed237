"""A participant that is curious, or colludes with the platform: it knows its own rows.

They calibrate all other cells. The score is measured on the other rows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tacit.audit.attacks.disclosed import by_what_is_disclosed
from tacit.audit.record.view import Cells, View
from tacit.audit.score.fit import Prior
from tacit.audit.score.measure import cells_that_count


def recover(view: View, weights: NDArray[np.float64], rows: tuple[int, ...], /) -> Cells:
    """Estimate the cells; of `weights` only these `rows` are used."""
    unknown = cells_that_count(view.problem, rows)
    known = cells_that_count(view.problem) & ~unknown
    spread, middle = float(weights[known].std()) or 1.0, float(weights[known].mean())
    mean = np.where(known, (weights - middle) / spread, 0.0).ravel()
    # The spread of its own rows is a better guess than the public range.
    informed = replace(view, weight_bound=round(spread * np.sqrt(12)))
    prior = Prior(mean, unknown.ravel())
    return by_what_is_disclosed(informed, prior=prior, found={})
