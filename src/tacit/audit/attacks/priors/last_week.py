"""Costs resemble others that became known: last week's, or those of a competitor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tacit.audit.attacks.disclosed import by_what_is_disclosed
from tacit.audit.attacks.undisclosed import by_published_plans
from tacit.audit.record.view import Cells, View
from tacit.audit.score.fit import Prior

PLAN_TRUST = 1.0
"""How much better than last week a cell of the plan is, in units of what usually changes."""


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
