"""The platform's view of a run whose objectives are evaluated together."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.audit import Recorder, record_of_result
from tacit.audit.view import view_of
from tacit.problems import generate_assignment
from tacit.runs import Limits, with_disclosures
from tacit.search import PRESETS
from tests.support.simulated import solve


@pytest.mark.parametrize(("text", "sizes"), [("top:4", [4, 16]), ("quantiles:4", [5, 5, 5, 5])])
def test_every_objective_has_the_groups_of_all_together(text: str, sizes: list[int]) -> None:
    problem = with_disclosures(generate_assignment(3, rows=6, objectives=2), f"pareto:{text}", None)
    recorder = Recorder()
    result = solve(
        problem,
        settings=PRESETS["paper-moap"].with_changes(population=10),
        limits=Limits(generations=3),
        seed=1,
        engine="simulated",
        observe=recorder,
    )
    record = record_of_result(problem, result, recorder)
    first, second = (view_of(record, k) for k in range(2))
    assert np.array_equal(first.levels, second.levels)
    assert first.disclosure == f"pareto:{text}"
    assert first.best is None
    assert np.bincount(first.levels[-20:]).tolist() == sizes
