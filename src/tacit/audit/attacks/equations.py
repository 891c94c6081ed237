"""Linear equations: an exact fitness is a sum of cells, and hundreds of sums determine them.

Least squares with a tiny ridge, by LSQR on scaled columns. Fitness is on one scale throughout a
run, so typical candidates of consecutive evaluations are compared, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tacit.audit.record.design import one_hot
from tacit.audit.record.view import Cells, View
from tacit.audit.score.fit import Prior, flat_prior
from tacit.audit.score.measure import cell_spread

NOISE = 0.01
ITERATIONS = 400


def recover(view: View, found: Mapping[str, Cells], /) -> Cells | None:  # noqa: ARG001
    """Estimate the cells, or None where values are not exact."""
    if view.values is None:
        return None
    return by_equations(view, prior=flat_prior(view.cell_count))


def by_equations(view: View, /, *, prior: Prior, iterations: int = ITERATIONS) -> Cells:
    """The same with a prior."""
    from scipy.sparse import diags
    from scipy.sparse.linalg import lsqr

    matrix, sums = _system(view)
    sums = sums / cell_spread(view) - matrix @ prior.mean
    scale = prior.unknown / np.sqrt(NOISE**2 + view.design.visits)
    solved = lsqr(matrix @ diags(scale), sums, damp=NOISE, iter_lim=iterations)[0]
    return np.asarray(prior.mean + solved * scale)


def _system(view: View) -> tuple[Any, Any]:
    from scipy.sparse import vstack

    design, values = view.design, view.exact_values
    if design.typical is None:
        return design.matrix, values - values.mean()
    typical = one_hot(view.cells[design.typical], view.cell_count)
    base = values[design.typical]
    steps, rises = typical[1:] - typical[:-1], np.diff(base)
    return (
        vstack([design.matrix, steps]).tocsr(),
        np.concatenate([values - base[view.evaluation_of], rises]),
    )
