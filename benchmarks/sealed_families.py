"""How sealed searches do on families of costs, by how they cool, in the clear.

    python -m benchmarks.sealed_families                 a table
    python -m benchmarks.sealed_families --json FILE     also to a file

Each family of `tacit instance new`, 30 and 100 rows, seven seeds that were not looked at when the
cooling was chosen. The clear search takes the steps that the nodes take, so this needs no nodes,
and a busy machine changes nothing but how long it takes.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

import msgspec

from tacit.problems import Drawn, generate_named
from tacit.runs import Limits, solve
from tacit.search.moves import SealedParameters, sealed_parameters_for

SEEDS = tuple(range(101, 108))
SIZES = (30, 100)
GENERATIONS = (130, 380, 1550)
"""About what 2, 5 and 20 s gave on three local nodes when the cooling was chosen."""
NOT_FAMILIES = ("moap", "tour", "capacitated", "routing")
FAMILIES = tuple(name for name in get_args(Drawn) if name not in NOT_FAMILIES)
WIDE = ("delays", "slots")
"""Families with more columns than rows: half as many again."""
ASSIGNMENT = sealed_parameters_for("assignment")
COOLING = {
    "warm": replace(ASSIGNMENT, heat_start=280, heat_end=50, descent_percent=0),
    "cold": replace(ASSIGNMENT, heat_start=280, heat_end=1, descent_percent=0),
    "descent": replace(ASSIGNMENT, heat_start=280, heat_end=1, descent_percent=10),
}


class Quality(msgspec.Struct, frozen=True):
    """Medians in percent of the optimum: per family and size, per cooling, by generations."""

    seeds: tuple[int, ...]
    generations: tuple[int, ...]
    percent: dict[str, dict[str, tuple[float, ...]]]


def median_percent(family: str, rows: int, parameters: SealedParameters, generations: int) -> float:
    """The median over the seeds of what a search finds."""
    found = []
    for seed in SEEDS:
        columns = rows + rows // 2 if family in WIDE else rows
        problem = generate_named(family, seed, rows=rows, columns=columns)
        limits = Limits(generations=generations)
        result = solve(
            problem,
            disclose="sealed",
            settings=parameters,
            limits=limits,
            engine="simulated",
            seed=seed,
        )
        found.append(result.percent_of_optimum or 0.0)
    return round(statistics.median(found), 2)


def measure() -> Quality:
    """Run everything."""
    return Quality(
        SEEDS,
        GENERATIONS,
        {
            f"{family}, {rows}": {
                name: tuple(median_percent(family, rows, each, count) for count in GENERATIONS)
                for name, each in COOLING.items()
            }
            for family in FAMILIES
            for rows in SIZES
        },
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="sealed searches on families of costs")
    parser.add_argument("--json", type=Path, metavar="FILE")
    chosen = parser.parse_args(arguments)
    content = measure()
    if chosen.json is not None:
        encoded = msgspec.json.format(msgspec.json.encode(content), indent=1)
        chosen.json.write_bytes(encoded + b"\n")
    for row, cooling in content.percent.items():
        shown = (f"{name} {' '.join(f'{p:7.2f}' for p in each)}" for name, each in cooling.items())
        print(f"{row:16}", *shown)


if __name__ == "__main__":
    main()
