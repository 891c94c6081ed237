"""Figures that documents cite on leakage are those of the tables that the study wrote."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from tacit.disclosure import PAPER_CONFIGURATIONS
from tests.support.repository import ROOT

AP = "assignment 100 x 100, 300 candidates"
FEW = "assignment 100 x 100, 100 candidates"
TOUR = "tour 100 x 100, 300 candidates"
MITIGATED, ATTACKS = "Mitigations", "Every attack"
LAST, WORST, GAP = "after 300", "worst case after 300", "gap to the optimum"

# {table; row; column} stands for the figure there; of a range, for its middle.
IN_LEAKAGE = [
    "published plan tells anybody, {AP; top:15; plan only} at 100 x 100",
    "`top:15`, with `reevaluate_parents` | {MITIGATED; top:15/parents re-evaluated; correlation}, "
    "without {MITIGATED; top:15/as it is; correlation} ({AP; top:15; WORST}) "
    "| without {TOUR; top:15; LAST} ({TOUR; top:15; WORST})",
    "`top:15` {AP; top:15; after 30}, `above:95` {AP; above:95; after 30} "
    "| {TOUR; top:15; after 30}, {TOUR; above:95; after 30}",
    "| {AP; sealed; LAST} | {TOUR; sealed; LAST} |",
    "`none` or `order` | {AP; order; LAST} | {TOUR; order; LAST} |",
    "assignments ({AP; above:95; LAST}, and {AP; above:95; WORST} at will; on tours "
    "{TOUR; above:95; LAST} and {TOUR; above:95; WORST})",
    "`top:60` ({AP; top:60; LAST}) and `above:80` ({AP; above:80; LAST})",
    "(a gap of {AP; top:15; GAP} and {AP; none; GAP} % after 300 evaluations), for tours nearly "
    "({TOUR; top:15; GAP} and {TOUR; none; GAP} %)",
    "{AP; sealed; GAP} % on assignments and {TOUR; sealed; GAP} % on tours",
    "{ATTACKS; tournaments; order} under `order` and {ATTACKS; tournaments; top:60} under `top:60`",
    "Under `top:15` 300, 100 and 30 evaluations give {AP; top:15; after 300}, "
    "{AP; top:15; after 100} and {AP; top:15; after 30}",
    "give {FEW; top:15; LAST} under `top:15` and {FEW; quantiles:5; LAST} in place of "
    "{AP; quantiles:5; LAST} under `quantiles:5`",
    "{MITIGATED; top:15/parents re-evaluated; correlation} in place of "
    "{MITIGATED; top:15/as it is; correlation} under `top:15`, "
    "{MITIGATED; quantiles:5/150 candidates, parents re-evaluated; correlation} in place of "
    "{MITIGATED; quantiles:5/as it is; correlation} under `quantiles:5`",
    "with a single elite `top:15` gives {MITIGATED; top:15/a single elite; correlation} in place "
    "of {MITIGATED; top:15/as it is; correlation}",
]
IN_README = ["the plans of the others tell {AP; none; plan only} and {TOUR; none; plan only}"]


@cache
def tables() -> dict[str, dict[str, dict[str, str]]]:
    """Cells by title, row and column."""
    found: dict[str, dict[str, dict[str, str]]] = {}
    text = (ROOT / "docs/leakage/tables.md").read_text()
    for part in re.split(r"^\*\*", text, flags=re.MULTILINE)[1:]:
        title, _, body = part.partition("**")
        heads, _, *rows = [
            [cell.strip() for cell in line.strip("|").split("|")]
            for line in body.splitlines()
            if line.startswith("|")
        ]
        keys = 2 if title.startswith(MITIGATED) else 1
        found[title] = {"/".join(row[:keys]): dict(zip(heads, row, strict=True)) for row in rows}
    return found


def cited(phrase: str) -> str:
    """The phrase with the figures of the tables."""

    def figure(place: re.Match[str]) -> str:
        table, row, column = (part.strip() for part in place[1].split(";"))
        title = next(each for each in tables() if globals()[table] in each)
        cells = tables()[title][row]
        number = re.match(r"[\d.]+", cells[globals().get(column, column)])
        assert number is not None, (title, row, column)
        return number[0]

    return re.sub(r"\{([^}]*)\}", figure, phrase)


@pytest.mark.parametrize(
    ("document", "phrase"),
    [
        *(("docs/leakage.md", phrase) for phrase in IN_LEAKAGE),
        *(("README.md", phrase) for phrase in IN_README),
    ],
)
def test_documents_cite_the_measured_figures(document: str, phrase: str) -> None:
    text = " ".join((ROOT / Path(document)).read_text().split())
    assert cited(phrase) in text, f"{document} should say: {cited(phrase)}"


@pytest.mark.parametrize("name", [*PAPER_CONFIGURATIONS, "sealed"])
def test_the_readme_has_the_measured_figures_of_every_disclosure(name: str) -> None:
    figures = cited(
        f"{{AP; {name}; LAST}} ({{AP; {name}; WORST}}) | {{TOUR; {name}; LAST}} "
        f"({{TOUR; {name}; WORST}}) |"
    )
    rows = [
        line
        for line in (ROOT / "README.md").read_text().splitlines()
        if line.startswith(f"| `{name}` |") and line.count("|") > 6
    ]
    assert [row.endswith(figures) for row in rows] == [True], figures
