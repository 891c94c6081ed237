"""Sealed searches of tours that no rule was chosen on, directed ones among them, and `top:15`.

    python -m studies.benchmarks.unseen_tours --json FILE            paces, runs and bounds; a table
    python -m studies.benchmarks.unseen_tours --json FILE --resume   goes on with what the file has
    python -m studies.benchmarks.unseen_tours --show FILE            the table of a file

What a generation takes is measured on three local nodes in turns with the search of
docs/figures/tours.json, whose pace on idle cores is known; only the ratio of the two counts, so
other programs may run. The runs are in the clear, which gives what nodes give, with as many
generations as nodes do by the deadline, and no more than are agreed on. `top:15` has the pace of
the fastest run of docs/figures/equal-time.json. Percentages are of a bound below which no tour is
(`studies.benchmarks.drawn_tours`), so what is lost to the optimum is less.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from studies.benchmarks import equal_time, tours
from studies.benchmarks.drawn_tours import DIRECTED, FAMILIES, drawn_tour, least_length
from studies.benchmarks.measuring import FIGURES, options_of, write_json
from studies.benchmarks.sealed import Work, pace
from tacit.derived import tour_length
from tacit.local import LocalCluster
from tacit.problems import Problem, shipped_problem
from tacit.runs import Limits, solve

OTHER = "top:15"
DEADLINES = (20.0, 60.0)
SIZES = {True: (30, 50, 100), False: (100,)}
"""Stops, of directed tours and of others."""
SEEDS = range(701, 706)
TURNS, TURN_GENERATIONS = 3, 20


class Shape(NamedTuple):
    """All that a pace depends on."""

    directed: bool
    stops: int
    deadline: float

    @property
    def name(self) -> str:
        """Its key in files."""
        return f"{'directed' if self.directed else 'symmetric'}, {self.stops}, {self.deadline:g} s"


class Drawn(msgspec.Struct, frozen=True):
    """A tour, the bound below which none is, and what both ways found by their deadlines."""

    family: str
    stops: int
    seed: int
    bound: int
    usual: dict[str, int]
    other: dict[str, int]


class Content(msgspec.Struct, frozen=True):
    """All of it; milliseconds of a generation by shape."""

    ms: dict[str, float]
    tours: tuple[Drawn, ...] = ()


def shapes() -> list[Shape]:
    """Those that are measured."""
    return [Shape(d, n, t) for d, sizes in SIZES.items() for n in sizes for t in DEADLINES]


def measured_paces() -> dict[str, float]:
    """Milliseconds of a generation on idle cores, by the ratio to a search whose pace is known."""
    usual = tours.Setting(60.0)
    (known,) = (
        row.pace.ms for row in tours.read(FIGURES / "tours.json").rows if row.setting == usual
    )
    with LocalCluster() as cluster:

        def milliseconds(problem: Problem, deadline: float) -> float:
            parameters = tours.settings_of(problem, tours.Setting(deadline))
            work = Work("tour", problem, parameters)
            return pace(work, cluster, generations=TURN_GENERATIONS)["ms"]

        found: dict[str, float] = {}
        for shape in shapes():
            family = next(name for name in FAMILIES if (name in DIRECTED) == shape.directed)
            problem = drawn_tour(family, 1, stops=shape.stops)
            ratios = []
            for _ in range(TURNS):
                beside = milliseconds(shipped_problem(tours.MEASURED_ON), usual.deadline)
                ratios.append(milliseconds(problem, shape.deadline) / beside)
            found[shape.name] = round(known * statistics.median(ratios), 2)
            print(shape.name, found[shape.name], [round(each, 3) for each in ratios], flush=True)
    return found


def other_per_second() -> float:
    """Generations of `top:15`: those of the fastest run that was measured."""
    rows = equal_time.read(FIGURES / "equal-time.json").measured
    return max(
        count / (row.seconds - tours.SET_UP)
        for row in rows
        if row.disclosure == OTHER
        for count in row.generations
    )


def length_of(problem: Problem, disclosure: str, deadline: float, pace_ms: float, seed: int) -> int:
    """What one run in the clear finds."""
    sealed = disclosure == "sealed"
    generations = int((deadline - tours.SET_UP) / pace_ms * 1000)
    if sealed:
        generations = min(generations, tour_length(problem))
    found = solve(
        problem,
        disclose=disclosure,
        settings=tours.settings_of(problem, tours.Setting(deadline)) if sealed else None,
        limits=Limits(generations=generations),
        engine="simulated",
        seed=seed,
    )
    return -int(problem.fitness(0, np.array([found.plan], dtype=np.int32))[0])


def run_of(family: str, stops: int, seed: int, ms: dict[str, float]) -> Drawn:
    """One tour by its deadlines, both ways."""
    problem = drawn_tour(family, seed, stops=stops)
    usual, other = {}, {}
    for deadline in DEADLINES:
        each = ms[Shape(family in DIRECTED, stops, deadline).name]
        key = f"{deadline:g}"
        usual[key] = length_of(problem, "sealed", deadline, each, seed)
        other[key] = length_of(problem, OTHER, deadline, 1000 / other_per_second(), seed)
    weights = problem.objectives[0].weights
    assert weights is not None
    return Drawn(family, stops, seed, least_length(weights), usual, other)


def measure(content: Content, families: list[str], sizes: list[int]) -> Iterator[Drawn]:
    """The tours that the content does not have yet, by seed, so that an end leaves all families."""
    done = {(each.family, each.stops, each.seed) for each in content.tours}
    for seed in SEEDS:
        for family in families:
            for stops in SIZES[family in DIRECTED]:
                if stops in sizes and (family, stops, seed) not in done:
                    yield run_of(family, stops, seed, content.ms)


def percent(drawn: list[Drawn], way: str, deadline: float) -> list[float]:
    """Of the bound."""
    return [100 * getattr(each, way)[f"{deadline:g}"] / each.bound for each in drawn]


def table(content: Content, /) -> list[str]:
    """A Markdown table: medians, the worst in brackets, of the usual way and the other."""
    heads = [f"`sealed`, {t:g} s | `{OTHER}`, {t:g} s" for t in DEADLINES]
    lines = ["| tours | " + " | ".join(heads) + " |", "| --- |" + " --- |" * (2 * len(heads))]
    rows = {(each.family, each.stops) for each in content.tours}
    for family, stops in sorted(rows, key=lambda row: (list(FAMILIES).index(row[0]), row[1])):
        drawn = [each for each in content.tours if (each.family, each.stops) == (family, stops)]
        cells = []
        for deadline in DEADLINES:
            for way in ("usual", "other"):
                found = percent(drawn, way, deadline)
                cells.append(f"{statistics.median(found):.1f} ({max(found):.1f})")
        lines.append(f"| {family}, {stops} stops | " + " | ".join(cells) + " |")
    return lines


def read(path: Path, /) -> Content:
    """The content of a file that `--json` wrote."""
    return msgspec.json.decode(path.read_bytes(), type=Content)


def main() -> None:
    """Measure and print."""
    parser = options_of(__file__, __doc__, only=list(FAMILIES), resume=True)
    parser.add_argument("--show", type=Path, metavar="FILE")
    parser.add_argument("--stops", nargs="*", type=int, default=[30, 50, 100])
    parser.add_argument("--pace-only", action="store_true")
    chosen = parser.parse_args()
    if chosen.show is not None:
        print("\n".join(table(read(chosen.show))))
        return
    content = read(chosen.json) if chosen.resume else Content(measured_paces())
    write_json(chosen.json, content)
    for drawn in () if chosen.pace_only else measure(content, chosen.only, chosen.stops):
        content = Content(content.ms, (*content.tours, drawn))
        write_json(chosen.json, content)
        print(drawn, flush=True)
    print("\n".join(table(content)))


if __name__ == "__main__":
    main()
