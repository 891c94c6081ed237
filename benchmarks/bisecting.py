"""Weightings of two objectives, bisected: how many are solved until the front is that of all.

    python -m benchmarks.bisecting                  sizes 10 to 100, the 101 weightings of the paper
    python -m benchmarks.bisecting --json FILE      also to a file
    python -m benchmarks.bisecting --rows 20 --seeds 5 --count 65

In the clear, which gives the plans of the nodes. `alone` has each weighting as a group of its own,
so that every one between equal plans is left out; in `groups` they go together as messages allow,
so that a group is left out if all of it is. Seconds are those of three near nodes, one group after
the other, by the model that drafts agreements, of the declared rounds and bytes. GD+ and IGD+ are
taken to the front of all weightings as the same solver finds it, and to the paper's ground truth,
in which SciPy has chosen between optima of equal value.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from benchmarks.weightings import distances
from tacit.disclosure import Sealed
from tacit.engine.derived.finish_time import seconds_of
from tacit.mpc.forest.outcome import cost as cost_of_end
from tacit.mpc.forest.phases import cost as cost_of_phase
from tacit.problems import Problem, generate_assignment, ground_truth
from tacit.runs import EngineChoice, Limits, Result, SolveSettings, even_weightings, solve
from tacit.runs.sealed.exact import courses_for
from tacit.search.moves import exact_parameters_for

SIZES = (10, 30, 100)
WAYS: dict[str, dict[str, object]] = {
    "all": {},
    "alone": {"bisect": True, "together": 1},
    "groups": {"bisect": True},
}


class Way(msgspec.Struct, frozen=True):
    """A run: what was solved, what it takes, and how far its front is from others."""

    solved: int
    proved: bool
    rounds: int
    gigabytes: float
    """Of the node that sends most."""
    seconds: float
    to_all: tuple[float, float]
    """GD+ and IGD+ to the front of all weightings."""
    to_truth: tuple[float, float]
    """And to the ground truth."""


class Row(msgspec.Struct, frozen=True):
    """The ways on one problem."""

    rows: int
    seed: int
    different: int
    ways: dict[str, Way]


class Spent(NamedTuple):
    """What nodes send and wait for."""

    rounds: int
    sent: int


def solved(problem: Problem, weightings: Sequence[Sequence[int]], **changes: object) -> Result:
    """A run of all weightings, or of those that do not follow."""
    parameters = replace(exact_parameters_for(2), **changes)  # type: ignore[arg-type]
    return solve(
        problem,
        limits=Limits(generations=parameters.phases),
        settings=SolveSettings(parameters=parameters, weightings=weightings),
        engine=EngineChoice(engine="simulated"),
    )


def values(problem: Problem, result: Result) -> NDArray[np.int64]:
    """What the different plans are worth by both objectives."""
    plans = np.array(result.best_known.plans, dtype=np.int32)
    columns = [each.sign * problem.fitness(k, plans) for k, each in enumerate(problem.objectives)]
    return np.unique(np.stack(columns, axis=1), axis=0)


def spent(problem: Problem, weightings: Sequence[Sequence[int]], result: Result) -> Spent:
    """By three nodes, for the groups of which plans were opened."""
    parameters = replace(
        exact_parameters_for(2),
        **{
            name: result.parameters[name]
            for name in ("together", "bisect")
            if name in result.parameters
        },
    )
    opened = {tuple(each) for each in result.parameters["weightings"]}
    rounds = sent = 0
    for course in courses_for(problem, parameters, weightings):
        if tuple(weightings[course.searches[0]]) in opened:
            costs = [cost_of_phase(3, phase, course.shape) for phase in course.phases]
            costs.append(cost_of_end(3, course.layout, course.shape))
            rounds += sum(each.rounds for each in costs)
            sent += sum(each.bytes_per_node for each in costs)
    return Spent(rounds, sent)


def measured(rows: int, seed: int, count: int) -> Row:
    """All ways on one problem."""
    drawn = generate_assignment(seed, rows=rows, objectives=2)
    sealed = tuple(replace(each, disclosure=Sealed()) for each in drawn.objectives)
    problem = replace(drawn, objectives=sealed)
    weightings = even_weightings(problem, count)
    runs = {name: solved(problem, weightings, **changes) for name, changes in WAYS.items()}
    every, truth = values(problem, runs["all"]), ground_truth(problem).values
    ways = {}
    for name, result in runs.items():
        cost, found = spent(problem, weightings, result), values(problem, result)
        ways[name] = Way(
            len(result.best_known.plans),
            bool(result.proved),
            cost.rounds,
            round(cost.sent / 1e9, 3),
            round(seconds_of(cost.rounds, cost.sent), 1),
            distances(problem, found, every),
            distances(problem, found, truth),
        )
    return Row(rows, seed, len(every), ways)


def table(content: Sequence[Row], /) -> list[str]:
    """A Markdown table: a line per problem."""
    lines = [
        "| rows, seed | different plans | solved: alone, in groups | rounds: all, alone, in groups "
        "| seconds: all, alone, in groups | GD+, IGD+: alone | in groups |",
        "| --- |" + " --- |" * 6,
    ]
    for row in content:
        ways = row.ways
        cells = [
            f"{row.rows}, {row.seed}",
            f"{row.different}",
            ", ".join(f"{ways[name].solved}" for name in ("alone", "groups")),
            ", ".join(f"{each.rounds:,}" for each in ways.values()),
            ", ".join(f"{each.seconds:,.0f}" for each in ways.values()),
        ]
        for name in ("alone", "groups"):
            cells.append(", ".join(f"{each:.3g}" for each in ways[name].to_all))
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def read(path: Path, /) -> tuple[Row, ...]:
    """The rows of a file that `--json` wrote."""
    return msgspec.json.decode(path.read_bytes(), type=tuple[Row, ...])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bisecting", description=__doc__)
    parser.add_argument("--rows", type=int, nargs="*", default=SIZES)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--count", type=int, default=101)
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    content: list[Row] = []
    for rows in options.rows:
        for seed in range(1, options.seeds + 1):
            content.append(measured(rows, seed, options.count))
            print(content[-1], flush=True)
            if options.json is not None:
                encoded = msgspec.json.format(msgspec.json.encode(content), indent=1)
                options.json.write_bytes(encoded + b"\n")
    print("\n".join(table(content)))


if __name__ == "__main__":
    main()
