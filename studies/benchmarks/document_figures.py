"""Figures of README and docs that were measured: each is a cell of a table, held to a file.

    make figures  measures everything again, on an idle machine
    python -m studies.benchmarks.document_figures  cells that do not say what the files say
    python -m studies.benchmarks.document_figures --write  puts them into the documents
    python -m studies.benchmarks.document_figures --tables  the whole tables of docs/search.md

The files are in docs/figures; each is what the command that Makefile names for it printed. What was
not measured yet has no file, and nothing is held to it.
tests/test_document_figures.py holds the documents to them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from studies.benchmarks import (
    distances,
    equal_time,
    exact_nodes,
    families_on_nodes,
    large_families,
    tours,
    unseen_tours,
    usual_families,
)
from studies.benchmarks.measuring import ROOT
from studies.report.results import published
from tacit.disclosure import PAPER_CONFIGURATIONS, split_disclosure

FIGURES = ROOT / "docs" / "figures"
EVALUATIONS = 500
TIMED = ("none", "order", "quantiles:5", "top:10", "above:75", "buckets:5")
"""The columns of the table in nodes.md."""


@dataclass(frozen=True)
class Held:
    """A cell: the document, the first cell of its row, the columns of its table, its column."""

    document: str
    row: str
    columns: tuple[int, ...]
    """How many columns the table may have; tells tables with equal rows apart."""
    column: int
    text: str


def content_of(name: str, /) -> Any:
    """A file of docs/figures."""
    return msgspec.json.decode((FIGURES / f"{name}.json").read_bytes())


def held_cells() -> list[Held]:
    """Every cell that is held."""
    return [
        *_readme(),
        *_equal_time(),
        *_nodes(),
        *_four(),
        *_attacks(),
        *_search(),
        *_sealed(),
        *_usual(),
        *_tables(),
    ]


def _usual() -> Iterator[Held]:
    """The families with 100 rows, which the README has as well."""
    file = FIGURES / "usual-families.json"
    lines = usual_families.table(usual_families.read(file)) if file.exists() else []
    for each in _table("README.md", lines):
        if each.row.endswith(", 100 rows"):
            yield each


TABLES: dict[str, Callable[[Path], list[str]]] = {
    "usual-families": lambda file: usual_families.table(usual_families.read(file)),
    "families-on-nodes": lambda file: families_on_nodes.table(families_on_nodes.read(file)),
    "exact-nodes": lambda file: exact_nodes.table(exact_nodes.read(file)),
    "exact-nodes-delay": lambda file: exact_nodes.table(exact_nodes.read(file)),
    "distances": lambda file: distances.table(distances.read(file)),
    "large-families": lambda file: large_families.table(usual_families.read(file)),
    "tours": lambda file: tours.table(tours.read(file)),
    "unseen-tours": lambda file: unseen_tours.table(unseen_tours.read(file)),
}
"""Whole tables of docs/search.md, by their files."""


def _tables() -> Iterator[Held]:
    for name, table in TABLES.items():
        file = FIGURES / f"{name}.json"
        if file.exists():
            yield from _table("docs/search.md", table(file))


def _table(document: str, lines: list[str]) -> Iterator[Held]:
    """All cells of a Markdown table but its heads."""
    for line in lines[2:]:
        row, *cells = _cells(line)
        for column, text in enumerate(cells, start=1):
            yield Held(document, row, (1 + len(cells),), column, text)


def _readme() -> Iterator[Held]:
    # What `make reproduce` wrote; the package has it for the report's own figures.
    reproduced = FIGURES.parents[1] / "studies/data/reproduced.json"
    medians = msgspec.json.decode(reproduced.read_bytes())["medians"]
    engine = content_of("engine")["disclosures"]
    seconds = {split_disclosure(text)[0]: each["seconds"] for text, each in engine.items()}
    optimum = published()["optimum"]["kroD100"]
    wide = tuple(range(6, 12))
    for text in PAPER_CONFIGURATIONS:
        row, method = f"`{text}`", split_disclosure(text)[0]
        yield Held("README.md", row, wide, 2, f"{medians['ap'][text]:.1f} %")
        yield Held("README.md", row, wide, 3, f"{100 * medians['tsp'][text] / optimum:.0f} %")
        yield Held("README.md", row, wide, 4, f"{EVALUATIONS * seconds[method]:.0f} s")
    searches = content_of("sealed")["searches"]
    ap, tsp = (searches[name]["quality"] for name in ("assignment", "tour"))
    for column, shown in enumerate(
        (
            f"{ap['median_percent']:.1f} %",
            f"{tsp['median_percent']:.1f} %",
            f"{ap['seconds']:.0f} s / {tsp['seconds']:.0f} s",
        ),
        start=2,
    ):
        yield Held("README.md", "`sealed`", wide, column, shown)


def _equal_time() -> Iterator[Held]:
    rows = equal_time.table(equal_time.read(FIGURES / "equal-time.json"))[2:]
    for line in rows:
        first, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        for column, text in enumerate(cells, start=1):
            yield Held("README.md", first, (4,), column, text)


def _nodes() -> Iterator[Held]:
    here, far = content_of("engine")["disclosures"], content_of("engine-delay")["disclosures"]
    theirs = published()["evaluation_seconds"]
    for column, text in enumerate(TIMED, start=1):
        ratio = here[text]["ratio_to_mpyc"]
        kilobytes = here[text]["bytes_per_node"] / 1000
        shown = {
            "rounds": f"{here[text]['rounds']}",
            "kB sent by the node that sends most, n = 300": f"{kilobytes:.1f}"
            if kilobytes < 10
            else f"{kilobytes:.0f}",
            "median ms, n = 300": f"{1000 * here[text]['seconds']:.1f}",
            "times as fast as MPyC's library functions, n = 300, same run": (
                f"{ratio:.1f}" if ratio < 10 else f"{ratio:.0f}"
            ),
            "median ms, n = 500, 10 ms one-way delay": f"{1000 * far[text]['seconds']:.0f}",
            "the engine of Gruber et al. (2026), ms, n = 300, no delay": (
                f"{1000 * theirs[split_disclosure(text)[0]]:.0f}"
            ),
        }
        for row, cell in shown.items():
            yield Held("docs/nodes.md", row, (7,), column, cell)


def _attacks() -> Iterator[Held]:
    for each in content_of("load_attacks")["attacks"]:
        shown = (
            f"{max(each['peak_megabytes'])}",
            f"{each['evaluation_median_ms']:.0f}",
            f"{each['evaluation_worst_ms']:.0f}",
            f"{each['failed']} of {each['evaluations']}",
        )
        for column, text in enumerate(shown, start=2):
            yield Held("docs/nodes.md", f"`{each['attack']}`", (6,), column, text)


def _four() -> Iterator[Held]:
    four = content_of("engine-four")["disclosures"]
    for column, text in enumerate(TIMED, start=1):
        found, ratios = four[text], four[text]["ratio_to_three"]
        shown = {
            "rounds, three and four nodes": f"{found['three']['rounds']}, {found['rounds']}",
            "bytes of the node that sends most, four to three": f"{ratios['bytes_per_node']:.1f}",
            "time, four to three": f"{ratios['seconds']:.1f}",
            "processor time of a node, four to three": f"{ratios['processor_seconds']:.1f}",
        }
        for row, cell in shown.items():
            yield Held("docs/nodes.md", row, (7,), column, cell)


def _search() -> Iterator[Held]:
    ratios = content_of("search")["ratio"]
    for row, name in (
        ("100 cities, population 300, order crossover + inversion", "order_inversion"),
        ("the same, edge recombination + inversion", "edge_inversion"),
        ("NSGA-II, 150, assignment 100 x 100 with two objectives", "nsga2"),
    ):
        yield Held("docs/search.md", row, (2,), 1, f"{ratios[name]:.0f}")


def _sealed() -> Iterator[Held]:
    document, found = "docs/protocols/sealed-search.md", content_of("sealed")["searches"]["tour"]
    yield Held(document, "tour", (3,), 1, f"{found['ms']:.0f}")
    yield Held(document, "tour", (3,), 2, f"{found['node_cpu_ms']:.2g}")
    yield from _quality(document, "kroD100", found["quality"])


def _quality(document: str, row: str, found: dict[str, Any]) -> Iterator[Held]:
    percents = found["percent"]
    digits = 2 if found["median_percent"] < 100 else 1  # tours vary more
    median, least, most = (
        f"{each:.{digits}f}" for each in (found["median_percent"], min(percents), max(percents))
    )
    yield Held(document, row, (4,), 1, f"{found['seconds']:.0f} s")
    yield Held(document, row, (4,), 2, f"{found['median_generations']:,.0f}")
    yield Held(document, row, (4,), 3, f"{median} ({least} to {most})")


def found_cells(held: Held, text: str, /) -> list[str]:
    """What the document has there; one cell if it is as it should be."""
    rows = [_cells(line) for line in text.splitlines() if line.startswith("|")]
    return [row[held.column] for row in rows if row[0] == held.row and len(row) in held.columns]


def written(held: Held, text: str, /) -> str:
    """The document with the file's figure in its place."""
    lines = []
    for line in text.splitlines():
        cells = _cells(line) if line.startswith("|") else []
        if cells and cells[0] == held.row and len(cells) in held.columns:
            cells[held.column] = held.text
            line = "| " + " | ".join(cells) + " |"
        lines.append(line)
    return "\n".join(lines) + "\n"


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")]


def main() -> None:
    """Compare, or write."""
    parser = argparse.ArgumentParser(description="figures in documents, held to docs/figures")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--tables", action="store_true")
    options = parser.parse_args()
    if options.tables:
        for name, table in TABLES.items():
            if (FIGURES / f"{name}.json").exists():
                print(f"\n{name}:", *table(FIGURES / f"{name}.json"), sep="\n")
        return
    write, wrong = options.write, 0
    for held in held_cells():
        path = ROOT / held.document
        text = path.read_text()
        cells = found_cells(held, text)
        if cells == [held.text]:
            continue
        if write and len(cells) == 1:
            path.write_text(written(held, text))
            continue
        wrong += 1
        print(f"{held.document}, {held.row}, column {held.column}: {cells}, not {held.text}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
