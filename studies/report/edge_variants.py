"""Both variants of edge crossover beside the paper's figures: which of them it may have used."""

from __future__ import annotations

from studies.paper import COLUMNS
from studies.report.column_figures import published_figures
from studies.report.results import Results
from studies.report.table import Block, Cell, ReportTable, plain
from studies.report.z_scores import z_on_same_instance

FAR = 2.0
"""Differences of more than two standard errors are highlighted."""


def edge_blocks(ours: Results, both_ends: Results, /) -> list[Block]:
    """A table of the last generation's medians on the paper's instance, and what it says.

    `ours` has the study tsp; `both_ends` has the other variant's runs under the same name.
    """
    column = COLUMNS["tsp"]
    theirs = published_figures(column)
    one, other = (
        results.figures(column, results.counted("tsp")[0], {}) for results in (ours, both_ends)
    )
    runs, other_runs = (results.studies["tsp"].seeds.count for results in (ours, both_ends))
    shared = [name for name in other.final if name in one.final and name in theirs.final]
    rows, far = [], [0, 0]
    for name in shared:
        cells = [*plain(name, f"{theirs.final[name].median:,.0f}")]
        for k, figures in enumerate((one, other)):
            z = z_on_same_instance(figures.final[name], theirs.final[name])
            far[k] += abs(z) >= FAR
            cells += [Cell(f"{figures.final[name].median:,.0f}"), Cell(f"{z:+.1f}", abs(z) >= FAR)]
        rows.append(tuple(cells))
    return [
        "A path of edge crossover meets dead ends. `edge` goes on with a random item there; the "
        "textbook first tries the other end of the path (`edge-both-ends`). The paper names its "
        "sources and not its variant.",
        ReportTable(
            "table-edge",
            f"Both variants of edge crossover: tour lengths on {_instance(ours)}, last generation",
            ("disclosure", "paper", "edge", "z", "edge-both-ends", "z"),
            tuple(rows),
            f"Medians; seeds: {runs} and {other_runs}. z: the difference to the paper's median in "
            "standard errors. "
            f"At least {FAR:g} standard errors off: {far[0]} and {far[1]} of {len(shared)}. "
            + _reason(far),
        ),
    ]


def _reason(far: list[int]) -> str:
    if far[0] < far[1]:
        return "So `edge` is what fits the paper, and its preset has it."
    return "These runs do not tell the two apart."


def _instance(results: Results) -> str:
    return results.counted("tsp")[0]
