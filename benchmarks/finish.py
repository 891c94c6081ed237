"""How many phases the forest needs from nothing, and after a search, on families of costs.

    python -m benchmarks.finish                  a table, a quarter of an hour
    python -m benchmarks.finish --json FILE      also to a file

In the clear, which gives what nodes give, so a busy machine changes nothing but how long it takes.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import msgspec

from benchmarks.sealed_families import FAMILIES, WIDE
from tacit.engine.agreement import ForestCourse
from tacit.mpc.forest import (
    ClearForest,
    ClearState,
    Outcome,
    Phase,
    finish_in_the_clear,
    finishing,
    warm_start_in_the_clear,
)
from tacit.problems import Problem, generate_named
from tacit.runs import Limits, solve
from tacit.runs.sealed.exact import courses_for
from tacit.search import weighted_values
from tacit.search.moves import ExactParameters, fitted_parameters

SEEDS = tuple(range(201, 206))
ROWS, GENERATIONS = 100, 380
MOST_PHASES = 100


class Needed(msgspec.Struct, frozen=True):
    """Of one family: phases until the optimum is proved; None where 100 are too few."""

    from_nothing: tuple[int | None, ...]
    after_search: tuple[int | None, ...]
    percent: tuple[float, ...]
    """What the search found, of the optimum."""


class Content(msgspec.Struct, frozen=True):
    """All families."""

    rows: int
    generations: int
    seeds: tuple[int, ...]
    families: dict[str, Needed]


class Instance:
    """One problem in the clear."""

    def __init__(self, family: str, seed: int) -> None:
        columns = ROWS + ROWS // 2 if family in WIDE else ROWS
        self.problem: Problem = generate_named(family, seed, rows=ROWS, columns=columns)
        self.seed = seed
        most = ExactParameters(phases=MOST_PHASES)
        self.course: ForestCourse = courses_for(self.problem, most, [(1,)], seed=seed)[0]
        self.costs = self.course.clear_costs(weighted_values(self.problem, (1,)))
        self.forest = ClearForest(self.costs, self.course.shape, self.course.coins)

    def _phases(self, state: ClearState, phases: Sequence[Phase]) -> int | None:
        layout, shape = self.course.layout, self.course.shape
        for done, phase in enumerate(phases):
            answer = finish_in_the_clear(state, self.costs, layout, shape)
            if answer.outcome is Outcome.OPTIMUM:
                return done
            state = self.forest.advance(state, [phase])
        return None

    def from_nothing(self) -> int | None:
        """Phases of a plain schedule."""
        return self._phases(self.forest.start(), self.course.phases)

    def after_search(self) -> tuple[int | None, float]:
        """Phases after a search, and what that found."""
        found = solve(
            self.problem,
            disclose="sealed",
            settings=fitted_parameters(self.problem),
            limits=Limits(generations=GENERATIONS),
            engine="simulated",
            seed=self.seed,
        )
        plan = found.best_known.plans[0]
        layout = self.course.layout
        state = warm_start_in_the_clear(self.forest, plan, layout)
        percent = round(found.percent_of_optimum or 0.0, 2)
        return self._phases(state, finishing(layout.size, MOST_PHASES)), percent


def _in_order(counts: Sequence[int | None]) -> tuple[int | None, ...]:
    return tuple(sorted(counts, key=lambda each: MOST_PHASES if each is None else each))


def measure(family: str) -> Needed:
    """All seeds of a family."""
    instances = [Instance(family, seed) for seed in SEEDS]
    after = [each.after_search() for each in instances]
    nothing = [each.from_nothing() for each in instances]
    return Needed(
        _in_order(nothing), _in_order([each[0] for each in after]), tuple(x[1] for x in after)
    )


def _range(counts: Sequence[int | None]) -> str:
    least, most = (f"over {MOST_PHASES}" if x is None else str(x) for x in (counts[0], counts[-1]))
    return least if least == most else f"{least} to {most}"


def table(content: Content, /) -> list[str]:
    """A Markdown table."""
    lines = ["| costs | from nothing | after a search |", "| --- | --- | --- |"]
    return lines + [
        f"| {name} | {_range(each.from_nothing)} | {_range(each.after_search)} |"
        for name, each in content.families.items()
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--only", choices=FAMILIES, nargs="*", default=FAMILIES)
    chosen = parser.parse_args()
    families = {}
    for name in chosen.only:
        families[name] = measure(name)
        print(name, families[name], flush=True)
    content = Content(ROWS, GENERATIONS, SEEDS, families)
    if chosen.json is not None:
        encoded = msgspec.json.format(msgspec.json.encode(content), indent=1)
        chosen.json.write_bytes(encoded + b"\n")
    print("\n".join(table(content)))


if __name__ == "__main__":
    main()
