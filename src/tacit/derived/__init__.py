"""The agreed search as a function of its seed and of what was disclosed: anybody can follow it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from tacit.derived.agreed_search import (
        AgreedSearch,
        agreed_parameters,
        check_derivable,
        may_be_followed,
        with_public_weights,
    )
    from tacit.derived.allowance import check_nodes_allow, objection
    from tacit.derived.clear_assignment import ClearRun
    from tacit.derived.derived_search import DerivedSearch, Population
    from tacit.derived.timing import (
        KnownTime,
        fitted_assignment,
        fitted_tour,
        step_seconds,
        tour_length,
    )
else:
    __getattr__ = lazily(__name__)
