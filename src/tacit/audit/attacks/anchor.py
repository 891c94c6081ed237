"""Anchored attacks: a disclosed best value puts the best groups on one scale.

Each evaluation with a disclosed best value is one more equation: the mean of its best group has
about this value. The prior is narrowed by these equations before groups or pairs are fitted. The
public range of the weights bounds the cells, too; where the disclosures say little about a cell,
its survival frequency decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt

import numpy as np

from tacit.audit.attacks.disclosed import by_what_is_disclosed
from tacit.audit.attacks.undisclosed import gene_frequency
from tacit.audit.record.view import Cells, View
from tacit.audit.score.fit import Prior
from tacit.audit.score.measure import cell_spread

MOST_EQUATIONS = 200
ITERATIONS = 60
HALF_RANGE = sqrt(3)
"""Half of the range, in units of the spread of a cell that is uniform in it."""
TRUST = 0.3
"""The weight of the frequency: about the correlation that it reaches by itself."""


def recover(view: View, found: Mapping[str, Cells], /) -> Cells | None:
    """Estimate the cells, or None where no best value is disclosed or all values are."""
    return _anchored(view, found)


def recover_in_range(view: View, found: Mapping[str, Cells], /) -> Cells | None:
    """Estimate cells of which none lies outside of the public range."""
    return _anchored(view, found, limit=HALF_RANGE)


def recover_combined(view: View, found: Mapping[str, Cells], /) -> Cells | None:
    """Take surviving genes as the prior's mean; None where values are exact."""
    if view.values is not None:
        return None
    prior = anchored_prior(view, TRUST * gene_frequency(view))
    return by_what_is_disclosed(view, prior=prior, found=found, iterations=ITERATIONS)


def _anchored(
    view: View, found: Mapping[str, Cells], *, limit: float | None = None
) -> Cells | None:
    if view.best is None or view.values is not None:
        return None
    prior = anchored_prior(view, np.zeros(view.cell_count))
    return by_what_is_disclosed(view, prior=prior, found=found, iterations=ITERATIONS, limit=limit)


def anchored_prior(view: View, mean: Cells, /) -> Prior:
    """The prior conditioned on the disclosed best values."""
    everything = np.ones(view.cell_count, dtype=np.bool_)
    if view.best is None:
        return Prior(mean, everything)
    chosen = np.unique(
        np.linspace(0, view.evaluations - 1, min(MOST_EQUATIONS, view.evaluations)).astype(np.int64)
    )
    groups = _mean_of_best_group(view)[chosen]
    middle = view.sign * view.problem.plan_length * view.weight_bound / 2
    values = (view.best[chosen] - middle) / cell_spread(view)
    # A best group is spread around its mean; ranks identify the best one.
    noise = 0.1 if view.disclosure == "order" else 1.0
    gram = groups @ groups.T
    sizes, turned = np.linalg.eigh(gram)
    kept = sizes > 1e-8 * sizes.max()
    sizes, turned = sizes[kept], turned[:, kept]
    directions = (turned / np.sqrt(sizes)).T @ groups
    moved = groups.T @ np.linalg.solve(gram + noise**2 * np.eye(len(gram)), values - groups @ mean)
    return Prior(mean + moved, everything, directions, 1 - 1 / np.sqrt(1 + sizes / noise**2))


def _mean_of_best_group(view: View) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Per evaluation the mean of its best group, as cells."""
    best = np.flatnonzero(view.levels == 0)
    group = view.evaluation_of[best]
    share = 1 / np.bincount(group, minlength=view.evaluations)
    width = view.cells.shape[1]
    means = np.zeros((view.evaluations, view.cell_count))
    places = (np.repeat(group, width), view.cells[best].ravel())
    np.add.at(means, places, np.repeat(share[group], width))
    return means
