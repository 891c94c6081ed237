"""The agreed search as a function of its seed and of what was disclosed: anybody can follow it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from tacit.derived.agreed_search import (
        AgreedSearch,
        DerivedSearch,
        Population,
        agreed_parameters,
        check_derivable,
        check_nodes_allow,
        may_be_followed,
        objection,
        with_public_weights,
    )
    from tacit.derived.clear_assignment import ClearRun
    from tacit.derived.timing import (
        KnownTime,
        fitted_assignment,
        fitted_tour,
        step_seconds,
        tour_length,
    )
else:
    __getattr__ = lazily(__name__)
