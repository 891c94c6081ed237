"""Figures on objectives that are evaluated together are those of the study, the audit, the nodes.

Run as a program (`python -m tests.test_together_document`) this prints all rows.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec
import numpy as np
import pytest
from studies.tables import ReportTable
from studies.together import TogetherFigures, TogetherStanding, together_blocks

from tacit.audit.leakage_table import (
    Entry,
    entries_of_objectives_together,
    measured_entries,
)
from tacit.problems import generate_assignment, ground_truth
from tests.support.repository import ROOT

APART_ROWS = ("quantiles:5", "top:60")
SHOWN = ("pareto:order", "pareto:quantiles:20", "pareto:quantiles:5", "pareto:top:60")
EVALUATIONS = {100: (30, 100, 300, 500), 40: (16, 48, 144)}


@cache
def figures() -> TogetherFigures:
    raw = (files("studies") / "data" / "together.json").read_bytes()
    return msgspec.json.decode(raw, type=TogetherFigures)


def tournament_rows() -> list[str]:
    raw = (files("studies") / "data" / "tuned-pareto.json").read_bytes()
    trials = msgspec.json.decode(raw)["trials"]
    names = ("pareto:quantiles:20", "pareto:quantiles:5", "pareto:top:60")
    return [
        f"| {settings['tournament']} | "
        + " | ".join(f"{sum(values[name]):.3f}" for name in names)
        + f" | {sum(sum(values[name]) for name in names):.3f} |"
        for settings, values in trials
    ]


def _ratio(standing: TogetherStanding) -> str:
    return f"{standing.median:,.0f} ({standing.ratio:.2f})"


def study_rows() -> list[str]:
    gd, igd = figures().standings["GD+"], figures().standings["IGD+"]
    return [f"| `{name}` | {_ratio(gd[name])} | {_ratio(igd[name])} |" for name in gd]


def _entry(disclosure: str, rows: int, evaluations: int, **more: str) -> Entry:
    wanted = {"family": "uniform", "prior": "range", **more}
    return next(
        each
        for each in entries_of_objectives_together()
        if (each.disclosure, each.rows, each.evaluations) == (disclosure, rows, evaluations)
        and all(getattr(each, name) == value for name, value in wanted.items())
    )


def _told(entry: Entry) -> str:
    return f"{entry.honest:.2f} ({entry.of_sum:.2f})"


def leakage_rows() -> list[str]:
    return [
        f"| `{name}` | {size} x {size} | "
        + " | ".join(f"{_told(_entry(name, size, count))} after {count}" for count in counts)
        + " |" * (1 + 4 - len(counts))
        for size, counts in EVALUATIONS.items()
        for name in (*SHOWN, "pareto:top:15")
    ]


def _apart(disclosure: str) -> str:
    """What the same disclosure of one objective tells, after 300 evaluations."""
    found = [
        each.honest
        for each in measured_entries()
        if (each.kind, each.disclosure, each.rows, each.population, each.evaluations, each.family)
        == ("assignment", disclosure, 100, 300, 300, "uniform")
    ]
    return f"{found[0]:.2f}"


@cache
def sealed_told() -> tuple[float, float]:
    """What all plans of the ground truth tell by how often they use a cell: of one, of the sum."""
    problem = generate_assignment(2001, rows=100, objectives=2)
    truth = ground_truth(problem)
    plans = truth.plans[np.argsort(truth.values[:, 0])]
    used, first = np.zeros((2, 100, 100))
    for place, plan in zip(np.linspace(0, 1, len(plans)), plans, strict=True):
        used[np.arange(100), plan] += 1
        first[np.arange(100), plan] += place
    weights = [
        each.sign * each.weights.astype(float)
        for each in problem.objectives
        if each.weights is not None
    ]

    def correlation(one: Any, other: Any) -> float:
        flat = [m - m.mean(0) - m.mean(1)[:, None] + m.mean() for m in (one, other)]
        return float(np.corrcoef(flat[0].ravel(), flat[1].ravel())[0, 1])

    return (
        correlation(np.sqrt(first), weights[0]),
        correlation(np.sqrt(used), weights[0] + weights[1]),
    )


def _timed(disclosure: str) -> str:
    raw = msgspec.json.decode((ROOT / "docs/figures/together.json").read_bytes())
    near, far = (each["found"][disclosure] for each in raw["measured"])
    return (
        f"{1000 * near['seconds']:.0f} ms, {1000 * far['seconds']:.0f} ms | "
        f"{near['rounds']}, {near['bytes_per_node'] / 1e6:.2f} MB"
    )


def comparison_rows() -> list[str]:
    gd, igd = figures().standings["GD+"], figures().standings["IGD+"]
    rows = [
        f"| `{name}` of each, apart | {gd[name].median:,.0f} | {igd[name].median:,.0f} | "
        f"{_timed(name)} | {_apart(name)} after 300 |"
        for name in APART_ROWS
    ]
    rows += [
        f"| `{name}` | {gd[name].median:,.0f} | {igd[name].median:,.0f} | {_timed(name)} | "
        f"{_told(_entry(name, 100, 300))} after 300, {_told(_entry(name, 100, 500))} after 500 |"
        for name in ("pareto:quantiles:20", "pareto:top:60")
    ]
    of_one, of_sum = sealed_told()
    return [
        *rows,
        f"| sealed, 101 weightings | 0 | 0 | see SEALED | {of_one:.2f} ({of_sum:.2f}) |",
    ]


def sentences() -> list[str]:
    week = [_entry(name, 40, 144, prior="last week") for name in SHOWN]
    two = _entry("pareto:quantiles:20", 100, 300, family="uniform, tournaments of 2")
    return [
        f"tell {_told(two)} under `pareto:quantiles:20` after 300 evaluations",
        f"knows {week[0].prior_alone:.2f} before the run (40 x 40); the gain beyond that is "
        f"{min(e.honest_gain for e in week):.2f} to {max(e.honest_gain for e in week):.2f} after",
    ]


SEARCH, LEAKAGE = "docs/search.md", "docs/leakage.md"
IN: list[tuple[str, Callable[[], list[str]]]] = [
    (SEARCH, tournament_rows),
    (SEARCH, study_rows),
    (LEAKAGE, leakage_rows),
    (LEAKAGE, sentences),
]


@pytest.mark.parametrize(("document", "rows"), IN)
def test_documents_have_the_measured_rows(document: str, rows: Callable[[], list[str]]) -> None:
    text = " ".join((ROOT / document).read_text().split())
    missing = [row for row in rows() if " ".join(row.split()) not in text]
    assert not missing


def test_the_ways_side_by_side_are_those_that_were_measured() -> None:
    text = (ROOT / SEARCH).read_text()
    *rows, sealed = comparison_rows()
    assert [row for row in rows if row not in text] == []
    before, _, after = sealed.partition("see SEALED")
    (line,) = (line for line in text.splitlines() if line.startswith(before))
    assert line.endswith(after)


def test_tables_and_verdict_are_those_of_the_study() -> None:
    text = (ROOT / "docs/together/tables.md").read_text()
    *_, verdict = together_blocks(figures())
    assert isinstance(verdict, str)
    assert verdict in text
    assert "at most the 1.1 that counts as no loss" in verdict
    for block in together_blocks(figures()):
        if isinstance(block, ReportTable):
            assert block.markdown() in text
    assert f"{figures().seeds} seeds" in (ROOT / SEARCH).read_text()


if __name__ == "__main__":
    for _, each in IN:
        print(*each(), sep="\n", end="\n\n")
    print(*comparison_rows(), sep="\n")
