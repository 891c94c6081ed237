"""The attacker's own scale: from the units of an estimate to those of the weights."""

from __future__ import annotations

import numpy as np

from tacit.audit.record.view import Cells, View


def cell_spread(view: View, /) -> float:
    """The spread of a cell if all of the public range were equally likely."""
    return float(view.weight_bound / np.sqrt(12)) or 1.0


def unit_of(view: View, estimate: Cells, /) -> float:
    """The factor from an estimate to weights, as far as the view determines it.

    The slope of fitness, or of disclosed best values, over what the estimate gives for the same
    candidates; without any disclosed value the public range decides.
    """
    if view.values is None and (view.best is None or view.evaluations < 3):
        return cell_spread(view) / max(float(estimate.std()), 1.0)
    scores = estimate[view.cells].sum(axis=1)
    if view.values is not None:
        given, disclosed = scores, view.values
    else:
        rated = np.where(view.levels == 0, scores, -np.inf)
        starts = np.cumsum(view.sizes) - view.sizes
        given, disclosed = np.maximum.reduceat(rated, starts), np.asarray(view.best)
    varied = given - given.mean()
    power = float(varied @ varied)
    return float(varied @ disclosed) / power if power > 0 else cell_spread(view)
