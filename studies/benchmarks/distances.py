"""The distance of nodes: `sealed` and `top:15` at equal time, over sizes and delays.

    python -m studies.benchmarks.distances                  a table
    python -m studies.benchmarks.distances --json FILE      also to a file

What steps of `sealed` take is the model that drafts agreements: rounds and bytes as declared, and
the delay in every round. Generations of `top:15` were measured on near nodes
(docs/figures/usual-families.json), and wait for its 9 rounds besides. The runs are in the clear,
which gives what nodes give.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import msgspec

from studies.benchmarks import usual_families
from studies.benchmarks.measuring import (
    FAMILIES,
    FIGURES,
    options_of,
    problem_of,
    read_json,
    write_json,
)
from studies.benchmarks.steps_in_time import in_the_clear
from studies.benchmarks.usual_families import OTHER, OTHER_SET_UP
from tacit.runs import Limits, solve

DEADLINE = 20.0
DELAYS = (0.0, 0.001, 0.01, 0.05)
"""One way, in seconds."""
SEEDS = {30: 11, 100: 11, 300: 1, 1000: 1}
FIRST_SEED = 501
MANY = 30
"""Rows up to which there are all families; larger problems take long in the clear, too."""
LARGE_FAMILIES = ("ap", "delays")
USUAL, OTHER_ROUNDS = "sealed", 9
WAYS = (USUAL, OTHER)
PACES = FIGURES / "usual-families.json"


class Cell(msgspec.Struct, frozen=True):
    """The runs of one way: percent of the optimum, and how many were proved."""

    family: str
    rows: int
    delay: float
    way: str
    percent: tuple[float, ...]
    proved: int

    @property
    def distance(self) -> float:
        """How far the median is from the optimum, rounded as tables are."""
        return round(abs(statistics.median(self.percent) - 100), 2)


def run_of(cell: Cell, seed: int, pace: float) -> tuple[float, bool]:
    """One way on one problem."""
    problem = problem_of(cell.family, cell.rows, seed)
    if cell.way == USUAL:
        found = in_the_clear(problem, DEADLINE, seed=seed, delay=cell.delay)
    else:
        each = 1 / pace + OTHER_ROUNDS * cell.delay
        limits = Limits(generations=max(1, int((DEADLINE - OTHER_SET_UP) / each)))
        found = solve(problem, disclose=OTHER, seed=seed, limits=limits, engine="simulated")
    return found.percent_of_optimum or 0.0, bool(found.proved)


def cell_of(job: tuple[Cell, int, float]) -> Cell:
    """All runs of one way on the problems of a family and size."""
    cell, count, pace = job
    runs = [run_of(cell, seed, pace) for seed in range(FIRST_SEED, FIRST_SEED + count)]
    percent = tuple(round(each, 2) for each, _ in runs)
    return msgspec.structs.replace(cell, percent=percent, proved=sum(each for _, each in runs))


def measure(
    seeds: Mapping[int, int], families: Sequence[str], paces: usual_families.Paces
) -> Iterator[Cell]:
    """All cells."""
    jobs = [
        (Cell(family, rows, delay, way, (), 0), count, paces.of(rows)[1])
        for rows, count in seeds.items()
        for family in (FAMILIES if rows <= MANY else LARGE_FAMILIES)
        if family in families
        for delay in DELAYS
        for way in WAYS
    ]
    with ProcessPoolExecutor(2) as pool:
        yield from pool.map(cell_of, jobs)


def shown(cell: Cell, /) -> str:
    """The median, bold where most are proved."""
    median = f"{statistics.median(cell.percent):.1f}"
    return f"**{median}**" if 2 * cell.proved > len(cell.percent) else median


def table(cells: tuple[Cell, ...], /) -> list[str]:
    """A Markdown table: a line per family and size, a column per delay, with both ways in it."""
    lines = [
        "| costs | " + " | ".join(f"{1000 * delay:g} ms" for delay in DELAYS) + " |",
        "| --- |" + " --- |" * len(DELAYS),
    ]
    found = {(each.family, each.rows, each.delay, each.way): each for each in cells}
    for family, rows in dict.fromkeys((each.family, each.rows) for each in cells):
        texts = [", ".join(shown(found[family, rows, delay, way]) for way in WAYS)
                 for delay in DELAYS]  # fmt: skip
        lines.append(f"| {family}, {rows} rows | " + " | ".join(texts) + " |")
    return lines


def worse(cells: tuple[Cell, ...], /) -> list[str]:
    """Where `sealed` is worse than `top:15` in the median, by more than what is rounded."""
    found = {(each.family, each.rows, each.delay, each.way): each for each in cells}
    return [
        f"{family}, {rows} rows, {1000 * delay:g} ms"
        for (family, rows, delay, way), cell in found.items()
        if way == USUAL and cell.distance > found[family, rows, delay, OTHER].distance
    ]


def read(path: Path, /) -> tuple[Cell, ...]:
    """The cells of a file that `--json` wrote."""
    return read_json(path, tuple[Cell, ...])


def main() -> None:
    """Measure and print."""
    parser = options_of(__file__, __doc__, only=FAMILIES, rows=list(SEEDS))
    parser.add_argument("--paces", type=Path, metavar="FILE", default=PACES)
    parser.add_argument("--seeds", type=int, help="how many problems of each")
    chosen = parser.parse_args()
    seeds = {rows: chosen.seeds or SEEDS.get(rows, 1) for rows in chosen.rows}
    cells: list[Cell] = []
    for cell in measure(seeds, chosen.only, usual_families.read(chosen.paces).paces):
        print(cell.family, cell.rows, cell.delay, cell.way, shown(cell), flush=True)
        cells.append(cell)
    write_json(chosen.json, cells)
    print("\n".join(table(tuple(cells))))
    print("worse than", OTHER, "in:", "; ".join(worse(tuple(cells))) or "none")


if __name__ == "__main__":
    main()
