"""The control differs from the paper's studies in operators alone."""

from __future__ import annotations

import msgspec
import pytest
from studies.evaluation.study import shipped_study
from studies.report.agreement import StageScores
from studies.report.reproduction import paper_studies
from studies.report.results import COLUMNS
from studies.report.variants import (
    Agreement,
    agreement,
    control_of,
    control_table,
    smaller,
)


@pytest.mark.parametrize("name", ["ap", "tsp", "moap-one", "moap-two"])
def test_only_operators_differ(name: str) -> None:
    right, wrong = smaller(shipped_study(name)), control_of(shipped_study(name))
    settings = msgspec.to_builtins(right.search), msgspec.to_builtins(wrong.search)
    differing = {key for key in settings[0] if settings[0][key] != settings[1][key]}
    assert differing == {"crossover", "mutation"}
    assert wrong.name == f"control-{name}"
    assert msgspec.structs.replace(wrong, name=name, parameters={}) == right
    first, second = next(iter(right.jobs())), next(iter(wrong.jobs()))
    assert first.key != second.key
    whole = {job.key for job in shipped_study(name).jobs()}
    assert {job.key for job in right.jobs()} < whole


def test_the_control_is_a_quarter_of_the_evaluation_at_most() -> None:
    studies = paper_studies()
    runs = [
        sum(len(list(each.jobs())) for each in some)
        for some in (studies, [control_of(each) for each in studies])
    ]
    assert runs[1] * 4 < runs[0]


def test_the_table_has_both_measures_by_study() -> None:
    right = Agreement({"ap: range": True, "tsp: range": True}, {"tsp: final: none": 0.5})
    wrong = Agreement({"ap: range": True, "tsp: range": False}, {"tsp: final: none": -9.0})
    rows = {
        row[0].text: [cell.text for cell in row[1:]]
        for row in control_table(right, right, wrong).rows
    }
    assert rows["ap"] == ["1 of 1", "1 of 1", "1 of 1", "", "", "", "", "", ""]
    assert rows["tsp"][:3] == ["1 of 1", "1 of 1", "0 of 1"]
    assert rows["tsp"][3:6] == ["1 of 1", "1 of 1", "0 of 1"]
    assert rows["tsp"][6:] == ["0.50", "0.50", "9.00"]
    assert rows["all"][:3] == ["2 of 2", "2 of 2", "1 of 2"]


def test_the_initial_population_does_not_count() -> None:
    column = COLUMNS["tsp"]
    scored = [
        StageScores(column, stage, {"none": z}, 1.96, 1)
        for stage, z in (("initial", 0.1), ("final", 5.0), ("comparison", 4.0))
    ]
    assert list(agreement([], scored).scores.values()) == [5.0, 4.0]
