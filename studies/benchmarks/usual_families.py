"""Runs with the usual settings against `top:15` at equal time, on families of costs.

    python -m studies.benchmarks.usual_families                    a table; measures the paces first
    python -m studies.benchmarks.usual_families --json FILE        also to a file
    python -m studies.benchmarks.usual_families --paces FILE       with the paces of such a file

How long steps of `sealed` take is measured on three local nodes as a ratio to the model that drafts
agreements, and how many generations of `top:15` there are per second; both on an idle machine. The
runs themselves are in the clear, which gives what nodes give, with as many steps as the nodes do by
the deadline: so there can be many.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import msgspec

from studies.benchmarks.measuring import FAMILIES, options_of, problem_of, read_json, write_json
from studies.benchmarks.steps_in_time import in_the_clear, measured_slower
from tacit.local import LocalCluster
from tacit.problems import generate_assignment
from tacit.runs import EngineChoice, Limits, solve

ROWS, SEEDS = (30, 100, 300), 11
FIRST_SEED = 301
DEADLINES = (2.0, 5.0, 20.0)
OTHER = "top:15"
MEASURED_SECONDS = 6.0
MEASURED_SEEDS = (7, 8, 9)
OTHER_SET_UP = 0.6
"""Seconds of a deadline in which no generation of `top:15` is done."""


class Paces(msgspec.Struct, frozen=True):
    """By rows, on three local nodes."""

    slower: dict[int, float]
    """Seconds of a step of `sealed`, divided by those of the model."""
    other: dict[int, float]
    """Generations of `top:15` per second."""

    def of(self, rows: int, /) -> tuple[float, float]:
        """Both, of the nearest size that was measured and is not larger."""
        return tuple(  # type: ignore[return-value]
            each[max((known for known in each if known <= rows), default=min(each))]
            for each in (self.slower, self.other)
        )


class Cell(msgspec.Struct, frozen=True):
    """The runs of one family, size and deadline, in percent of the optimum."""

    family: str
    rows: int
    deadline: float
    usual: tuple[float, ...]
    other: tuple[float, ...]
    proved: int

    @property
    def is_as_good(self) -> bool:
        """Whether the usual way is at least as good, in the median."""
        distances = [abs(statistics.median(each) - 100) for each in (self.usual, self.other)]
        return distances[0] <= distances[1]


class Content(msgspec.Struct, frozen=True):
    """All of it."""

    paces: Paces
    cells: tuple[Cell, ...]


def measured_paces(sizes: Sequence[int], seconds: float = MEASURED_SECONDS) -> Paces:
    """Measure on nodes of this machine."""
    slower, other = {}, {}
    with LocalCluster() as cluster:
        engine = EngineChoice(cluster=cluster.folder / "cluster.toml")
        for rows in sizes:
            problems = [generate_assignment(seed, rows=rows) for seed in MEASURED_SEEDS]
            measured_slower(problems[:1], seconds, engine)  # nodes import what they need
            slower[rows] = measured_slower(problems, seconds, engine)
            found = solve(problems[0], disclose=OTHER, deadline=seconds, engine=engine)
            other[rows] = round(found.generations / seconds, 1)
    return Paces(slower, other)


def usual_run(
    family: str, rows: int, deadline: float, seed: int, slower: float
) -> tuple[float, bool]:
    """What `sealed` finds on one problem, and whether it is proved."""
    found = in_the_clear(problem_of(family, rows, seed), deadline, seed=seed, slower=slower)
    return found.percent_of_optimum or 0.0, bool(found.proved)


def other_run(family: str, rows: int, deadline: float, seed: int, pace: float) -> float:
    """What `top:15` finds."""
    generations = max(1, int(pace * (deadline - OTHER_SET_UP)))
    found = solve(problem_of(family, rows, seed), disclose=OTHER, seed=seed, engine="simulated",
                  limits=Limits(generations=generations))  # fmt: skip
    return found.percent_of_optimum or 0.0


def cell_of(job: tuple[str, int, float, int, Paces]) -> Cell:
    """All runs of a cell."""
    family, rows, deadline, count, paces = job
    slower, pace = paces.of(rows)
    seeds = range(FIRST_SEED, FIRST_SEED + count)
    usual = [usual_run(family, rows, deadline, seed, slower) for seed in seeds]
    other = [other_run(family, rows, deadline, seed, pace) for seed in seeds]
    return Cell(
        family,
        rows,
        deadline,
        tuple(round(percent, 2) for percent, _ in usual),
        tuple(round(percent, 2) for percent in other),
        sum(proved for _, proved in usual),
    )


def measure(
    paces: Paces, families: Sequence[str], sizes: Sequence[int], seeds: int
) -> Iterator[Cell]:
    """All cells, with two processes."""
    jobs = [
        (family, rows, deadline, seeds, paces)
        for rows in sizes
        for family in families
        for deadline in DEADLINES
    ]
    with ProcessPoolExecutor(2) as pool:
        yield from pool.map(cell_of, jobs)


def table(content: Content, /) -> list[str]:
    """A Markdown table of medians: the usual way (and how many are proved), then the other."""
    found = {(each.family, each.rows, each.deadline): each for each in content.cells}
    heads = [f"{t:g} s" for t in DEADLINES]
    lines = ["| costs | " + " | ".join(heads) + " |", "| --- |" + " --- |" * len(heads)]
    for family, rows in dict.fromkeys((each.family, each.rows) for each in content.cells):
        cells = [_shown(found[family, rows, deadline]) for deadline in DEADLINES]
        lines.append(f"| {family}, {rows} rows | " + " | ".join(cells) + " |")
    return lines


def read(path: Path, /) -> Content:
    """The content of a file that `--json` wrote."""
    return read_json(path, Content)


def _shown(cell: Cell) -> str:
    usual, other = statistics.median(cell.usual), statistics.median(cell.other)
    proved = f" ({cell.proved} of {len(cell.usual)})" if cell.proved else ""
    return f"{usual:.1f}{proved} / {other:.1f}"


def main() -> None:
    """Measure and print."""
    parser = options_of(__file__, __doc__, only=FAMILIES, rows=ROWS, seeds=SEEDS)
    parser.add_argument("--paces", type=Path, metavar="FILE")
    chosen = parser.parse_args()
    paces = measured_paces(chosen.rows) if chosen.paces is None else read(chosen.paces).paces
    print(paces, flush=True)
    cells: list[Cell] = []
    for cell in measure(paces, chosen.only, chosen.rows, chosen.seeds):
        mark = "" if cell.is_as_good else "  WORSE"
        print(cell.family, cell.rows, cell.deadline, _shown(cell) + mark, flush=True)
        cells.append(cell)
        write_json(chosen.json, Content(paces, tuple(cells)))
    print("\n".join(table(Content(paces, tuple(cells)))))


if __name__ == "__main__":
    main()
