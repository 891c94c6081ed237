"""The distances between places come from a map, whose coordinates are unknown.

Places that follow each other on a good tour are near each other, and so are, less so, those a few
steps apart: a walk of k steps comes about as far as the root of k. By symmetry a tour through
places on a random map tells nothing beyond the number of steps between two of them.

Candidates tell the same, each a little, and disclosures are fitted by coordinates: two unknowns per
place instead of one per pair.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tacit.audit.attacks.priors.cost_model import Unknowns, fit_model
from tacit.audit.record.view import Cells, View
from tacit.audit.score.measure import cell_spread

Matrix = NDArray[np.float64]
SAMPLE = 400
"""Candidates whose steps are counted."""
BEST = 15
LEAST = 1e-9
"""Keeps the derivative finite where two places coincide."""


class OnAMap:
    """The cells are distances between places in the plane."""

    name = "map"
    says = "that distances come from a map"

    def guess(self, view: View, /) -> Cells:
        """Nothing: where the places lie is unknown."""
        return np.zeros(view.cell_count)

    def from_plan(self, view: View, /) -> Cells:
        """Minus the root of the steps between two places along the plan."""
        return -roots_of_steps(view, _published(view)).ravel()

    def from_candidates(self, view: View, /) -> Cells | None:
        """The same, averaged over candidates: those that survive are better than chance."""
        return -roots_of_steps(view, view.cells).ravel()

    def from_disclosed(self, view: View, found: Mapping[str, Cells], /) -> Cells | None:  # noqa: ARG002
        """Coordinates that explain the disclosures."""
        return fit_model(view, PlaceModel(view.problem.rows, cell_spread(view)))


def roots_of_steps(view: View, plans: NDArray[np.int32], /) -> Matrix:
    """The root of the steps between two places, averaged over plans (a sample, if many)."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import shortest_path

    places, total = view.problem.rows, np.zeros((view.problem.rows, view.problem.rows))
    chosen = np.unique(np.linspace(0, len(plans) - 1, min(SAMPLE, len(plans))).astype(np.int64))
    for cells in plans[chosen]:
        ends = np.divmod(cells, view.problem.columns)
        ways = csr_matrix((np.ones(len(cells)), ends), shape=(places, places))
        steps = shortest_path(ways, directed=False, unweighted=True)
        total += np.sqrt(np.minimum(steps, places))
    return total / len(chosen)


def _published(view: View) -> NDArray[np.int32]:
    """The cells of each published plan; a sealed search may open several."""
    return view.published.reshape(view.plans_published, -1)


def _best(view: View) -> NDArray[np.int64]:
    """Some candidates of each evaluation that none of it is known to be better than."""
    order = np.lexsort((view.levels, view.evaluation_of))
    starts = np.cumsum(view.sizes) - view.sizes
    return order[np.arange(len(order)) - starts[view.evaluation_of[order]] < BEST]


@dataclass(frozen=True, eq=False)
class PlaceModel:
    """Distances as a function of coordinates, in units of about their own spread."""

    places: int
    unit: float
    stiffness: float = 0.7
    """Coordinates spread a little more than distances do."""

    def starts(self, view: View, /) -> list[Unknowns]:
        """Maps on which the steps along the plan, or along the best candidates, are distances."""
        by_steps = [
            roots_of_steps(view, _published(view)),
            roots_of_steps(view, view.cells[_best(view)]),
        ]
        return [self._laid_out(each) for each in by_steps]

    def _laid_out(self, distances: Matrix) -> Unknowns:
        """Classical scaling to two dimensions."""
        squares = distances**2
        inner = -0.5 * (squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None])
        inner -= 0.5 * squares.mean()
        sizes, axes = np.linalg.eigh(inner)
        laid = axes[:, -2:] * np.sqrt(np.maximum(sizes[-2:], 0))
        apart = self._distances(laid)[self._pairs]
        return np.asarray(laid / (float(apart.std()) or 1.0)).ravel()

    @cached_property
    def _pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        one, other = np.triu_indices(self.places, 1)
        return one.astype(np.int64), other.astype(np.int64)

    def _distances(self, laid: Matrix) -> Matrix:
        apart = laid[:, None] - laid
        return np.asarray(np.sqrt((apart**2).sum(axis=2) + LEAST))

    def cells(self, unknowns: Unknowns, /) -> Cells:
        """The distances: near is good, be it as a cost or as a value."""
        return -self._distances(unknowns.reshape(-1, 2)).ravel()

    def pulled(self, unknowns: Unknowns, by_cell: Cells, /) -> Unknowns:
        """Along the line through each pair."""
        laid = unknowns.reshape(-1, 2)
        pull = -by_cell.reshape(self.places, self.places) / self._distances(laid)
        pull = pull + pull.T
        return np.asarray(pull.sum(axis=1)[:, None] * laid - pull @ laid).ravel()
