"""Prior knowledge of an attacker: the range of the costs, column effects, or costs of last week.

The models with few unknowns (a map, a schedule, few properties) are in `cost_models`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.audit.measure import Prior
from tacit.audit.platform_attacks import by_published_plans, by_what_is_disclosed, gene_frequency
from tacit.audit.view import Cells, View


class PriorKnowledge(Protocol):
    """The knowledge of an attacker before the run, beside the public problem."""

    @property
    def name(self) -> str:
        """The prior in a word or two, as tables name it."""
        ...

    @property
    def says(self) -> str:
        """The knowledge, as the end of the sentence "whoever knows ..."."""
        ...

    def guess(self, view: View, /) -> Cells:
        """The cells before anything of the run is known; zeros if nothing can be said of them."""
        ...

    def from_plan(self, view: View, /) -> Cells:
        """The cells once the plan is published."""
        ...

    def from_candidates(self, view: View, /) -> Cells | None:
        """The cells by the candidates alone, without any value."""
        ...

    def from_disclosed(self, view: View, found: Mapping[str, Cells], /) -> Cells | None:
        """The cells by what was disclosed; `found` has the estimates of the plain attacks."""
        ...


class NothingButTheRange:
    """The weights lie in their public range, and are independent: the plain attacks."""

    name = "range"
    says = "nothing but the public range"

    def guess(self, view: View, /) -> Cells:
        """Nothing."""
        return np.zeros(view.cell_count)

    def from_plan(self, view: View, /) -> Cells:
        """The cells of the plan are good; no other two cells differ, by symmetry."""
        cells = by_published_plans(view, {})
        assert cells is not None  # a plan is always there
        return cells

    def from_candidates(self, view: View, /) -> Cells | None:  # noqa: ARG002
        """Nothing beyond the plain attacks."""
        return None

    def from_disclosed(self, view: View, found: Mapping[str, Cells], /) -> Cells | None:  # noqa: ARG002
        """Nothing beyond the plain attacks."""
        return None


OWN_SHARE = 0.5
"""The weight of a cell of the plan, in units of that of its column."""


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
        # Exact values give columns away by themselves; in a square problem columns have no effect.
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


PLAN_TRUST = 1.0
"""The assumed improvement of a cell of the plan since last week, in units of the usual change."""


@dataclass(frozen=True, eq=False)
class LastWeek:
    """A matrix from which the secret one differs by independent changes."""

    weights: NDArray[np.float64]
    """As participants give them."""
    change: float
    """The spread of the changes."""
    name: str = "last week"
    says: str = "last week's costs"

    def guess(self, view: View, /) -> Cells:
        """The costs of last week."""
        return view.sign * self.weights.astype(np.float64).ravel()

    def from_plan(self, view: View, /) -> Cells:
        """The cells of the plan have become better, by about what usually changes."""
        plan = by_published_plans(view, {})
        assert plan is not None  # a plan is always there
        return self.guess(view) + PLAN_TRUST * self.change * plan

    def from_candidates(self, view: View, /) -> Cells | None:  # noqa: ARG002
        """Nothing beyond the plain attacks."""
        return None

    def from_disclosed(self, view: View, found: Mapping[str, Cells], /) -> Cells | None:  # noqa: ARG002
        """The most probable changes."""
        unit = self.change or 1.0
        # A cell's public range becomes that of its change.
        narrow = replace(view, weight_bound=max(round(unit * np.sqrt(12)), 1))
        mean = self.guess(view) / unit
        prior = Prior(mean - mean.mean(), np.ones(view.cell_count, dtype=np.bool_))
        return by_what_is_disclosed(narrow, prior=prior, found={})
