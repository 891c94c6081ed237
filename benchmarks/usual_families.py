"""What happens where nobody says otherwise, against `top:15` at equal time, on families of costs.

    python -m benchmarks.usual_families                    a table; measures the paces first
    python -m benchmarks.usual_families --json FILE        also to a file
    python -m benchmarks.usual_families --paces FILE       with the paces of a file

Generations per second of both are measured on three local nodes, on an idle machine. The runs
themselves are in the clear, which gives what nodes give, with as many steps as the nodes would have
done by the deadline: so there can be many.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

import msgspec

from benchmarks.sealed_families import FAMILIES, WIDE
from tacit.engine.agreement import FinishedCourse
from tacit.engine.derived import (
    KnownTime,
    finish_rule,
    finished_course,
    fitted_search,
    fitted_start,
    start_seconds,
    step_seconds,
)
from tacit.problems import Problem, generate_assignment, generate_named
from tacit.runs import Limits, solve
from tacit.runs.sealed.finishing import FEWEST_PHASES
from tacit.search.moves import SealedParameters, fitted_parameters

SEEDS = {30: 11, 100: 11, 300: 11}
"""How many problems of each size."""
DEADLINES = (2.0, 5.0, 20.0)
OTHER = "top:15"
MEASURED_SECONDS = 6.0
SET_UP = 0.6
"""Seconds of a deadline in which no generation is done: the start, the first batch, the opening."""
MARGIN = 1.3


class Paces(msgspec.Struct, frozen=True):
    """Generations per second by rows, on three local nodes."""

    search: dict[int, float]
    other: dict[int, float]


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


def measured_paces() -> Paces:
    """Measure on nodes of this machine."""

    def per_second(rows: int, disclosure: str) -> float:
        problem = generate_assignment(7, rows=rows)
        settings = fitted_parameters(problem) if disclosure == "sealed" else None
        found = solve(problem, disclose=disclosure, deadline=MEASURED_SECONDS, settings=settings)
        return round(found.generations / (MEASURED_SECONDS - SET_UP), 1)

    return Paces(
        {rows: per_second(rows, "sealed") for rows in SEEDS},
        {rows: per_second(rows, OTHER) for rows in SEEDS},
    )


def problem_of(family: str, rows: int, seed: int) -> Problem:
    """A problem; delays and slots have half as many columns again."""
    columns = rows + rows // 2 if family in WIDE else rows
    return generate_named(family, seed, rows=rows, columns=columns)


def _usual(problem: Problem, deadline: float, pace: float) -> tuple[SealedParameters, int]:
    """What is chosen for a deadline, and how many generations, at this pace."""
    search = fitted_parameters(problem)
    known = KnownTime(deadline=deadline)
    chosen = fitted_search(problem, search, [(1,)], known)
    chosen = fitted_start(problem, chosen, [(1,)], known)
    model = step_seconds(finished_course(problem, replace(search, finish=1), (1,)))
    slower = 1 / pace / step_seconds(_same_size(problem)).generation
    grown = start_seconds(problem, chosen, (1,)) if chosen.start == "grown" else 0.0
    left, phase, begins = deadline - SET_UP, model.phase * slower, model.beginning * slower
    left -= grown * slower
    if left < 0:
        raise ValueError(f"the start of {problem.name} does not fit {deadline} s")
    rule = finish_rule(finished_course(problem, replace(search, finish=1), (1,)).forest.layout)
    most = min(MARGIN * (begins + chosen.finish * phase), rule.part * deadline)
    fits = int((most - begins) / phase)
    phases = min(chosen.finish, fits) if fits >= min(rule.least, FEWEST_PHASES) else 0
    generation = model.generation * slower
    rest = int((left - most * bool(phases)) / generation)
    return replace(chosen, finish=phases), max(0 if grown else 1, rest)


def _same_size(problem: Problem) -> FinishedCourse:
    """The square problem on which paces are measured."""
    square = generate_assignment(1, rows=problem.rows)
    return finished_course(square, replace(fitted_parameters(square), finish=1), (1,))


def run_of(job: tuple[str, int, float, int, Paces]) -> tuple[float, float, bool]:
    """Both ways on one problem."""
    family, rows, deadline, seed, paces = job
    problem = problem_of(family, rows, seed)
    settings, generations = _usual(problem, deadline, paces.search[rows])
    limits = Limits(generations=generations)
    usual = solve(problem, disclose="sealed", settings=settings, limits=limits, seed=seed,
                  engine="simulated")  # fmt: skip
    others = max(1, int(paces.other[rows] * (deadline - SET_UP)))
    other = solve(problem, disclose=OTHER, limits=Limits(generations=others), seed=seed,
                  engine="simulated")  # fmt: skip
    return usual.percent_of_optimum or 0.0, other.percent_of_optimum or 0.0, bool(usual.proved)


def measure(paces: Paces, families: Sequence[str], sizes: Sequence[int]) -> Iterator[Cell]:
    """All cells, with two processes."""
    with ProcessPoolExecutor(2) as pool:
        for rows in sizes:
            for family in families:
                for deadline in DEADLINES:
                    seeds = range(301, 301 + SEEDS[rows])
                    jobs = [(family, rows, deadline, seed, paces) for seed in seeds]
                    runs = list(pool.map(run_of, jobs))
                    yield Cell(
                        family,
                        rows,
                        deadline,
                        tuple(round(each[0], 2) for each in runs),
                        tuple(round(each[1], 2) for each in runs),
                        sum(each[2] for each in runs),
                    )


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
    return msgspec.json.decode(path.read_bytes(), type=Content)


def _shown(cell: Cell) -> str:
    usual, other = statistics.median(cell.usual), statistics.median(cell.other)
    proved = f" ({cell.proved} of {len(cell.usual)})" if cell.proved else ""
    return f"{usual:.1f}{proved} / {other:.1f}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--paces", type=Path, metavar="FILE")
    parser.add_argument("--only", nargs="*", choices=FAMILIES, default=list(FAMILIES))
    parser.add_argument("--rows", nargs="*", type=int, default=list(SEEDS))
    chosen = parser.parse_args()
    paces = (
        measured_paces()
        if chosen.paces is None
        else msgspec.json.decode(chosen.paces.read_bytes(), type=Paces)
    )
    print(paces, flush=True)
    cells = []
    for cell in measure(paces, chosen.only, chosen.rows):
        mark = "" if cell.is_as_good else "  WORSE"
        print(cell.family, cell.rows, cell.deadline, _shown(cell) + mark, flush=True)
        cells.append(cell)
    content = Content(paces, tuple(cells))
    if chosen.json is not None:
        encoded = msgspec.json.format(msgspec.json.encode(content), indent=1)
        chosen.json.write_bytes(encoded + b"\n")
    print("\n".join(table(content)))


if __name__ == "__main__":
    main()
