"""The study of objectives in one evaluation: figures, tables and what they say."""

from __future__ import annotations

import numpy as np
from studies.tables import ReportTable
from studies.together import (
    METRICS,
    LastValues,
    TogetherFigures,
    standings_of,
    together_blocks,
)

NONE = [np.array([100.0, 104.0, 98.0, 101.0, 99.0, 103.0]), np.array([50.0, 51, 49, 53, 52, 48])]


def values(top: float) -> LastValues:
    """Two instances; the claimed configurations are so many times what none is."""
    return {
        "none": NONE,
        "quantiles:5": [3 * each for each in NONE],
        "pareto:quantiles:20": NONE,
        "pareto:quantiles:5": [0.9 * each for each in NONE],
        "pareto:top:60": [NONE[0], top * NONE[1]],
    }


def figures(top: float) -> TogetherFigures:
    found = standings_of(values(top))
    return TogetherFigures(["one", "two"], 6, 500, dict.fromkeys(METRICS, found))


def test_each_is_beside_none_and_beside_its_own_kind_apart() -> None:
    found = standings_of(values(2.0))
    assert found["none"].ratio == 1
    assert found["none"].against_none.p == 1
    q5, top = found["pareto:quantiles:5"], found["pareto:top:60"]
    assert round(q5.ratio, 6) == 0.9
    assert q5.against_none.correlation == -1
    assert q5.against_none.p < 0.001
    assert q5.against_apart is not None
    assert q5.against_apart.correlation == -1
    assert [round(each, 6) for each in top.ratios] == [1, 2]
    assert top.against_none.correlation == 1  # pairs without a difference drop out
    assert top.against_apart is None  # top:60 apart was not run here


def test_the_section_says_whether_anything_is_lost() -> None:
    *_, lost = together_blocks(figures(2.0))
    assert isinstance(lost, str)
    assert "The largest is 1.33, more than the 1.1 that counts as no loss." in lost
    heading, _, table, _, kept = together_blocks(figures(1.1))
    assert heading == "## Several objectives in one evaluation"
    assert isinstance(kept, str)
    assert "at most the 1.1" in kept
    assert isinstance(table, ReportTable)
    row = [cell.text for cell in table.rows[3]]
    assert row[0] == "pareto:quantiles:5"
    assert row[2:] == ["0.90", "0.90 to 0.90", "-1.00, p < 0.001", "-1.00, p < 0.001"]
    assert table.rows[2][4].text == "0.00, p = 1.000"
    assert not table.rows[2][4].marked
