"""Sealed searches of tours with 100 stops within a deadline, against the known optima.

    python -m studies.benchmarks.tours                     a table; measures the paces first
    python -m studies.benchmarks.tours --json FILE         also to a file, which has all runs
    python -m studies.benchmarks.tours --paces FILE        with the paces of such a file
    python -m studies.benchmarks.tours --pace-only --json FILE   nothing but the paces

How long a generation takes is measured on three local nodes with TLS, on an idle machine; with a
delay, its rounds are delayed by the nodes themselves. The runs are in the clear, which gives what
nodes give, with as many generations as the nodes would do by the deadline at that pace, and no more
than are agreed on.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from studies.benchmarks.measuring import options_of, write_json
from studies.benchmarks.sealed import Work, pace
from tacit.derived import KnownTime, fitted_tour, tour_length
from tacit.local import LocalCluster
from tacit.problems import Problem, shipped_problem
from tacit.runs import Limits, solve
from tacit.search.moves import TourParameters, fitted_parameters

TOURS = ("kroA100", "kroB100", "kroC100", "kroD100", "kroE100", "rd100")
MEASURED_ON = "kroD100"
SET_UP = 0.6
"""Seconds of a deadline in which no generation is done: the start, the first batch, the opening."""
MEASURED_GENERATIONS = 60


class Setting(msgspec.Struct, frozen=True):
    """A deadline, and how long messages travel one way."""

    deadline: float
    delay_ms: float = 0.0

    @property
    def name(self) -> str:
        """Its row in tables."""
        return f"{self.deadline:g} s" + (f", {self.delay_ms:g} ms delay" if self.delay_ms else "")


SETTINGS = (Setting(60.0), Setting(300.0), Setting(135.0, 10.0))


class Pace(msgspec.Struct, frozen=True):
    """What a generation takes on nodes."""

    parents: int
    ms: float
    node_cpu_ms: float
    rounds: float
    megabytes_per_node: float


class Row(msgspec.Struct, frozen=True):
    """All runs of a setting: percent of the optimum, by tour."""

    setting: Setting
    pace: Pace
    generations: int
    percent: dict[str, tuple[float, ...]]

    @property
    def medians(self) -> list[float]:
        """Of each tour."""
        return [statistics.median(each) for each in self.percent.values()]


class Content(msgspec.Struct, frozen=True):
    """All of it."""

    rows: tuple[Row, ...]


def settings_of(problem: Problem, setting: Setting) -> TourParameters:
    """What a search takes where nothing is said; nobody tells it of a delay."""
    known = KnownTime(deadline=setting.deadline)
    return fitted_tour(problem, fitted_parameters(problem), [(1,)], known)


def measured_pace(setting: Setting) -> Pace:
    """Measure on nodes of this machine."""
    problem = shipped_problem(MEASURED_ON)
    parameters = settings_of(problem, setting)
    with LocalCluster(delay_ms=setting.delay_ms) as cluster:
        work = Work("tour", problem, parameters)
        found = pace(work, cluster, generations=MEASURED_GENERATIONS)
    return Pace(parameters.parents, **{name: round(value, 3) for name, value in found.items()})


def run_of(tour: str, setting: Setting, generations: int, seed: int) -> float:
    """One run in the clear."""
    problem = shipped_problem(tour)
    found = solve(
        problem,
        disclose="sealed",
        settings=settings_of(problem, setting),
        limits=Limits(generations=generations),
        engine="simulated",
        seed=seed,
    )
    return round(found.percent_of_optimum or 0.0, 3)


def runs(setting: Setting, each: Pace, seeds: Sequence[int]) -> Iterator[Row]:
    """The runs of a setting, after each tour."""
    fits = int((setting.deadline - SET_UP) / each.ms * 1000)
    generations = min(fits, tour_length(shipped_problem(MEASURED_ON)))
    percent: dict[str, tuple[float, ...]] = {}
    for tour in TOURS:
        percent[tour] = tuple(run_of(tour, setting, generations, seed) for seed in seeds)
        yield Row(setting, each, generations, dict(percent))


def table(content: Content, /) -> list[str]:
    """A Markdown table: medians of each tour, and the median of these."""
    lines = [
        "| | generations | " + " | ".join(TOURS) + " | median |",
        "| --- |" + " --- |" * (2 + len(TOURS)),
    ]
    for row in content.rows:
        cells = [f"{each:.2f}" for each in (*row.medians, statistics.median(row.medians))]
        lines.append(f"| {row.setting.name} | {row.generations:,} | " + " | ".join(cells) + " |")
    return lines


def read(path: Path, /) -> Content:
    """The content of a file that `--json` wrote."""
    return msgspec.json.decode(path.read_bytes(), type=Content)


def main() -> None:
    """Measure and print."""
    parser = options_of(__file__, __doc__, seeds=11)
    parser.add_argument("--paces", type=Path, metavar="FILE")
    parser.add_argument("--pace-only", action="store_true")
    parser.add_argument("--only", nargs="*", help="settings, as tables name them")
    chosen = parser.parse_args()
    settings = [each for each in SETTINGS if not chosen.only or each.name in chosen.only]
    known = {} if chosen.paces is None else {row.setting: row for row in read(chosen.paces).rows}
    paces = {each: known[each].pace if each in known else measured_pace(each) for each in settings}
    done = dict(known) if chosen.json == chosen.paces else {}
    for setting, each in paces.items():
        print(setting.name, each, flush=True)
        done.setdefault(setting, Row(setting, each, 0, {}))
        for row in () if chosen.pace_only else runs(setting, each, range(501, 501 + chosen.seeds)):
            print(setting.name, *(f"{x:.2f}" for x in row.medians), flush=True)
            done[setting] = row
            write_json(chosen.json, Content(tuple(done.values())))
    content = Content(tuple(done.values()))
    write_json(chosen.json, content)
    if not chosen.pace_only:
        print("\n".join(table(content)))


if __name__ == "__main__":
    main()
