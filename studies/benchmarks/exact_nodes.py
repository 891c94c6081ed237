"""Proved optima of secret assignments on three or four real nodes, over TLS.

    python -m studies.benchmarks.exact_nodes  100 and 200 rows, one problem each
    python -m studies.benchmarks.exact_nodes --seeds 11 --rows 100 --json FILE
    python -m studies.benchmarks.exact_nodes --latency 10 --nodes 4

Independent uniform weights, the paper's AP, and what a run takes with so long a deadline. Each
problem is solved twice: to the end of its iterations, and with checkpoints, which end the run at
the first of them where the plan is proved. Seconds go from the first step to the opened plan;
rounds and the bytes of the node that sends most are those of the steps.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np

from studies.benchmarks.measuring import options_of, read_json, write_json
from studies.benchmarks.solved_on_nodes import settings_for, solved
from tacit.local import LocalCluster
from tacit.problems import generate_assignment
from tacit.search import weighted_values

ROWS, DEADLINE, CHECKPOINTS = (100, 200), 60.0, "48:64:96:120"


class Run(msgspec.Struct, frozen=True):
    """One problem: whether its plan is proved, how good it is, and what it took."""

    rows: int
    seed: int
    checkpoints: str
    proved: bool
    percent: float
    """Of the optimum by SciPy."""
    steps: int
    seconds: float
    processor_seconds: float
    rounds: int
    bytes_per_node: int


class Content(msgspec.Struct, frozen=True):
    """All of it."""

    nodes: int
    latency_ms: float
    deadline: float
    runs: tuple[Run, ...] = ()


def one(
    cluster: LocalCluster,
    rows: int,
    seed: int,
    checkpoints: str,
    /,
    *,
    deadline: float,
    latency_ms: float = 0.0,
) -> Run:
    """Solve one problem."""
    problem = generate_assignment(seed, rows=rows)
    parameters = settings_for(problem, [(1,)], {"checkpoints": checkpoints}, deadline=deadline,
                              nodes=len(cluster.processes), delay=latency_ms / 1000)  # fmt: skip
    run = solved(cluster, problem, [(1,)], parameters, deadline=deadline)
    best = problem.good_plan(weighted_values(problem, (1,)).astype(np.float64))
    plans = np.array([run.opened[0].plan, best], dtype=np.int32)
    found, optimum = problem.fitness(0, plans)
    return Run(
        rows,
        seed,
        parameters.checkpoints,
        bool(run.proved),
        round(100.0 * float(found) / float(optimum), 3),
        run.opened[0].generation,
        round(run.seconds, 2),
        round(run.processor_seconds, 2),
        run.rounds,
        run.bytes_per_node,
    )


def table(content: Content, /) -> list[str]:
    """A Markdown table: medians by size, without checkpoints and with."""
    groups: dict[tuple[int, bool], list[Run]] = {}
    delay = f", {content.latency_ms:g} ms delay" if content.latency_ms else ""
    for run in content.runs:
        groups.setdefault((run.rows, bool(run.checkpoints)), []).append(run)
    lines = [
        "| | proved | seconds, and the most | steps | rounds | MB of the node that sends most |",
        "| --- |" + " --- |" * 5,
    ]
    for (rows, told), runs in sorted(groups.items()):
        seconds = [run.seconds for run in runs]
        cells = [
            f"{rows} rows{delay}" + (", checkpoints" if told else ""),
            f"{sum(run.proved for run in runs)} of {len(runs)}",
            f"{statistics.median(seconds):.1f}, {max(seconds):.1f}",
            f"{statistics.median(run.steps for run in runs):g}",
            f"{statistics.median(run.rounds for run in runs):,.0f}",
            f"{statistics.median(run.bytes_per_node for run in runs) / 1e6:,.0f}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def read(path: Path, /) -> Content:
    """The content of a file that `--json` wrote."""
    return read_json(path, Content)


def measure(
    content: Content, sizes: Sequence[int], seeds: Sequence[int], ways: Sequence[str]
) -> Content:
    """Solve all problems on one cluster, a line for each."""
    with LocalCluster(delay_ms=content.latency_ms, nodes=content.nodes) as cluster:
        how = {"deadline": content.deadline, "latency_ms": content.latency_ms}
        one(cluster, 10, 0, "", **how)  # nodes import what they need
        for seed in seeds:
            for rows in sizes:
                for checkpoints in ways:
                    run = one(cluster, rows, seed, checkpoints, **how)
                    print(run, flush=True)
                    content = msgspec.structs.replace(content, runs=(*content.runs, run))
    return content


def main() -> None:
    """Measure and print."""
    parser = options_of(__file__, __doc__, rows=ROWS, seeds=1, nodes=3, latency=True)
    parser.add_argument("--only", choices=("plain", "checkpoints"), help="one of the two runs")
    parser.add_argument("--checkpoints", default=CHECKPOINTS)
    parser.add_argument("--deadline", type=float, default=DEADLINE)
    options = parser.parse_args()
    ways = {"plain": "", "checkpoints": options.checkpoints}
    content = measure(
        Content(options.nodes, options.latency, options.deadline),
        options.rows,
        range(1, 1 + options.seeds),
        [ways[options.only]] if options.only else list(ways.values()),
    )
    write_json(options.json, content)
    print("\n".join(table(content)))


if __name__ == "__main__":
    main()
