"""From what a search found to its result."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.evaluators import RevealedFront
from tacit.problems import Problem
from tacit.runs.driver import Disclosed, Outcome
from tacit.runs.history import GenerationRecord
from tacit.runs.limits import StopReason
from tacit.runs.result import (
    FORMAT,
    FrontSummary,
    History,
    ObjectiveSummary,
    PlanSet,
    ProblemSummary,
    Result,
    Timing,
)


def summarize(
    problem: Problem,
    outcome: Outcome,
    reason: StopReason,
    timing: Timing,
    /,
    *,
    engine: str,
    optimum: int | None,
) -> Result:
    """The result of a search. `optimum` is scaled, in the user's sense."""
    known, chosen = outcome.best_known, outcome.best_plan
    value = None if known.actual is None else known.actual[chosen]
    scale = problem.objectives[0].scale
    return Result(
        format=FORMAT,
        problem=ProblemSummary(problem.name, problem.kind, problem.rows, problem.columns),
        objectives=[
            ObjectiveSummary(
                name=objective.name,
                sense=objective.sense,
                confidential=objective.confidential,
                disclosure=objective.disclosure.text if objective.confidential else "public",
                best=objective.best_mode.value,
                scale=objective.scale,
            )
            for objective in problem.objectives
        ],
        engine=engine,
        algorithm=outcome.algorithm,
        parameters=outcome.parameters,
        seed=outcome.seed,
        stopped=reason.value,
        generations=outcome.generations,
        evaluations=outcome.evaluations,
        plan=known.plans[chosen],
        named_plan=problem.named_plan(known.plans[chosen]),
        value=value,
        optimum=None if optimum is None else optimum / scale,
        percent_of_optimum=percent_of_optimum(value, optimum, scale),
        best_known=known,
        estimated_best=outcome.estimated_best,
        history=outcome.history,
        timing=timing,
        notes=outcome.notes,
        proved=outcome.proved,
        gaps=outcome.gaps,
        front=outcome.front,
    )


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
    disclosed: Disclosed,
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
    return PlanSet(generation, disclosed_to_user(problem, disclosed), plans.tolist(), actual)


def front_of(problem: Problem, revealed: RevealedFront, /) -> FrontSummary:
    """What was revealed at the end, in the user's unit."""
    values = revealed.values
    if values is None:
        return FrontSummary(revealed.nondominated, None)
    lines = [
        [each.to_user(value) for each, value in zip(problem.objectives, line, strict=True)]
        for line in values
    ]
    return FrontSummary(revealed.nondominated, lines)


def disclosed_to_user(problem: Problem, disclosed: Disclosed, /) -> list[float | bool | None]:
    """What was disclosed of best values, in the user's unit; bits and None stay as they are."""
    return [
        best if best is None or isinstance(best, bool) else objective.to_user(best)
        for objective, best in zip(problem.objectives, disclosed, strict=True)
    ]


def history_lists(problem: Problem, history: list[GenerationRecord], /) -> History:
    """The records of all generations, column by column, in the user's unit."""
    objectives = problem.objectives
    actual = history[0].actual_mean is not None

    def to_user(values: tuple[float, ...] | None) -> list[float]:
        return [each.to_user(value) for each, value in zip(objectives, values or (), strict=True)]

    return History(
        generation=[record.generation for record in history],
        disclosed_best=[disclosed_to_user(problem, each.disclosed_best) for each in history],
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
