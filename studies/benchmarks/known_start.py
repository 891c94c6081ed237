"""Measure what an opened plan discloses of costs to whoever knows the start of the search.

    python -m studies.benchmarks.known_start                 a table, some minutes of one core
    python -m studies.benchmarks.known_start --json FILE     also to a file

Where pairs are forbidden, a sealed assignment begins with a public plan. Plans are opened after 1,
5 and 20 iterations, after the least number that an agreement names, and at the optimum: with the
block descent of the agreement before them, and without. Also after one generation of it. Each
is attacked with and without the start. In the clear.

After one generation of independent costs, all that is disclosed is which move of each block was
best. Draws from the posterior then say what no attack exceeds on average.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from studies.benchmarks.measuring import options_of, problem_of, read_json, write_json
from studies.leakage.posterior import bound_of
from tacit.agreement import AssignmentGroup, assignment_groups
from tacit.audit import audit_of, prior_named, record_of_plans
from tacit.audit.audit import Audit
from tacit.audit.cost_models import Schedule
from tacit.audit.opened_plans import Opening, example_of, from_known_start, learned_from
from tacit.audit.view import cells_of
from tacit.derived import ClearRun, KnownTime
from tacit.disclosure import SEALED
from tacit.problems import Problem, optimum
from tacit.runs import sealed_settings, with_disclosures
from tacit.search import weighted_values
from tacit.search.moves import AssignmentParameters

PRIORS = {"delays": "schedule", "slots": "linear schedule", "sparse": "range", "masked": "range"}
"""What the attacker of each family knows before the run."""
SIZES = (30, 100)
FIRST_SEED, SEEDS = 301, 11
LESSONS = 60
"""Further problems of each family, which the attacker learns from."""
ITERATIONS = (1, 5, 20)
FORBIDDEN_PERCENT = 20
"""Of the pairs of the family `masked`."""
LIMITED, SWEEPS, DROPPED = 3, 600, 100
"""Problems whose posterior is drawn from, and the sweeps of each chain."""


class Point(msgspec.Struct, frozen=True):
    """When a plan is opened; the optimum where there are no steps."""

    generations: int = 0
    iterations: int = 0

    @property
    def steps(self) -> int:
        """Generations and iterations together."""
        return self.generations + self.iterations


class Figures(msgspec.Struct, frozen=True):
    """Medians over problems, as the audit measures: of what the prior leaves open."""

    family: str
    rows: int
    columns: int
    point: Point
    is_least: bool
    """Whether an agreement names this number of iterations as the least."""
    kept: float
    """The share of rows that still have the column of the start."""
    alone: float
    """By the plan alone."""
    with_start: float
    """By the plan and the start."""
    adds: float
    """The median of the difference."""
    limit: float | None = None
    """What no attack exceeds on average, after one generation of independent costs."""


@dataclass(frozen=True, eq=False)
class Attacked:
    """A problem, the start of its search, and the ways to attack its plans."""

    problem: Problem
    group: AssignmentGroup
    audit: Audit
    values: NDArray[np.int64]

    @property
    def start(self) -> NDArray[np.int64]:
        """The public plan that the search begins with."""
        assert self.group.start is not None
        columns = self.group.layout.columns
        places = self.group.start[: self.problem.rows]
        return np.array([columns[place] for place in places], dtype=np.int64)

    def opening(self, plan: NDArray[np.int64], /, *, knows_start: bool) -> Opening:
        """Return what an attacker of a plan knows."""
        (prior,) = self.audit.priors
        return Opening(
            self.audit.view.problem, plan, self.start if knows_start else None,
            prior if isinstance(prior, Schedule) else None,
        )  # fmt: skip

    def by_audit(self, plan: NDArray[np.int64], /) -> float:
        """Return what the audit's attack on the plan alone finds."""
        cells = np.arange(self.problem.rows) * self.problem.columns + plan
        view = replace(self.audit.view, published=cells.astype(np.int32))
        return replace(self.audit, view=view).plan_only().gain

    def score(self, opening: Opening, learned: NDArray[np.float64], /) -> float:
        """Return what a learned attack finds."""
        return self.audit.measuring.score(from_known_start(opening, learned)).gain

    def plan(self, point: Point, /) -> NDArray[np.int64]:
        """Return the plan that is opened at a point."""
        if not point.steps:
            best = optimum(self.problem)
            assert best is not None
            return np.array(best.plan, dtype=np.int64)
        parameters = replace(self.group.parameters, generations=point.generations)
        run = ClearRun(replace(self.group, parameters=parameters), 0, self.values)
        run.advance(point.steps)
        return np.array(run.plan(), dtype=np.int64)


def drawn(family: str, rows: int, seed: int, /) -> Problem:
    """Draw a sealed problem of a family."""
    if family != "masked":
        return with_disclosures(problem_of(family, rows, seed), SEALED, None)
    problem = problem_of("ap", rows, seed)
    rng = np.random.Generator(np.random.PCG64(seed))
    forbidden = rng.random((rows, rows)) < FORBIDDEN_PERCENT / 100
    return with_disclosures(replace(problem, forbidden=forbidden), SEALED, None)


def attacked(family: str, rows: int, seed: int, /) -> Attacked:
    """Draw a problem, and agree on how it is solved."""
    problem = drawn(family, rows, seed)
    settings = sealed_settings(problem, {}, time=KnownTime(deadline=3600.0))
    assert isinstance(settings, AssignmentParameters)
    (group,) = assignment_groups(problem, [(1,)], settings, seed=seed)
    record = record_of_plans(problem, [[0] * rows], search={"algorithm": SEALED})
    values = weighted_values(problem, (1,))
    prior = prior_named(PRIORS[family], record.problem)
    weights = problem.objectives[0].weights
    assert weights is not None
    audit = audit_of(record, weights.astype(np.float64), optimum=1.0, priors=[prior])
    return Attacked(problem, group, audit, values)


def points_of(parameters: AssignmentParameters, /) -> list[Point]:
    """Return when plans are opened; the last point is the optimum."""
    agreed = parameters.generations
    points = [Point(1, 0)] if agreed else []
    for generations in dict.fromkeys((0, agreed)):
        least = [parameters.least] if generations == agreed else []
        points += [Point(generations, each) for each in (*ITERATIONS, *least)]
    return [*points, Point()]


def measure(family: str, rows: int, /, *, seeds: int, lessons: int = LESSONS) -> Iterator[Figures]:
    """Attack the plans of a family and a size; what is learned is of all problems but the own."""
    each = [attacked(family, rows, FIRST_SEED + k) for k in range(seeds + lessons)]
    parameters = each[0].group.parameters
    for point in points_of(parameters):
        plans = [one.plan(point) for one in each]
        found: dict[bool, list[float]] = {}
        for knows_start in (False, True):
            openings = [
                one.opening(plan, knows_start=knows_start)
                for one, plan in zip(each, plans, strict=True)
            ]
            examples = [
                example_of(opening, one.audit.truth.weights)
                for opening, one in zip(openings, each, strict=True)
            ]
            found[knows_start] = [
                each[k].score(openings[k], learned_from(examples[:k] + examples[k + 1 :]))
                for k in range(seeds)
            ]
        by_audit = [each[k].by_audit(plans[k]) for k in range(seeds)]
        alone = max(by_audit, found[False], key=statistics.median)
        # Whoever knows the start may ignore it.
        with_start = max(alone, found[True], key=statistics.median)
        yield Figures(
            family, rows, each[0].problem.columns, point,
            is_least=point == Point(parameters.generations, parameters.least),
            kept=_median([
                (plan == one.start).mean() for one, plan in zip(each, plans, strict=True)
            ]),
            alone=_median(alone), with_start=_median(with_start),
            adds=_median([b - a for a, b in zip(alone, with_start, strict=True)]),
            limit=_median([limit_of(one) for one in each[:LIMITED]])
            if family == "masked" and point == Point(1, 0)
            else None,
        )  # fmt: skip


def limit_of(one: Attacked, /) -> float:
    """Return what no attack on a plan of one generation exceeds on average: the blocks are public.

    A block is an evaluation whose best plan is disclosed: the start with the block's best move.
    """
    (step,) = one.group.generations(0, 1)
    runs, children = step.moves.runs, step.moves.children
    plan, rows = one.plan(Point(1, 0)), np.arange(one.problem.rows)
    assert one.problem.forbidden is not None
    plans, levels = [], []
    for number, block in enumerate(step.moves.positions):
        of_block = runs.child // children == number
        moved = np.tile(one.start, (children, 1))
        to, source = block[runs.to[of_block]], block[runs.source[of_block]]
        moved[runs.child[of_block] % children, to] = one.start[source]
        moved = moved[~one.problem.forbidden[rows, moved].any(axis=1)]
        plans.append(moved.astype(np.int32))
        levels.append(np.where((moved[:, block] == plan[block]).all(axis=1), 0, 1))
    together = np.concatenate(plans)
    view = replace(
        one.audit.view, disclosure="top:1", plans=together,
        sizes=np.array([len(each) for each in plans]),
        cells=cells_of(one.audit.view.problem, together), levels=np.concatenate(levels),
    )  # fmt: skip
    return bound_of(view, sweeps=SWEEPS, dropped=DROPPED).limit


def read(path: Path, /) -> list[Figures]:
    """Read the figures that a run wrote."""
    return read_json(path, list[Figures])


def table(figures: Sequence[Figures], /) -> list[str]:
    """Return the lines of a Markdown table: in each cell the plan alone, then with the start."""
    points = list(dict.fromkeys(_column(each) for each in figures))
    heads = ["costs", *points]
    lines = [f"| {' | '.join(heads)} |", f"| {' | '.join('---' for _ in heads)} |"]
    for key in dict.fromkeys((each.family, each.rows, each.columns) for each in figures):
        shown = {
            _column(each): f"{each.alone:.2f}, {each.with_start:.2f}"
            for each in figures
            if (each.family, each.rows, each.columns) == key
        }
        cells = [f"{key[0]} {key[1]} x {key[2]}", *(shown.get(point, "") for point in points)]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _column(each: Figures) -> str:
    point = each.point
    if not point.steps:
        return "optimum"
    if each.is_least:
        return "agreed least"
    if not point.iterations:
        return f"{point.generations} generation"
    if point.generations:
        return f"{point.generations} + {point.iterations}"
    return f"{point.iterations} iteration{'s' * (point.iterations > 1)}"


def _median(values: Sequence[float]) -> float:
    return round(float(statistics.median(values)), 3)


def main() -> None:
    """Measure and print."""
    parser = options_of(__file__, __doc__, only=list(PRIORS), rows=SIZES, seeds=SEEDS)
    chosen = parser.parse_args()
    figures = []
    for family in chosen.only:
        for rows in chosen.rows:
            for one in measure(family, rows, seeds=chosen.seeds):
                figures.append(one)
                print(one.family, one.rows, *msgspec.structs.astuple(one)[3:], flush=True)
    print("\n".join(table(figures)))
    write_json(chosen.json, figures)


if __name__ == "__main__":
    main()
