"""The figures for tuning in docs/experiments.md are those of the shipped trials."""

from __future__ import annotations

import pytest
from studies.evaluation.study import shipped_study
from studies.report.tuning_tables import tuning_record
from studies.tuning.tune import published_sets

from tests.support.repository import ROOT

EXPERIMENTS = (ROOT / "docs/experiments.md").read_text()


def row_of(first: str) -> list[str]:
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in EXPERIMENTS.splitlines()
        if line.startswith(f"| {first}")
    ]
    assert len(rows) == 1, first
    return rows[0]


def shown(values: tuple[float, ...], digits: int) -> str:
    return ", ".join(f"{value:.{digits}f}" for value in values)


@pytest.mark.parametrize(
    ("name", "study"), [("ap", "ap-wide"), ("tsp", "tsp-wide"), ("moap", "moap")]
)
def test_the_best_sets(name: str, study: str) -> None:
    record, preset = tuning_record(name), shipped_study(study).preset
    _, _, tuning, paper, evaluation, papers_there = row_of(f"`{study}` |")
    assert tuning == shown(record.best[0].values, 4)
    assert paper == shown(published_sets(name)[-1].values, 3)
    assert evaluation == shown(record.held_out["ours"], 4)
    assert papers_there == shown(record.held_out[preset], 4)


def test_when_the_papers_tour_set_was_found() -> None:
    trials = tuning_record("tsp").trials
    best = min(range(len(trials)), key=lambda k: trials[k][1])
    assert f"at trial {best + 1} of {len(trials)}" in EXPERIMENTS


def test_the_short_tuning_for_two_objectives() -> None:
    record, text = tuning_record("moap"), " ".join(EXPERIMENTS.split())
    plan = shipped_study("moap").tuning
    assert plan is not None
    assert f"but so far {len(record.trials)} trials in place of {plan.trials}" in text
    assert f"the first {record.task['random_trials']} at random" in text
    assert record.task["assessment"]["runs"] == 1
    ours, theirs = record.held_out["ours"], record.held_out["paper-moap"]
    assert ("the paper's are better in GD+" in text) == (theirs[0] < ours[0])


def test_the_sealed_set() -> None:
    record, study = tuning_record("sealed-tsp"), shipped_study("sealed-tsp")
    assert study.budget is not None
    first, _, tuning, evaluation, before = row_of("`sealed-tsp`,")
    assert f"{study.budget.seconds:.0f} s" in first
    assert tuning == percent(record.best[0].values)
    assert evaluation == percent(record.held_out["ours"])
    assert before.partition(" ")[0] == percent(record.held_out[study.preset])


def percent(values: tuple[float, ...]) -> str:
    return f"{100 * values[0]:.2f}"
