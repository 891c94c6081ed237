"""Families of costs with 500 and 1,000 rows within a minute: what is usual, and `top:15`.

    python -m studies.benchmarks.large_families  a table
    python -m studies.benchmarks.large_families --json FILE  to a file; --resume goes on with it

As `usual_families` does it: in the clear, which gives what nodes give, with as many
steps as three local nodes do by the deadline. Paces are those of docs/figures/usual-families.json
with 300 rows: the model tells how much longer the steps of larger problems take, and `top:15` does
not reach as many generations with more rows.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

from studies.benchmarks.measuring import FAMILIES, FIGURES, options_of, write_json
from studies.benchmarks.usual_families import Cell, Content, other_run, read, usual_run

DEADLINE = 60.0
FIRST_SEED, SEEDS = 801, 3
ROWS = (500, 1000)
PACES = FIGURES / "usual-families.json"


def measure(
    content: Content, families: Sequence[str], sizes: Sequence[int], seeds: int
) -> Iterator[Cell]:
    """One run after the other; each cell as it grows."""
    cells = {(each.family, each.rows): each for each in content.cells}
    for number in range(seeds):
        for rows in sizes:
            slower, pace = content.paces.of(rows)
            for family in families:
                before = cells.get((family, rows), Cell(family, rows, DEADLINE, (), (), 0))
                if len(before.usual) > number:
                    continue
                seed = FIRST_SEED + number
                usual, proved = usual_run(family, rows, DEADLINE, seed, slower)
                other = other_run(family, rows, DEADLINE, seed, pace)
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
    parser = options_of(__file__, __doc__, only=FAMILIES, rows=ROWS, seeds=SEEDS, resume=True)
    parser.add_argument("--paces", type=Path, metavar="FILE", default=PACES)
    chosen = parser.parse_args()
    content = read(chosen.json) if chosen.resume else Content(read(chosen.paces).paces, ())
    for cell in measure(content, chosen.only, chosen.rows, chosen.seeds):
        print(cell, "" if cell.is_as_good else "WORSE", flush=True)
        kept = [e for e in content.cells if (e.family, e.rows) != (cell.family, cell.rows)]
        content = Content(content.paces, (*kept, cell))
        write_json(chosen.json, content)
    print("\n".join(table(content)))


if __name__ == "__main__":
    main()
