"""Figures that documents cite on algorithm and disclosure are those that the study wrote."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

import msgspec
import pytest
from studies.ablation.study import shipped_ablation
from studies.ablation.summary import (
    NAMES,
    AblationFigures,
    Effects,
    ablation_blocks,
    by_setting,
    effects_of,
)
from studies.tables import ReportPage

from tests.support.repository import ROOT

INSTANCES = {"D": "kroD100", "E": "kroE100"}
SECONDS = 5
"""Figures are cited within this budget, without delay."""

# {instance; effect} stands for a factor.
CITED = [
    "ahead of the genetic algorithm on both tours, by factors of {D; algorithm_open} and "
    "{E; algorithm_open}",
    "multiplies its gap by {D; sealing} and {E; sealing}",
    "multiply the gap of the genetic algorithm by {D; limits_genetic} and {E; limits_genetic}, and "
    "that of annealing by {D; limits_annealing} and {E; limits_annealing}",
]


@cache
def figures() -> list[AblationFigures]:
    written = (files("studies") / "data" / "ablation.json").read_bytes()
    return msgspec.convert(msgspec.json.decode(written)["cells"], list[AblationFigures])


@cache
def effects(instance: str) -> Effects:
    (found,) = (
        cells
        for key, cells in by_setting(figures()).items()
        if (key.instance, key.seconds, key.latency_ms) == (instance, SECONDS, 0)
    )
    return effects_of(found)


def section() -> str:
    text = (ROOT / "docs/experiments.md").read_text()
    return text.split("## Algorithm or disclosure?")[1].split("\n## ")[0]


def cited(phrase: str) -> str:
    """The phrase with the figures of the study."""

    def factor(place: re.Match[str]) -> str:
        instance, effect = (part.strip() for part in place[1].split(";"))
        return f"{getattr(effects(INSTANCES[instance]), effect):.1f}"

    return re.sub(r"\{([^}]*)\}", factor, phrase)


@pytest.mark.parametrize("phrase", CITED)
def test_the_section_cites_the_measured_factors(phrase: str) -> None:
    text = " ".join(section().split())
    assert cited(phrase) in text, f"docs/experiments.md should say: {cited(phrase)}"


@pytest.mark.parametrize(("algorithm", "disclosure"), shipped_ablation().columns())
def test_the_section_has_the_measured_gaps(algorithm: str, disclosure: str) -> None:
    medians = {
        each.instance: f"{each.median:.2f}"
        for each in figures()
        if (each.algorithm, each.disclosure) == (algorithm, disclosure)
        and (each.seconds, each.latency_ms) == (SECONDS, 0)
    }
    shown = " | ".join(medians[instance] for instance in INSTANCES.values())
    row = f"| {NAMES[algorithm]} | `{disclosure}` | {shown} |"
    assert row in section().splitlines(), f"docs/experiments.md should say: {row}"


Gaps = dict[tuple[str, str], float]


def gaps(*, longer: bool = False) -> list[Gaps]:
    """Median gaps in every setting, or in those of the longer budgets."""
    budgets = [max(clock.budgets) for clock in shipped_ablation().clocks]
    return [
        {column: each.median for column, each in cells.items()}
        for key, cells in by_setting(figures()).items()
        if not longer or key.seconds in budgets
    ]


def test_what_the_section_says_of_every_budget_and_delay_holds() -> None:
    for each in gaps():
        assert each["annealing", "none"] < each["genetic", "none"]


def test_what_the_section_says_of_the_longer_budgets_holds() -> None:
    for each in gaps(longer=True):
        for text in ("quantiles:20", "top:15"):
            assert each["genetic", text] < each["annealing", text]
        assert each["annealing", "order"] < each["genetic", "order"]


def test_what_the_section_says_of_short_tours_holds() -> None:
    short = [
        each.median
        for each in figures()
        if (each.algorithm, each.disclosure) == ("annealing", "sealed")
        and (each.seconds, each.latency_ms) in ((1, 0), (10, 10))
    ]
    assert len(short) == 4
    assert min(short) > 80


def test_the_documented_tables_are_made_of_the_data() -> None:
    study = shipped_ablation()
    page = ReportPage(study.title, ablation_blocks(study, figures())).markdown()
    assert (ROOT / "docs/ablation/tables.md").read_text() == page
    assert (ROOT / "docs/ablation/gaps.png").read_bytes().startswith(b"\x89PNG")


def test_the_data_are_those_of_the_study() -> None:
    courses = shipped_ablation().cells()
    assert {
        (each.instance, each.algorithm, each.disclosure, each.latency_ms, each.seconds): (
            each.candidates,
            each.generations,
        )
        for each in figures()
    } == {tuple(cell): tuple(course) for cell, course in courses.items()}
    runs = {each.runs for each in figures()}
    assert len(runs) == 1
    assert f"medians of {runs.pop()} runs" in " ".join(section().split())
