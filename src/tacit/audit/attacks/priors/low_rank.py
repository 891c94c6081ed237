"""Costs are products of a few properties of rows and columns: a matrix of low rank."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.audit.attacks.priors.cost_model import Unknowns, fit_model
from tacit.audit.attacks.priors.prior import NothingButTheRange
from tacit.audit.record.view import Cells, View
from tacit.audit.score.measure import as_matrix, cell_spread


@dataclass(frozen=True)
class LowRank(NothingButTheRange):
    """The rank is known, the properties are not; the plan tells what it always does."""

    rank: int = 3
    name: str = "low rank"
    says: str = "that costs depend on a few properties of rows and columns"

    def from_disclosed(self, view: View, found: Mapping[str, Cells], /) -> Cells | None:
        """Properties that explain the disclosures, from where the plain attack got."""
        first = [found[name] for name in ("equations", "pairwise", "pointwise") if name in found]
        if not first:
            return None
        start = as_matrix(view.problem, first[-1])
        rank = min(self.rank, *start.shape)
        return fit_model(view, ProductModel(start, rank, cell_spread(view)))


@dataclass(frozen=True, eq=False)
class ProductModel:
    """Cells as inner products."""

    first: NDArray[np.float64]
    """An estimate to start from."""
    rank: int
    unit: float
    stiffness: float = 1.0

    def starts(self, view: View, /) -> list[Unknowns]:  # noqa: ARG002
        """The largest singular vectors of the estimate, centred: constants cannot be seen."""
        centred = self.first - self.first.mean(axis=0)
        centred = centred - centred.mean(axis=1)[:, None]
        left, sizes, right = np.linalg.svd(centred, full_matrices=False)
        roots = np.sqrt(sizes[: self.rank])
        properties = (left[:, : self.rank] * roots, right[: self.rank].T * roots)
        return [np.concatenate(properties).ravel()]

    def _split(self, unknowns: Unknowns) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        properties = unknowns.reshape(-1, self.rank)
        return properties[: len(self.first)], properties[len(self.first) :]

    def cells(self, unknowns: Unknowns, /) -> Cells:
        """The inner products."""
        rows, columns = self._split(unknowns)
        return np.asarray(rows @ columns.T).ravel()

    def pulled(self, unknowns: Unknowns, by_cell: Cells, /) -> Unknowns:
        """Each side by the other."""
        rows, columns = self._split(unknowns)
        pull = by_cell.reshape(self.first.shape)
        return np.concatenate([pull @ columns, pull.T @ rows]).ravel()
