"""Figures that documents cite on leakage are those of the tables that the study wrote."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import msgspec
import pytest
from studies.benchmarks import known_start
from studies.leakage.tables import families_tables

from tacit.audit.leakage_table import measured_entries
from tacit.disclosure import PAPER_CONFIGURATIONS
from tests.support.repository import ROOT

AP = "assignment 100 x 100, costs uniform, prior range, 300 candidates"
FEW = "assignment 100 x 100, costs uniform, prior range, 100 candidates"
TOUR = "tour 100 x 100, costs distances, prior map, 300 candidates"
DELAYS = "assignment 40 x 60, costs delays, prior schedule"
FAM = "By family of costs: assignment"
MITIGATED, ATTACKS, BOUND = "Mitigations", "Every attack", "What any attack could reach"
LAST, WORST, GAP = "after 300", "worst case after 300", "gap to the optimum"

# {table; row; column} stands for the figure there; of a range, for its middle; with "; gain" for
# the one in brackets.
IN_LEAKAGE = [
    "unknowns. The published tour alone tells {TOUR; sealed; plan only}.",
    "usually cost money can guess delay costs to {FAM; delays/schedule; prior alone} "
    "without any run. What a",
    "is small on the scale of the correlation ({FAM; delays/schedule; top:15} under "
    "`top:15`) and large on that of the gain ({FAM; delays/schedule; top:15; gain})",
    "their root correlates with the distances by {TOUR; sealed; plan only}, where who follows",
    "`top:15` on independent uniform weights {AP; top:15; LAST} is close to all there",
    "exceeds on average: {BOUND; ap1K100x100; limit} on the first "
    "instance, where the mean of the draws reaches {BOUND; ap1K100x100; mean of the "
    "posterior} and the strongest attack {BOUND; ap1K100x100; strongest attack}. With "
    "longer chains the",
    "what the published plan tells anybody, {AP; top:15; plan only} at 100 x 100 on",
    "yet learns most of what the platform does: {ATTACKS; tournaments; uniform order} "
    "under `order` and {ATTACKS; tournaments; uniform top:60} under `top:60`.",
    "two places along the candidates tell it {ATTACKS; map, no values; distances "
    "top:15}, without even looking",
    "and tells nobody how good the plan is | {AP; sealed; LAST} | {TOUR; sealed; LAST} |",
    "| `top:15`, with `reevaluate_parents` | {MITIGATED; top:15/parents re-evaluated; "
    "correlation}, without {MITIGATED; top:15/as it is; correlation} ({AP; top:15; "
    "WORST}) | without {TOUR; top:15; LAST} ({TOUR; top:15; WORST}) |",
    "with a budget of 30 evaluations | `top:15` {AP; top:15; after 30}, `above:95` {AP; "
    "above:95; after 30} | {TOUR; top:15; after 30}, {TOUR; above:95; after 30} |",
    "but to nobody else | `none` or `order` | {AP; order; LAST} | {TOUR; order; LAST} |",
    "`above:95` has a low figure on assignments ({AP; above:95; LAST}, and {AP; "
    "above:95; WORST} at will), but do not",
    "threshold, raised `above:90` from 0.77 to {AP; above:90; WORST}. Only a small budget",
    "the gap is {AP; sealed; GAP} % on uniform weights and {DELAYS; sealed; GAP} % on delays "
    "(`none` {DELAYS; none; GAP} %). Tours have a gap of {TOUR; sealed; GAP} % after 1,000",
    "of quality. The same holds for `top:60` ({AP; top:60; LAST}) and `above:80` ({AP; "
    "above:80; LAST}): groups near the",
    "about as good as `none` does (a gap of {AP; top:15; GAP} and {AP; none; GAP} % "
    "after 300 evaluations); for tours it loses more ({TOUR; top:15; GAP} and {TOUR; "
    "none; GAP} %).",
    "`top:15` 300, 100 and 30 evaluations give {AP; top:15; after 300}, {AP; top:15; "
    "after 100} and {AP; top:15; after 30}. It costs quality, and",
    "whoever knows a map it does not help: {TOUR; top:15; after 30} after 30 |",
    "a smaller budget: 100 in place of 300 give {FEW; top:15; LAST} under `top:15` and "
    "{FEW; quantiles:5; LAST} in place of {AP; quantiles:5; LAST} under `quantiles:5`,",
    "distinct individuals | helps, and is cheap: {MITIGATED; top:15/parents "
    "re-evaluated; correlation} in place of {MITIGATED; top:15/as it is; correlation} "
    "under `top:15`, {MITIGATED; quantiles:5/150 candidates, parents re-evaluated; "
    "correlation} in place of {MITIGATED; quantiles:5/as it is; correlation} under "
    "`quantiles:5`",
    "harmful: with a single elite `top:15` gives {MITIGATED; top:15/a single elite; "
    "correlation} in place of {MITIGATED; top:15/as it is; correlation}. Elites fill the "
    "top",
]
IN_README = ["the plans of the others tell {AP; none; plan only} and {TOUR; none; plan only}"]
IN_THREATS = [
    "correlates with independent weights by {AP; sealed; plan only}, and with distances on a map "
    "by {TOUR; sealed; plan only}."
]
IN_SEALED = [
    "by {AP; sealed; plan only} on random 100x100 assignments, and by {TOUR; sealed; plan only} "
    "with the distances"
]


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
        keys = 2 if title.startswith((MITIGATED, FAM)) else 1
        found[title] = {"/".join(row[:keys]): dict(zip(heads, row, strict=True)) for row in rows}
    return found


def cited(phrase: str) -> str:
    """The phrase with the figures of the tables."""

    def figure(place: re.Match[str]) -> str:
        table, row, column, *which = (part.strip() for part in place[1].split(";"))
        title = next(each for each in tables() if globals()[table] in each)
        cells = tables()[title][row]
        pattern = r".*\((-?[\d.]+)\)" if which else r"([\d.]+)"
        number = re.match(pattern, cells[globals().get(column, column)])
        assert number is not None, (title, row, column)
        return number[1]

    return re.sub(r"\{([^}]*)\}", figure, phrase)


@pytest.mark.parametrize(
    ("document", "phrase"),
    [
        *(("docs/leakage.md", phrase) for phrase in IN_LEAKAGE),
        *(("README.md", phrase) for phrase in IN_README),
        *(("docs/threat-model.md", phrase) for phrase in IN_THREATS),
        *(("docs/protocols/sealed-search.md", phrase) for phrase in IN_SEALED),
    ],
)
def test_documents_cite_the_measured_figures(document: str, phrase: str) -> None:
    text = " ".join((ROOT / Path(document)).read_text().split())
    assert cited(phrase) in text, f"{document} should say: {cited(phrase)}"


def test_the_table_by_family_of_costs_is_the_measured_one() -> None:
    text = (ROOT / "docs/leakage.md").read_text()
    rows = [
        line
        for table in families_tables(measured_entries())
        for line in table.markdown().splitlines()
        if line.startswith("|")
    ]
    assert len(rows) > 10
    assert [row for row in rows if row not in text] == []


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


def test_what_steering_tells_is_what_was_measured() -> None:
    short, long = (
        msgspec.json.decode((ROOT / f"docs/figures/{name}.json").read_bytes())
        for name in ("steered", "steered-1000")
    )
    assert (short["evaluations"], long["evaluations"]) == (300, 1000)
    text = (ROOT / "docs/leakage.md").read_text()
    for way, figures in short["recovered"].items():
        both = (figures, long["recovered"].get(way, []))
        cells = (", ".join(f"{each:.2f}" for each in found) for found in both)
        assert f"| {way} | {' | '.join(cells)} |" in text


def test_the_table_of_public_starts_is_the_measured_one() -> None:
    figures = known_start.read(ROOT / "docs/figures/known-start.json")
    text = (ROOT / "docs/leakage.md").read_text()
    rows = known_start.table(figures)
    assert len(rows) == 10
    assert [row for row in rows if row not in text] == []
    early = [each for each in figures if each.point.steps and not each.is_least]
    generation = max(each.adds for each in early if not each.point.iterations)
    iterations = max(each.adds for each in early if each.point.iterations == 5)
    assert f"up to {generation:.2f} after one generation and {iterations:.2f} after five" in text
    limits = " and ".join(f"{each.limit:.2f}" for each in figures if each.limit is not None)
    assert f"have a limit of {limits}" in text
