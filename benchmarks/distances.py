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
from dataclasses import replace
from pathlib import Path

import msgspec

from benchmarks import usual_families
from benchmarks.usual_families import SET_UP, problem_of
from tacit.engine.agreement import forest_courses
from tacit.engine.derived import (
    KnownTime,
    finish_rule,
    finished_course,
    fitted_search,
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
FAMILIES = ("ap", "delays")
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
    chosen = fitted_search(problem, search, [(1,)], KnownTime(deadline=DEADLINE, delay=delay))
    course = finished_course(problem, replace(search, finish=1), (1,))
    steps = step_seconds(course, delay=delay)
    left = DEADLINE - SET_UP
    if chosen.finish:
        part = finish_rule(course.forest.layout).part * DEADLINE
        left -= min(part, steps.beginning + chosen.finish * steps.phase)
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


def measure(sizes: tuple[int, ...]) -> Iterator[Cell]:
    """All cells."""
    for rows in sizes:
        for family in FAMILIES:
            for delay in DELAYS:
                for way in WAYS:
                    seeds = range(501, 501 + SEEDS[rows])
                    runs = [run_of(way, problem_of(family, rows, s), delay, s) for s in seeds]
                    done = [each for each in runs if each is not None]
                    percent = tuple(round(each[0], 2) for each in done)
                    yield Cell(family, rows, delay, way, percent, sum(each[1] for each in done))


def shown(cell: Cell, /) -> str:
    """A cell of the table: the median, and how many are proved."""
    if not cell.percent:
        return "none"
    proved = f" ({cell.proved} of {SEEDS[cell.rows]})" if cell.proved else ""
    return f"{statistics.median(cell.percent):.1f}{proved}"


def table(cells: tuple[Cell, ...], /) -> list[str]:
    """A Markdown table: a line per problem and delay, a column per way."""
    lines = ["| costs, delay | " + " | ".join(WAYS) + " |", "| --- |" + " --- |" * len(WAYS)]
    found = {(each.family, each.rows, each.delay, each.way): each for each in cells}
    for family, rows, delay in dict.fromkeys((e.family, e.rows, e.delay) for e in cells):
        texts = [shown(found[family, rows, delay, way]) for way in WAYS]
        lines.append(f"| {family}, {rows}, {1000 * delay:g} ms | " + " | ".join(texts) + " |")
    return lines


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


if __name__ == "__main__":
    main()
