"""Families of costs with 500 and 1,000 rows within a minute: what is usual, and `top:15`.

    python -m benchmarks.large_families                    a table
    python -m benchmarks.large_families --json FILE        also to a file; --resume goes on with it

As `benchmarks.usual_families` does it: in the clear, which gives what nodes give, with as many
steps as three local nodes do by the deadline. `top:15` has the pace that was measured with 300
rows, which is more than it reaches with more of them.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from benchmarks.sealed_families import FAMILIES
from benchmarks.usual_families import Cell, Content, Paces, read, run_of

DEADLINE = 60.0
SEEDS = range(801, 804)
ROWS = (500, 1000)
GENERATION_MS = {500: 135.0, 1000: 281.0}
"""Of square problems on three local nodes on two idle cores (docs/search.md)."""
FIGURES = Path(__file__).parent.parent / "docs" / "figures"


def paces() -> Paces:
    """Generations per second of both."""
    other = read(FIGURES / "usual-families.json").paces.other
    return Paces(
        {rows: 1000 / ms for rows, ms in GENERATION_MS.items()},
        {rows: other[max(other)] for rows in GENERATION_MS},
    )


def measure(content: Content, families: Sequence[str], sizes: Sequence[int]) -> Iterator[Cell]:
    """One run after the other; each cell as it grows."""
    cells = {(each.family, each.rows): each for each in content.cells}
    for number, seed in enumerate(SEEDS):
        for rows in sizes:
            for family in families:
                before = cells.get((family, rows), Cell(family, rows, DEADLINE, (), (), 0))
                if len(before.usual) > number:
                    continue
                usual, other, proved = run_of((family, rows, DEADLINE, seed, content.paces))
                cells[family, rows] = Cell(
                    family,
                    rows,
                    DEADLINE,
                    (*before.usual, round(usual, 2)),
                    (*before.other, round(other, 2)),
                    before.proved + proved,
                )
                yield cells[family, rows]


def table(content: Content, /) -> list[str]:
    """A Markdown table: medians of the usual way and of the other, by size."""
    found = {(each.family, each.rows): each for each in content.cells}
    heads = [f"`sealed`, {rows:,} rows | `top:15`, {rows:,} rows" for rows in ROWS]
    lines = ["| costs, deadline | " + " | ".join(heads) + " |", "| --- |" + " --- |" * 4]
    for family in (each for each in FAMILIES if any(each == family for family, _ in found)):
        cells = []
        for rows in ROWS:
            cell = found.get((family, rows))
            for runs in ((), ()) if cell is None else (cell.usual, cell.other):
                cells.append(f"{statistics.median(runs):.2f}" if runs else "")
        lines.append(f"| {family}, {DEADLINE:g} s | " + " | ".join(cells) + " |")
    return lines


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--resume", action="store_true", help="go on with what the file has")
    parser.add_argument("--only", nargs="*", choices=FAMILIES, default=list(FAMILIES))
    parser.add_argument("--rows", nargs="*", type=int, default=list(ROWS))
    chosen = parser.parse_args()
    content = read(chosen.json) if chosen.resume else Content(paces(), ())
    for cell in measure(content, chosen.only, chosen.rows):
        print(cell, "" if cell.is_as_good else "WORSE", flush=True)
        kept = [e for e in content.cells if (e.family, e.rows) != (cell.family, cell.rows)]
        content = Content(content.paces, (*kept, cell))
        if chosen.json is not None:
            encoded = msgspec.json.format(msgspec.json.encode(content), indent=1)
            chosen.json.write_bytes(encoded + b"\n")
    print("\n".join(table(content)))


if __name__ == "__main__":
    main()
