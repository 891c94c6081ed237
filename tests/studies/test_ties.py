"""The section about ties: ranks, what it concludes, and the document that repeats it."""

from __future__ import annotations

import re
from importlib.resources import files

import msgspec
from studies.report.results import COLUMNS
from studies.report.variants import (
    CONFIGURATIONS,
    FiguresByTies,
    ties_blocks,
    ties_table,
    verdict,
)
from studies.statistics import Spread

from tacit.search import TIES
from tests.support.repository import ROOT

GD = COLUMNS["moap-two gd+"]
DOCUMENT = ROOT / "docs" / "search.md"


def by_way(**above: float) -> dict[str, dict[str, Spread]]:
    """All configurations alike but the last, which differs from way to way."""
    same = {each: Spread(100.0 * k, 10.0) for k, each in enumerate(CONFIGURATIONS, 1)}
    return {ties: {**same, "above:80": Spread(median, 5.0)} for ties, median in above.items()}


def test_ranks_are_those_within_a_way() -> None:
    table = ties_table(GD, by_way(random=350.0, shared=50.0, first=1000.0, last=450.0))
    last = [cell.text for cell in table.rows[-1]]
    assert last == ["above:80", "16,270 (4,044), 6", "350 (5), 4", "50 (5), 1", "1,000 (5), 6",
                    "450 (5), 5"]  # fmt: skip


def test_it_is_an_artefact_only_if_the_ways_enclose_the_paper() -> None:
    gd = by_way(random=17e3, shared=14e3, first=13e3, last=26e3)
    igd = by_way(random=350.0, shared=150.0, first=1000.0, last=450.0)
    enclosing = verdict({"moap-two gd+": gd, "moap-two igd+": igd})
    assert "13,000 (`first`) to 26,000 (`last`), a factor of 2.0; without" in enclosing
    assert "the largest factor is 1.0. The paper's 16,270 lies between." in enclosing
    assert "is an artefact of tie breaking, and so was that of ours" in enclosing
    assert "By GD+ its place among the 6 is 6 always. By IGD+ its place among the 6 is 2 to 6." in (
        enclosing
    )
    assert "Our default was `first` (13,000) and is `random` (17,000)" in enclosing
    assert "closer to the paper than before for 1 of 6 configurations" in enclosing
    gd = by_way(random=12e3, shared=12e3, first=13e3, last=14e3)
    apart = verdict({"moap-two gd+": gd, "moap-two igd+": igd})
    assert "The paper's 16,270 lies outside. By GD+" in apart
    assert "artefact" not in apart
    assert ties_blocks({}) == []


def test_the_document_has_the_figures_of_the_study() -> None:
    raw = (files("studies") / "data" / "ties.json").read_bytes()
    figures = msgspec.json.decode(raw, type=FiguresByTies)
    assert all(list(each) == list(TIES) for each in figures.values())
    text = re.sub(r"\s+", " ", DOCUMENT.read_text())
    for name, each in figures.items():
        assert re.sub(r"\s+", " ", ties_table(COLUMNS[name], each).markdown()) in text, name
    assert verdict(figures) in text
