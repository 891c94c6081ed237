"""tacit finds a near-optimal plan before the deadline without anybody seeing anybody's costs.

>>> import tacit
>>> problem = tacit.generate_assignment(1, rows=30)
>>> limits = tacit.Limits(generations=100)
>>> result = tacit.solve(problem, disclose="top:15", limits=limits, seed=1, engine="simulated")
>>> result.percent_of_optimum > 85
True

The names below are the public ones; what they need is imported when one of them is first used, so
that a node, which never searches, starts light.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

__version__ = "0.1.0"

if TYPE_CHECKING:
    from tacit.disclosure import parse_disclosure
    from tacit.errors import TacitError
    from tacit.problems import (
        Assignment,
        Objective,
        Participant,
        Problem,
        Tour,
        generate_assignment,
        generate_tour,
        load_problem,
        save_problem,
        shipped_problem,
    )
    from tacit.runs import (
        Limits,
        Result,
        SolveSettings,
        linear_sum_assignment,
        load_result,
        solve,
    )
    from tacit.search import SearchParameters
else:
    __getattr__ = lazily(__name__)
