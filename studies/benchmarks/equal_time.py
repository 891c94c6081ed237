"""The plans that `sealed` and two disclosures find within the same time, on three local nodes.

    python -m studies.benchmarks.equal_time                  a table, about five minutes
    python -m studies.benchmarks.equal_time --json FILE      also to a file
    python -m studies.benchmarks.equal_time --show FILE      the table of a file

A tour of 100 cities. Every run has real nodes, TLS and the same deadline; only the disclosure
differs. Beware of what it does not keep apart: `sealed` is simulated annealing, the others are a
genetic algorithm.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Sequence
from pathlib import Path

import msgspec

from studies.benchmarks.measuring import options_of, write_json
from tacit.problems import Problem, shipped_problem
from tacit.runs import solve

FAMILIES = {"tour": "tour, kroD100"}
"""What the rows of the table are called; of assignments see `usual_families`."""
DISCLOSURES = ("sealed", "top:15", "order")
DEADLINES = (5, 20)


class Measured(msgspec.Struct, frozen=True):
    """The runs of one family, disclosure and deadline."""

    family: str
    disclosure: str
    seconds: int
    percent_of_optimum: tuple[float, ...]
    generations: tuple[int, ...]

    @property
    def median(self) -> float:
        """The median quality."""
        return statistics.median(self.percent_of_optimum)


class EqualTime(msgspec.Struct, frozen=True):
    """What was measured, and on what."""

    cores: int
    load: float
    """Processes that wanted a core, mean of the last minute, before the first run."""
    runs: int
    measured: tuple[Measured, ...]


def problem_of(family: str, /) -> Problem:
    """One problem per family."""
    return shipped_problem({"tour": "kroD100"}[family])


def measure(family: str, disclosure: str, seconds: int, /, *, runs: int) -> Measured:
    """Solve the problem of a family several times."""
    problem, percents, generations = problem_of(family), [], []
    for seed in range(runs):
        found = solve(problem, disclose=disclosure, deadline=float(seconds), seed=seed)
        if found.percent_of_optimum is None:
            raise SystemExit(f"the optimum of {family} is not known")
        percents.append(round(found.percent_of_optimum, 2))
        generations.append(found.generations)
    return Measured(family, disclosure, seconds, tuple(percents), tuple(generations))


def table(content: EqualTime, /) -> list[str]:
    """A Markdown table of the medians: rows are families and deadlines, columns disclosures."""
    found = {(each.family, each.disclosure, each.seconds): each for each in content.measured}
    lines = [
        "| | " + " | ".join(f"`{disclosure}`" for disclosure in DISCLOSURES) + " |",
        "| --- |" + " --- |" * len(DISCLOSURES),
    ]
    for family, name in FAMILIES.items():
        for seconds in DEADLINES:
            cells = [f"{found[family, each, seconds].median:.1f} %" for each in DISCLOSURES]
            lines.append(f"| {name}, {seconds} s | " + " | ".join(cells) + " |")
    return lines


def read(path: Path, /) -> EqualTime:
    """The content of a file that `--json` wrote."""
    return msgspec.json.decode(path.read_bytes(), type=EqualTime)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = options_of(__file__, __doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--show", type=Path, metavar="FILE")
    chosen = parser.parse_args(arguments)
    if chosen.show is not None:
        content = read(chosen.show)
    else:
        load = os.getloadavg()[0]
        measured = []
        for family in FAMILIES:
            for seconds in DEADLINES:
                for disclosure in DISCLOSURES:
                    each = measure(family, disclosure, seconds, runs=chosen.runs)
                    print(family, disclosure, seconds, each.percent_of_optimum, flush=True)
                    measured.append(each)
        content = EqualTime(os.cpu_count() or 1, round(load, 1), chosen.runs, tuple(measured))
    write_json(chosen.json, content)
    print("\n".join(table(content)))


if __name__ == "__main__":
    main()
