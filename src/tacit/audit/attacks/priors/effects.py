"""Some columns are better for everybody: a cell has a part that belongs to its column.

Where every column is used, such parts cancel out for everybody. With more columns than rows they
count, and the plan shows them: columns that nobody got are bad ones.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tacit.audit.attacks.disclosed import by_what_is_disclosed
from tacit.audit.attacks.priors.prior import NothingButTheRange
from tacit.audit.attacks.undisclosed import gene_frequency
from tacit.audit.record.view import Cells, View
from tacit.audit.score.fit import Prior

OWN_SHARE = 0.5
"""How much more than its column's a cell of the plan counts."""


class ColumnEffects(NothingButTheRange):
    """Columns differ, by how much is unknown."""

    name = "effects"
    says = "that some columns are better for everybody"

    def from_plan(self, view: View, /) -> Cells:
        """Columns that somebody got are good, and a little more so for whoever got them."""
        own = super().from_plan(view).reshape(view.problem.rows, view.problem.columns)
        return np.asarray(own.max(axis=0) + OWN_SHARE * own).ravel()

    def from_disclosed(self, view: View, found: Mapping[str, Cells], /) -> Cells | None:
        """The plain attack again, with what plan and candidates tell of columns as the prior."""
        if view.values is not None or view.problem.rows == view.problem.columns:
            return None
        plan = _standardized(self.from_plan(view))
        often = gene_frequency(view).reshape(view.problem.rows, view.problem.columns)
        columns = np.broadcast_to(often.mean(axis=0), often.shape).ravel()
        mean = _standardized(plan + _standardized(columns))
        prior = Prior(mean, np.ones(view.cell_count, dtype=np.bool_))
        return by_what_is_disclosed(view, prior=prior, found=found)


def _standardized(cells: Cells) -> Cells:
    return np.asarray((cells - cells.mean()) / (float(cells.std()) or 1.0))
