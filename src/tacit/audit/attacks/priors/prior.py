"""What prior knowledge offers to an attack, and knowing nothing but the public range."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from tacit.audit.attacks.undisclosed import by_published_plans
from tacit.audit.record.view import Cells, View


class PriorKnowledge(Protocol):
    """What an attacker knows before the run, beside the public problem."""

    @property
    def name(self) -> str:
        """The prior in a word or two, as tables name it."""
        ...

    @property
    def says(self) -> str:
        """What is known, as the end of the sentence "whoever knows ..."."""
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
