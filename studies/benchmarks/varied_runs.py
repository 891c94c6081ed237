"""Measure what the plans of many runs disclose of costs that stay the same while problems vary.

    python -m studies.benchmarks.varied_runs                 a table, half an hour of one core
    python -m studies.benchmarks.varied_runs --json FILE     also to a file

In a series the platform chooses the mask of each run, its rows and its columns, as far as all have
signed. Every plan is the optimum. A platform that follows an aim forbids pairs that rows got in
earlier runs (`masks`), or leaves out rows and columns (`sizes`), a given part of each row or side
at most. Two attacks are tried on all plans together, and the better one counts: how often a row
got a column when it could, and costs under which the plans are optima (a structured perceptron,
averaged). Neither knows anything of the structure of costs. In the clear.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from studies.benchmarks.measuring import options_of, problem_of, read_json, write_json
from tacit.audit.measure import centred

FAMILIES = ("ap", "delays", "effects", "low-rank", "euclidean")
KINDS = ("masks", "sizes")
PARTS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 3 / 4)
"""Of a row's pairs, or of all rows and columns: so much may be different from the pattern."""
RUNS = (1, 10, 30, 100, 400)
ROWS = (40,)
FIRST_SEED, SEEDS = 501, 3
EPOCHS = 10
MARGIN = 1.0
FORBIDDEN = 1e9

Costs = NDArray[np.float64]
Mask = NDArray[np.bool_]


class Figure(msgspec.Struct, frozen=True):
    """The median correlation over problems, from 0 (nothing) to 1 (everything)."""

    family: str
    rows: int
    columns: int
    kind: str
    part: float
    runs: int
    learned: float


class Run(msgspec.Struct, frozen=True):
    """One run: what could not be had, and the rows that took part with their columns."""

    closed: Mask
    rows: NDArray[np.int64]
    plan: NDArray[np.int64]


def solved(costs: Costs, closed: Mask, rows: NDArray[np.int64]) -> Run:
    priced = np.where(closed, FORBIDDEN, costs)[rows]
    return Run(closed, rows, linear_sum_assignment(priced)[1].astype(np.int64))


class Drawn(msgspec.Struct, frozen=True):
    """A problem: costs, of which smaller is better, and the mask of the pattern."""

    costs: Costs
    closed: Mask


def masked_runs(of: Drawn, part: float, count: int, rng: np.random.Generator) -> Iterator[Run]:
    """Forbid pairs that were granted before, more often the more often they were."""
    rows, columns = of.costs.shape
    hidden, everybody = max(1, round(part * columns)), np.arange(rows)
    granted = np.full(of.costs.shape, 1e-3)
    for number in range(count):
        closed = of.closed.copy()
        if number:
            # Drawn without replacement by the square root of how often each was granted.
            keys = np.log(granted) / 2 + rng.gumbel(size=closed.shape)
            # Some plan must be left, any.
            left = solved(rng.random(closed.shape), of.closed, everybody).plan
            keys[everybody, left] = -np.inf
            places = np.argpartition(-keys, hidden - 1, axis=1)[:, :hidden]
            np.put_along_axis(closed, places, np.ones(places.shape, dtype=bool), axis=1)
            closed[everybody, left] = False
        run = solved(of.costs, closed, everybody)
        granted[run.rows, run.plan] += 1
        yield run


def smaller_runs(of: Drawn, part: float, count: int, rng: np.random.Generator) -> Iterator[Run]:
    """Leave out rows and columns at random, as many of each, so that a plan is left."""
    rows, columns = of.costs.shape
    away, made = round(part * rows), 0
    while made < count:
        closed, here = of.closed.copy(), np.arange(rows)
        if made:
            here = np.sort(rng.permutation(rows)[: rows - away])
            closed[:, rng.permutation(columns)[:away]] = True
        run = solved(of.costs, closed, here)
        if not closed[run.rows, run.plan].any():
            made += 1
            yield run


def by_counting(runs: Sequence[Run], shape: tuple[int, int]) -> Costs:
    granted, open_ = np.zeros(shape), np.ones(shape)
    for run in runs:
        granted[run.rows, run.plan] += 1
        open_[run.rows] += ~run.closed[run.rows]
    return -granted / open_


def by_optimality(runs: Sequence[Run], shape: tuple[int, int], rng: np.random.Generator) -> Costs:
    """Costs under which each plan is better than any other by a margin, as far as possible."""
    costs, whole, steps = np.zeros(shape), np.zeros(shape), 0
    for epoch in range(EPOCHS):
        rate = 1 / (1 + epoch)
        for at in rng.permutation(len(runs)):
            run = runs[at]
            tried = np.where(run.closed, FORBIDDEN, costs)
            tried[run.rows, run.plan] += MARGIN
            other = linear_sum_assignment(tried[run.rows])[1]
            costs[run.rows, run.plan] -= rate
            costs[run.rows, other] += rate
            whole += costs
            steps += 1
    return whole / steps


def told(guess: Costs, of: Drawn) -> float:
    """The correlation of pairs that are not forbidden, without what is the same in a row or column.

    As the audit measures.
    """
    counts = ~of.closed
    one, other = centred(guess, counts)[counts], centred(of.costs, counts)[counts]
    return float(np.corrcoef(one, other)[0, 1]) if one.std() > 0 else 0.0


def learned_of(of: Drawn, kind: str, part: float, runs: Sequence[int], seed: int) -> list[float]:
    """What is told after so many runs of one series."""
    rng, shape = np.random.default_rng(seed), of.costs.shape
    made = list((masked_runs if kind == "masks" else smaller_runs)(of, part, max(runs), rng))
    return [
        max(
            told(by_counting(made[:count], shape), of),
            told(by_optimality(made[:count], shape, rng), of),
        )
        for count in runs
    ]


def drawn(family: str, rows: int, seed: int) -> Drawn:
    """Draw a problem of a family."""
    problem = problem_of(family, rows, seed)
    (objective,) = problem.objectives
    assert objective.weights is not None
    costs = -objective.sign * objective.weights.astype(np.float64)
    closed = np.zeros(costs.shape, dtype=bool) if problem.forbidden is None else problem.forbidden
    return Drawn(costs, closed)


def measure(
    family: str,
    rows: int,
    kind: str,
    part: float,
    /,
    *,
    seeds: int = SEEDS,
    runs: Sequence[int] = RUNS,
) -> Iterator[Figure]:
    """Attack series of a family, a size and a way to vary."""
    problems = [drawn(family, rows, FIRST_SEED + k) for k in range(seeds)]
    found = [learned_of(each, kind, part, runs, k) for k, each in enumerate(problems)]
    for count, each in zip(runs, zip(*found, strict=True), strict=True):
        median = round(float(statistics.median(each)), 3)
        yield Figure(family, rows, problems[0].costs.shape[1], kind, part, count, median)


def read(path: Path, /) -> list[Figure]:
    """Read the figures that a run wrote."""
    return read_json(path, list[Figure])


def worst(figures: Sequence[Figure], part: float, runs: int, /, *, kind: str = "") -> float:
    """The most that was learned in any family, in either way to vary."""
    return max(
        each.learned
        for each in figures
        if (each.part, each.runs) == (part, runs) and kind in ("", each.kind)
    )


def table(figures: Sequence[Figure], /) -> list[str]:
    """Return the lines of a Markdown table: in each cell the least and the most of all families."""
    counts = sorted({each.runs for each in figures})
    heads = ["what varies", *(f"{count} run{'s' * (count > 1)}" for count in counts)]
    lines = [f"| {' | '.join(heads)} |", f"| {' | '.join('---' for _ in heads)} |"]
    for kind, part in sorted({(each.kind, each.part) for each in figures}):
        what = "of a row's pairs" if kind == "masks" else "of rows and columns"
        cells = [f"1/{1 / part:g} {what}" if part < 3 / 4 else f"3/4 {what}"]
        for count in counts:
            values = [
                each.learned
                for each in figures
                if (each.kind, each.part, each.runs) == (kind, part, count)
            ]
            cells.append(f"{min(values):.2f} to {max(values):.2f}" if values else "")
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def main() -> None:
    """Measure and print."""
    parser = options_of(__file__, __doc__, only=FAMILIES, rows=ROWS, seeds=SEEDS)
    chosen = parser.parse_args()
    figures = []
    for family in chosen.only:
        for rows in chosen.rows:
            for kind in KINDS:
                for part in PARTS:
                    for one in measure(family, rows, kind, part, seeds=chosen.seeds):
                        figures.append(one)
                        print(*msgspec.structs.astuple(one), flush=True)
    print("\n".join(table(figures)))
    write_json(chosen.json, figures)


if __name__ == "__main__":
    main()
