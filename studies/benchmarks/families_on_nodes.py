"""Sealed runs of families of costs on three local nodes: the plans found by a deadline.

    python -m studies.benchmarks.families_on_nodes                       100 rows, 2, 5 and 8 s
    python -m studies.benchmarks.families_on_nodes --seeds 11 --json FILE
    python -m studies.benchmarks.families_on_nodes --only ap slots --rows 30 --deadlines 1

Real nodes with TLS and the usual settings; the nodes start once, and all runs use them. They draw
the start of costs without forbidden pairs, so every run is another. A run ends when its iterations
are through, so `seconds` may be far below the deadline.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from studies.benchmarks.measuring import FAMILIES, options_of, problem_of, read_json, write_json
from tacit.local import LocalCluster
from tacit.runs import EngineChoice, solve

ROWS, SEEDS, DEADLINES = 100, 5, (2.0, 5.0, 8.0)
FIRST_SEED = 901


class Run(msgspec.Struct, frozen=True):
    """One run."""

    family: str
    rows: int
    deadline: float
    seed: int
    percent: float | None
    """Of the optimum; None of a plan with a forbidden pair."""
    proved: bool
    seconds: float
    steps: int

    @property
    def distance(self) -> float:
        """How far from the optimum, in percent of it."""
        return float("inf") if self.percent is None else abs(self.percent - 100)


class Content(msgspec.Struct, frozen=True):
    """What was measured, and on what."""

    cores: int
    load: float
    """Processes that wanted a core, mean of the last minute, before the first run."""
    runs: tuple[Run, ...] = ()


def measure(
    families: Sequence[str],
    sizes: Sequence[int],
    deadlines: Sequence[float],
    seeds: int,
    nodes: int = 3,
) -> Iterator[Run]:
    """Run after run, all families of a seed before the next one."""
    with LocalCluster(nodes=nodes) as cluster:
        engine = EngineChoice(cluster=cluster.folder / "cluster.toml")
        # Nodes import what they need with the first run.
        solve(problem_of("ap", 10, 1), disclose="sealed", deadline=10.0, engine=engine)
        for seed in range(FIRST_SEED, FIRST_SEED + seeds):
            for rows in sizes:
                for family in families:
                    for deadline in deadlines:
                        yield _run(engine, family, rows, deadline, seed)


def _run(engine: EngineChoice, family: str, rows: int, deadline: float, seed: int) -> Run:
    problem = problem_of(family, rows, seed)
    found = solve(problem, disclose="sealed", deadline=deadline, engine=engine)
    percent = found.percent_of_optimum
    return Run(
        family,
        rows,
        deadline,
        seed,
        None if percent is None else round(percent, 3),
        bool(found.proved),
        round(0.0 if found.timing is None else found.timing.seconds, 2),
        found.generations,
    )


def table(content: Content, /) -> list[str]:
    """A Markdown table by family and deadline: median, the worst, and how many are proved."""
    cells: dict[tuple[str, int], dict[float, list[Run]]] = {}
    for run in content.runs:
        row = cells.setdefault((run.family, run.rows), {})
        row.setdefault(run.deadline, []).append(run)
    deadlines = sorted({run.deadline for run in content.runs})
    lines = [
        "| costs | " + " | ".join(f"{each:g} s" for each in deadlines) + " |",
        "| --- |" + " --- |" * len(deadlines),
    ]
    for (family, rows), row in cells.items():
        shown = [_shown(row.get(each, ())) for each in deadlines]
        lines.append(f"| {family}, {rows} rows on nodes | " + " | ".join(shown) + " |")
    return lines


def _shown(runs: Sequence[Run]) -> str:
    if not runs:
        return ""
    worst = max(runs, key=lambda run: run.distance).percent
    percents = [run.percent for run in runs if run.percent is not None]
    if worst is None or not percents:
        return f"{len(runs) - len(percents)} of {len(runs)} without a feasible plan"
    proved = sum(run.proved for run in runs)
    return f"{statistics.median(percents):.1f}, worst {worst:.1f} ({proved} of {len(runs)})"


def read(path: Path, /) -> Content:
    """The content of a file that `--json` wrote."""
    return read_json(path, Content)


def main() -> None:
    """Measure and print."""
    parser = options_of(__file__, __doc__, only=FAMILIES, rows=[ROWS], seeds=SEEDS, nodes=3)
    parser.add_argument("--deadlines", nargs="*", type=float, default=list(DEADLINES))
    chosen = parser.parse_args()
    content = Content(os.cpu_count() or 1, round(os.getloadavg()[0], 1))
    runs: list[Run] = []
    for run in measure(chosen.only, chosen.rows, chosen.deadlines, chosen.seeds, chosen.nodes):
        mark = "proved" if run.proved else ""
        shown = "forbidden" if run.percent is None else f"{run.percent:7.2f} %"
        print(
            f"{run.family:10} {run.rows:4} rows {run.deadline:4g} s seed {run.seed}: {shown}"
            f" after {run.seconds:5.2f} s, {run.steps} steps {mark}",
            flush=True,
        )
        runs.append(run)
        content = msgspec.structs.replace(content, runs=tuple(runs))
        write_json(chosen.json, content)
    print("\n".join(table(content)))


if __name__ == "__main__":
    main()
