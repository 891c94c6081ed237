"""The agreed search as a function of its seed and of what was disclosed: anybody can follow it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from tacit.engine.derived.agreed_search import (
        AgreedSearch,
        agreed_parameters,
        check_derivable,
        may_be_followed,
        with_public_weights,
    )
    from tacit.engine.derived.allowance import check_nodes_allow, objection
    from tacit.engine.derived.clear_exact import ClearExact
    from tacit.engine.derived.derived_search import DerivedSearch, Population
    from tacit.engine.derived.exact_time import fitted_exact
    from tacit.engine.derived.finish_time import (
        KnownTime,
        finish_rule,
        finished_course,
        fitted_search,
        step_seconds,
    )
    from tacit.engine.derived.start_time import clear_start, fitted_start, start_seconds
    from tacit.engine.derived.tour_time import fitted_tour, generation_seconds
else:
    __getattr__ = lazily(__name__)
