"""Ridge regression on differences, with the disclosed number taken as fitness.

Each candidate minus one of its evaluation, against the difference of what was disclosed: ranks,
groups or true and false are used as if they were fitness. The simplest attack.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tacit.audit.record.view import Cells, View

RIDGE = 3.0
ITERATIONS = 200


def recover(view: View, found: Mapping[str, Cells], /) -> Cells | None:  # noqa: ARG001
    """Estimate the cells."""
    from scipy.sparse.linalg import lsqr

    disclosed = -view.levels.astype(np.float64)
    design = view.design
    if design.typical is not None:
        matrix, base = design.matrix, design.typical[view.evaluation_of]
    else:
        base = _random_members(view)
        matrix = design.matrix - design.matrix[base]
    differences = disclosed - disclosed[base]
    spread = float(differences.std())
    if spread == 0:
        return np.zeros(view.cell_count)
    return np.asarray(
        lsqr(matrix, differences / spread, damp=np.sqrt(RIDGE), iter_lim=ITERATIONS)[0]
    )


def _random_members(view: View) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    rng = np.random.Generator(np.random.PCG64(0))
    starts = np.cumsum(view.sizes) - view.sizes
    return np.asarray(
        starts[view.evaluation_of] + rng.random(len(view.levels)) * view.sizes[view.evaluation_of]
    ).astype(np.int64)
