"""What is said of a plan that a search opened before its finish began."""

from __future__ import annotations

import numpy as np

from tacit.engine.records import FORBIDDEN_PAIRS, outcome_word
from tests.engine.sealed_agreed_cluster import partly_forbidden


def test_a_plan_with_forbidden_pairs_is_not_called_feasible() -> None:
    problem = partly_forbidden()
    assert problem.forbidden is not None
    allowed = [int(np.flatnonzero(~line)[0]) for line in problem.forbidden]
    taken = [int(np.flatnonzero(problem.forbidden[0])[0]), *allowed[1:]]
    assert outcome_word("feasible", allowed, problem) == "feasible"
    assert outcome_word("feasible", taken, problem) == FORBIDDEN_PAIRS
    assert outcome_word(None, taken, problem) is None
