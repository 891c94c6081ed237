"""From a finished run to its result."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
from numpy.typing import NDArray

from tacit.problems import Problem
from tacit.runs.history import GenerationRecord
from tacit.runs.limits import StopReason
from tacit.runs.result import (
    FORMAT,
    History,
    ObjectiveSummary,
    PlanSet,
    ProblemSummary,
    Result,
    Timing,
)
from tacit.runs.run import Run


def summarize(
    run: Run,
    reason: StopReason,
    /,
    *,
    engine: str,
    optimum: int | None,
    seconds: float,
    set_up_seconds: float,
    best_plan: int = 0,
) -> Result:
    """Turn where a run stands into a result. `optimum` is scaled, in the user's sense.

    `best_plan` says which plan of the best-known set is the one to use.
    """
    problem, now = run.problem, run.now
    if now.best_known is None:  # nothing was evaluated: an interrupt in the first generation
        raise KeyboardInterrupt
    known = now.best_known
    best_known = plan_set(problem, problem.plans(known.genomes), known.generation, known.told)
    chosen = now.search.genomes[now.search.estimated_best()]
    last = run.history[-1]
    last_told = now.search.generation, last.told_best
    estimated_best = plan_set(problem, problem.plans(chosen), *last_told)
    value = None if best_known.actual is None else best_known.actual[best_plan]
    scale = problem.objectives[0].scale
    timing = Timing(seconds, set_up_seconds, [record.seconds for record in run.history])
    return Result(
        format=FORMAT,
        problem=problem_summary(problem),
        objectives=objective_summaries(problem),
        engine=engine,
        algorithm=run.parameters.algorithm,
        parameters=asdict(run.parameters),
        seed=run.seed,
        stopped=reason.value,
        generations=now.search.generation,
        evaluations=now.evaluations,
        plan=best_known.plans[best_plan],
        named_plan=problem.named_plan(best_known.plans[best_plan]),
        value=value,
        optimum=None if optimum is None else optimum / scale,
        percent_of_optimum=percent_of_optimum(value, optimum, scale),
        best_known=best_known,
        estimated_best=estimated_best,
        history=history_lists(problem, run.history),
        timing=timing,
        notes=list(run.notes),
    )


def problem_summary(problem: Problem, /) -> ProblemSummary:
    """Which problem it is."""
    return ProblemSummary(problem.name, problem.kind, problem.rows, problem.columns)


def objective_summaries(problem: Problem, /) -> list[ObjectiveSummary]:
    """What is known of the objectives."""
    return [
        ObjectiveSummary(
            name=objective.name,
            sense=objective.sense,
            confidential=objective.confidential,
            disclosure=objective.disclosure.text if objective.confidential else "public",
            best=objective.best_mode.value,
            scale=objective.scale,
        )
        for objective in problem.objectives
    ]


def percent_of_optimum(
    value: list[float] | None, optimum: int | None, scale: int, /
) -> float | None:
    """How good a value is; a cost above the optimum gives more than 100.

    >>> percent_of_optimum([49.0], 100, 2)
    98.0
    """
    if value is None or len(value) != 1 or not optimum:
        return None
    return 100 * value[0] * scale / optimum


def plan_set(
    problem: Problem,
    plans: NDArray[np.int32],
    generation: int,
    told: tuple[int | bool | None, ...],
    /,
) -> PlanSet:
    """A set of plans with their values."""
    actual = None
    if all(objective.weights is not None for objective in problem.objectives):
        columns = [
            [objective.to_user(int(fitness)) for fitness in problem.fitness(k, plans)]
            for k, objective in enumerate(problem.objectives)
        ]
        actual = [list(values) for values in zip(*columns, strict=True)]
    return PlanSet(generation, told_to_user(problem, told), plans.tolist(), actual)


def told_to_user(
    problem: Problem, told: tuple[int | bool | None, ...], /
) -> list[float | bool | None]:
    """What was told of best values, in the user's unit; bits and silence stay as they are."""
    return [
        best if best is None or isinstance(best, bool) else objective.to_user(best)
        for objective, best in zip(problem.objectives, told, strict=True)
    ]


def history_lists(problem: Problem, history: list[GenerationRecord], /) -> History:
    """The records of all generations, column by column, in the user's unit."""
    objectives = problem.objectives
    actual = history[0].actual_mean is not None

    def to_user(values: tuple[float, ...] | None) -> list[float]:
        return [each.to_user(value) for each, value in zip(objectives, values or (), strict=True)]

    return History(
        generation=[record.generation for record in history],
        told_best=[told_to_user(problem, record.told_best) for record in history],
        estimate=[
            None
            if record.largest_estimate is None
            else objectives[0].to_user(record.largest_estimate)
            for record in history
        ],
        set_size=[record.set_size for record in history],
        actual_mean=[to_user(record.actual_mean) for record in history] if actual else None,
        actual_best=[to_user(record.actual_best) for record in history] if actual else None,
    )
