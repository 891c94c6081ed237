"""Rows and columns are places on one map, and a cell is the distance: vehicles and calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.audit.attacks.priors.cost_model import Unknowns, fit_model
from tacit.audit.attacks.priors.on_a_map import LEAST
from tacit.audit.attacks.priors.prior import NothingButTheRange
from tacit.audit.record.view import Cells, View
from tacit.audit.score.measure import as_matrix, cell_spread


class RowsAndColumnsOnAMap(NothingButTheRange):
    """Both kinds of places are unknown, so by symmetry the plan tells what it always does."""

    name = "places"
    says = "that costs are distances between places"

    def from_disclosed(self, view: View, found: Mapping[str, Cells], /) -> Cells | None:
        """Coordinates of both that explain the disclosures, from where the plain attack got."""
        first = [found[name] for name in ("equations", "pairwise", "pointwise") if name in found]
        start = np.zeros(view.cell_count) if not first else first[-1]
        return fit_model(view, MeetingModel(as_matrix(view.problem, start), view))


@dataclass(frozen=True, eq=False)
class MeetingModel:
    """Distances between two sets of places."""

    first: NDArray[np.float64]
    """An estimate to start from."""
    view: View
    stiffness: float = 0.7

    @property
    def unit(self) -> float:
        """About the spread of a distance."""
        return cell_spread(self.view)

    def starts(self, view: View, /) -> list[Unknowns]:
        """Unfolding of a first estimate, and of the plan alone: partners lie together.

        Squared distances, rows and columns centred, are minus twice the inner products.
        """
        plan = np.zeros(view.cell_count)
        plan[view.published] = 1.0
        return [self._unfolded(each) for each in (self.first, plan.reshape(self.first.shape))]

    def _unfolded(self, estimate: NDArray[np.float64]) -> Unknowns:
        inner = estimate - estimate.mean(axis=0) - estimate.mean(axis=1)[:, None]
        inner = inner + estimate.mean()
        left, sizes, right = np.linalg.svd(inner, full_matrices=False)
        roots = np.sqrt(sizes[:2])
        laid = np.concatenate([left[:, :2] * roots, right[:2].T * roots])
        spread = float(laid.std()) or 1.0
        return np.asarray(laid / spread).ravel()

    def _apart(self, unknowns: Unknowns) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        laid = unknowns.reshape(-1, 2)
        rows = self.first.shape[0]
        apart = laid[:rows, None] - laid[None, rows:]
        return apart, np.sqrt((apart**2).sum(axis=2) + LEAST)

    def cells(self, unknowns: Unknowns, /) -> Cells:
        """The distances: near is good, be it as a cost or as a value."""
        return np.asarray(-self._apart(unknowns)[1].ravel())

    def pulled(self, unknowns: Unknowns, by_cell: Cells, /) -> Unknowns:
        """Along the line through each pair."""
        apart, distances = self._apart(unknowns)
        pull = (-by_cell.reshape(distances.shape) / distances)[:, :, None] * apart
        return np.concatenate([pull.sum(axis=1), -pull.sum(axis=0)]).ravel()
