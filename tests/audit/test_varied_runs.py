"""The figures of plans of many runs are those that were measured, and can be measured again."""

from __future__ import annotations

import pytest
from studies.benchmarks.varied_runs import PARTS, RUNS, Figure, measure, read, table, worst

from tacit.audit.varied_runs import BY_MASKS, BY_SIZES, told_by_plans
from tacit.audit.varied_runs import RUNS as TABLE_RUNS
from tests.support.repository import ROOT

FIGURES = read(ROOT / "docs/figures/varied-runs.json")


def test_the_shipped_table_is_the_measured_one() -> None:
    assert TABLE_RUNS == RUNS
    for kind, shipped in (("masks", BY_MASKS), ("sizes", BY_SIZES)):
        assert tuple(shipped) == PARTS
        for at, count in enumerate(RUNS):
            most = 0.0
            for part in PARTS:
                most = max(most, worst(FIGURES, part, count, kind=kind))
                assert shipped[part][at] == pytest.approx(most, abs=0.0051)


def test_the_document_has_the_table() -> None:
    text = (ROOT / "docs/leakage.md").read_text()
    assert [row for row in table(FIGURES) if row not in text] == []


@pytest.mark.parametrize("kind", ["masks", "sizes"])
def test_the_figures_can_be_measured_again(kind: str) -> None:
    def key(each: Figure) -> tuple[object, ...]:
        return each.family, each.kind, each.part, each.runs

    known = {key(each): each.learned for each in FIGURES}
    for each in measure("ap", 40, kind, 1 / 2, seeds=1, runs=(1, 30)):
        assert each.learned == pytest.approx(known[key(each)], abs=0.08)


def test_more_runs_and_larger_parts_tell_more() -> None:
    for way in ("masks", "sizes"):
        parts = [{"masks": 0.0, "sizes": 0.0, way: part} for part in (0.0, 0.01, 0.1, 0.4, 1.0)]
        figures = [[told_by_plans(runs, **each) for runs in (1, 7, 50, 10**6)] for each in parts]
        for line in figures:
            assert line == sorted(line)
        for column in zip(*figures, strict=True):
            assert list(column) == sorted(column)
    assert told_by_plans(10**6, masks=0.0, sizes=0.0) == told_by_plans(1, masks=1.0, sizes=1.0)
