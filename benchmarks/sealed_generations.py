"""How good sealed searches get with their generations and with several parents, in the clear.

    python -m benchmarks.sealed_generations                      two tables
    python -m benchmarks.sealed_generations --json FILE          also to a file

The 100x100 assignment of seed 1 and kroD100, nine seeds. The clear search takes the steps that the
nodes take, so this needs no nodes, and a busy machine changes nothing but how long it takes.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from tacit.problems import generate_assignment, shipped_problem
from tacit.runs import Limits, solve
from tacit.search.moves import SealedParameters, sealed_parameters_for

SEEDS = 9
ASSIGNMENT = sealed_parameters_for("assignment")
TOUR = sealed_parameters_for("tour")
SMALLER = replace(ASSIGNMENT, block=6, heat_start=300, heat_end=30)
DRAWN = SealedParameters(block=0, children=299, heat_start=600, heat_end=20)
BY_GENERATIONS = {
    "assignment, blocks of 7": ("assignment", ASSIGNMENT),
    "assignment, blocks of 6": ("assignment", SMALLER),
    "assignment, one block of 299": ("assignment", DRAWN),
    "kroD100, one block of 299": ("tour", TOUR),
}
GENERATIONS = (500, 1000, 2000)
PARENTS = (1, 2, 4)
BY_PARENTS = {
    "assignment, 500": ("assignment", SMALLER, (500, 500, 500)),
    "kroD100, 1,000": ("tour", TOUR, (1000, 1000, 1000)),
    "assignment, equal comparisons": ("assignment", SMALLER, (2000, 1000, 500)),
}


class Quality(msgspec.Struct, frozen=True):
    """Medians in percent of the optimum, by row and then by column."""

    seeds: int
    by_generations: dict[str, tuple[float, ...]]
    by_parents: dict[str, tuple[float, ...]]


def median_percent(kind: str, parameters: SealedParameters, generations: int, /) -> float:
    """The median over the seeds of what a search finds."""
    problem = generate_assignment(1) if kind == "assignment" else shipped_problem("kroD100")
    found = [
        solve(
            problem,
            disclose="sealed",
            settings=parameters,
            limits=Limits(generations=generations),
            engine="simulated",
            seed=seed,
        ).percent_of_optimum
        for seed in range(SEEDS)
    ]
    return round(statistics.median(each or 0.0 for each in found), 2)


def measure() -> Quality:
    """Run everything."""
    by_generations = {
        name: tuple(median_percent(kind, parameters, count) for count in GENERATIONS)
        for name, (kind, parameters) in BY_GENERATIONS.items()
    }
    by_parents = {
        name: tuple(
            median_percent(kind, replace(parameters, parents=parents), count)
            for parents, count in zip(PARENTS, counts, strict=True)
        )
        for name, (kind, parameters, counts) in BY_PARENTS.items()
    }
    return Quality(SEEDS, by_generations, by_parents)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="sealed searches by generations and parents")
    parser.add_argument("--json", type=Path, metavar="FILE")
    chosen = parser.parse_args(arguments)
    content = measure()
    if chosen.json is not None:
        encoded = msgspec.json.format(msgspec.json.encode(content), indent=1)
        chosen.json.write_bytes(encoded + b"\n")
    for heads, rows in (
        (GENERATIONS, content.by_generations),
        (PARENTS, content.by_parents),
    ):
        print(f"{'':32}", *(f"{head:>8}" for head in heads))
        for name, values in rows.items():
            print(f"{name:32}", *(f"{value:8.2f}" for value in values))


if __name__ == "__main__":
    main()
