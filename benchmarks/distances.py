"""How far apart nodes may be: ways to a plan at equal time, over sizes and delays of the network.

    python -m benchmarks.distances                  a table
    python -m benchmarks.distances --json FILE      also to a file

What steps take is the model that drafts agreements: rounds and bytes as declared, 0.8 ms per round
and 20 ms per MB, and the delay in every round. Generations of `top:15` were measured on near nodes
(docs/figures/usual-families.json), and wait for its 9 rounds besides. The runs are in the clear,
which gives what nodes give.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

import msgspec

from benchmarks import usual_families
from benchmarks.sealed_families import FAMILIES
from benchmarks.usual_families import SET_UP, problem_of
from tacit.engine.agreement import forest_courses
from tacit.engine.derived import (
    KnownTime,
    finish_rule,
    finished_course,
    fitted_search,
    fitted_start,
    start_seconds,
    step_seconds,
)
from tacit.engine.derived.finish_time import MEGABYTE_SECONDS, ROUND_SECONDS
from tacit.errors import AgreementError
from tacit.mpc.forest import cost as phase_cost
from tacit.problems import Problem
from tacit.runs import Limits, solve
from tacit.search.moves import ExactParameters, SealedParameters, fitted_parameters, public_shape

DEADLINE = 20.0
DELAYS = (0.0, 0.001, 0.01, 0.05)
"""One way, in seconds."""
SEEDS = {30: 11, 100: 11, 300: 1, 1000: 1}
MANY = 30
"""Rows up to which there are all families; larger problems take long in the clear, too."""
LARGE_FAMILIES = ("ap", "delays")
OTHER, OTHER_ROUNDS = "top:15", 9
WAYS = ("usual", "search", "exact", OTHER)
PACES = Path(__file__).parent.parent / "docs" / "figures" / "usual-families.json"


class Cell(msgspec.Struct, frozen=True):
    """The runs of one way: percent of the optimum, and how many were proved."""

    family: str
    rows: int
    delay: float
    way: str
    percent: tuple[float, ...]
    proved: int


def usual(problem: Problem, delay: float) -> tuple[SealedParameters, int]:
    """What is agreed on where nobody says otherwise, and the generations that fit."""
    search = fitted_parameters(problem)
    known = KnownTime(deadline=DEADLINE, delay=delay)
    chosen = fitted_search(problem, search, [(1,)], known)
    chosen = fitted_start(problem, chosen, [(1,)], known)
    course = finished_course(problem, replace(search, finish=1), (1,))
    steps = step_seconds(course, delay=delay)
    left = DEADLINE - SET_UP
    if chosen.finish:
        part = finish_rule(course.forest.layout).part * DEADLINE
        left -= min(part, steps.beginning + chosen.finish * steps.phase)
    if chosen.start == "grown":
        left -= start_seconds(problem, chosen, (1,), delay=delay)
    return chosen, max(1, int(left / steps.generation))


def search(problem: Problem, delay: float) -> tuple[SealedParameters, int]:
    """The search without a finish."""
    chosen = fitted_parameters(problem)
    course = finished_course(problem, replace(chosen, finish=1), (1,))
    seconds = step_seconds(course, delay=delay).generation
    return chosen, max(1, int((DEADLINE - SET_UP) / seconds))


def exact(problem: Problem, delay: float) -> tuple[ExactParameters, int]:
    """The exact solver from nothing, as far as it comes; no phases where none fits."""
    parameters = ExactParameters()
    (course,) = forest_courses(problem, [public_shape(problem, (1,))], parameters, seed=0)
    left, done = DEADLINE - SET_UP, 0
    for phase in course.phases:
        cost = phase_cost(3, phase, course.shape)
        left -= cost.rounds * (ROUND_SECONDS + delay) + MEGABYTE_SECONDS * cost.bytes_per_node / 1e6
        if left < 0:
            break
        done += 1
    return parameters, done


def other(problem: Problem, delay: float) -> int:
    """How many generations of `top:15` fit."""
    paces = usual_families.read(PACES).paces.other
    pace = paces[max(rows for rows in paces if rows <= problem.rows)]
    return max(1, int((DEADLINE - SET_UP) / (1 / pace + OTHER_ROUNDS * delay)))


def run_of(way: str, problem: Problem, delay: float, seed: int) -> tuple[float, bool] | None:
    """One way on one problem; None where it does not come to any plan."""
    settings: SealedParameters | ExactParameters | None = None
    try:
        if way == "usual":
            settings, steps = usual(problem, delay)
        elif way == "search":
            settings, steps = search(problem, delay)
        elif way == "exact":
            settings, steps = exact(problem, delay)
        else:
            steps = other(problem, delay)
    except AgreementError:
        return None  # too large for it
    if not steps:
        return None
    disclosure = OTHER if way == OTHER else "sealed"
    found = solve(problem, disclose=disclosure, settings=settings, seed=seed,
                  limits=Limits(generations=steps), engine="simulated")  # fmt: skip
    if found.percent_of_optimum is None:
        return None
    return found.percent_of_optimum, bool(found.proved)


def cell_of(job: tuple[str, int, float, str]) -> Cell:
    """All runs of one way on the problems of a family and size."""
    family, rows, delay, way = job
    seeds = range(501, 501 + SEEDS[rows])
    runs = [run_of(way, problem_of(family, rows, s), delay, s) for s in seeds]
    done = [each for each in runs if each is not None]
    percent = tuple(round(each[0], 2) for each in done)
    return Cell(family, rows, delay, way, percent, sum(each[1] for each in done))


def measure(sizes: tuple[int, ...]) -> Iterator[Cell]:
    """All cells."""
    jobs = [
        (family, rows, delay, way)
        for rows in sizes
        for family in (FAMILIES if rows <= MANY else LARGE_FAMILIES)
        for delay in DELAYS
        for way in WAYS
    ]
    with ProcessPoolExecutor() as pool:
        yield from pool.map(cell_of, jobs)


def shown(cell: Cell, /) -> str:
    """The median, bold where most are proved."""
    if not cell.percent:
        return "none"
    median = f"{statistics.median(cell.percent):.1f}"
    return f"**{median}**" if 2 * cell.proved > SEEDS[cell.rows] else median


def table(cells: tuple[Cell, ...], /) -> list[str]:
    """A Markdown table: a line per family and size, a column per delay, with all ways in it."""
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
    """Where the usual way is worse than `top:15` in the median, by more than what is rounded."""
    found = {(each.family, each.rows, each.delay, each.way): each for each in cells}
    return [
        f"{family}, {rows} rows, {1000 * delay:g} ms"
        for (family, rows, delay, way), cell in found.items()
        if way == "usual" and _distance(cell) > _distance(found[family, rows, delay, OTHER])
    ]


def _distance(cell: Cell) -> float:
    return round(abs(statistics.median(cell.percent) - 100), 2) if cell.percent else float("inf")


def read(path: Path, /) -> tuple[Cell, ...]:
    """The cells of a file that `--json` wrote."""
    return msgspec.json.decode(path.read_bytes(), type=tuple[Cell, ...])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--rows", nargs="*", type=int, default=list(SEEDS))
    chosen = parser.parse_args()
    cells: list[Cell] = []
    for cell in measure(tuple(chosen.rows)):
        print(cell.family, cell.rows, cell.delay, cell.way, shown(cell), flush=True)
        cells.append(cell)
    if chosen.json is not None:
        encoded = msgspec.json.format(msgspec.json.encode(cells), indent=1)
        chosen.json.write_bytes(encoded + b"\n")
    print("\n".join(table(tuple(cells))))
    print("worse than", OTHER, "in:", "; ".join(worse(tuple(cells))) or "none")


if __name__ == "__main__":
    main()
