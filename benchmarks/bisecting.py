"""Weightings of two objectives, bisected: how many are solved until the front is that of all.

    python -m benchmarks.bisecting                  sizes 5 to 100, the 101 weightings of the paper
    python -m benchmarks.bisecting --rows 20 --seeds 5 --count 65

In the clear, which gives the plans of the nodes. `alone` counts solved weightings where each is a
group of its own, so that every one between equal plans is left out; `groups` where they go together
as messages allow, so that a group is left out if all of it is. Rounds are those of three nodes, one
group after the other, at the declared cost. The front is compared with that of all weightings.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tacit.disclosure import Sealed
from tacit.mpc.forest.outcome import cost as cost_of_end
from tacit.mpc.forest.phases import cost as cost_of_phase
from tacit.problems import Problem, generate_assignment
from tacit.runs import EngineChoice, Limits, Result, SolveSettings, even_weightings, solve
from tacit.runs.sealed.exact import courses_for
from tacit.search.moves import exact_parameters_for

SIZES = (5, 10, 20, 50, 100)


def solved(problem: Problem, weightings: Sequence[Sequence[int]], **changes: object) -> Result:
    """A run of all weightings, or of those that do not follow."""
    parameters = replace(exact_parameters_for(2), **changes)  # type: ignore[arg-type]
    return solve(
        problem,
        limits=Limits(generations=parameters.phases),
        settings=SolveSettings(parameters=parameters, weightings=weightings),
        engine=EngineChoice(engine="simulated"),
    )


def front(problem: Problem, result: Result) -> set[tuple[int, ...]]:
    """The values of all plans that were found."""
    plans = np.array(result.best_known.plans, dtype=np.int32)
    return {*zip(*(problem.fitness(k, plans).tolist() for k in range(2)), strict=True)}


def rounds(problem: Problem, weightings: Sequence[Sequence[int]], result: Result) -> int:
    """Of three nodes, for the groups of which plans were opened."""
    parameters = replace(
        exact_parameters_for(2),
        **{
            name: result.parameters[name]
            for name in ("together", "bisect")
            if name in result.parameters
        },
    )
    opened = {tuple(each) for each in result.parameters["weightings"]}
    total = 0
    for course in courses_for(problem, parameters, weightings):
        if tuple(weightings[course.searches[0]]) in opened:
            total += sum(cost_of_phase(3, phase, course.shape).rounds for phase in course.phases)
            total += cost_of_end(3, course.layout, course.shape).rounds
    return total


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bisecting", description=__doc__)
    parser.add_argument("--rows", type=int, nargs="*", default=SIZES)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--count", type=int, default=101)
    options = parser.parse_args()
    print("rows seed  different  alone  groups  rounds: all, alone, groups  same front")
    for rows in options.rows:
        for seed in range(1, options.seeds + 1):
            drawn = generate_assignment(seed, rows=rows, objectives=2)
            sealed = tuple(replace(each, disclosure=Sealed()) for each in drawn.objectives)
            problem = replace(drawn, objectives=sealed)
            weightings = even_weightings(problem, options.count)
            runs = [
                solved(problem, weightings, **changes)
                for changes in ({}, {"bisect": True, "together": 1}, {"bisect": True})
            ]
            counts = [len(each.best_known.plans) for each in runs]
            fronts = [front(problem, each) for each in runs]
            spent = ", ".join(f"{rounds(problem, weightings, each):,}" for each in runs)
            same = all(each.proved for each in runs) and fronts[0] == fronts[1] == fronts[2]
            print(
                f"{rows:4} {seed:4}  {len(fronts[0]):9}  {counts[1]:5}  {counts[2]:6}  {spent}  "
                f"{'yes' if same else 'no'}",
                flush=True,
            )


if __name__ == "__main__":
    main()
