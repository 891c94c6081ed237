"""From finished sealed searches to a result: plans, and nothing of how they came about."""

from __future__ import annotations

import numpy as np

from tacit.disclosure import SEALED
from tacit.problems import Problem
from tacit.runs.result import FORMAT, History, PlanSet, Result, Timing
from tacit.runs.sealed_loop import SealedRun
from tacit.runs.summarize import (
    objective_summaries,
    percent_of_optimum,
    plan_set,
    problem_summary,
)


def sealed_result(
    problem: Problem,
    runs: list[SealedRun],
    engine: str,
    settings: dict[str, object],
    optimum: int | None,
    timing: Timing,
    /,
) -> Result:
    """A result like that of any other run, with one plan per search and an empty history."""
    plans = np.array([run.opened.plan for run in runs], dtype=np.int32)
    last, scale = runs[-1], problem.objectives[0].scale
    told: tuple[int | None, ...] = (None,) * len(problem.objectives)
    if len(problem.objectives) == 1:
        told = (last.opened.value,)
    known = plan_set(problem, plans, last.opened.generation, told)
    value = None if known.actual is None else known.actual[0]
    notes = [note for run in runs for note in run.notes]
    _check_plans(problem, known, notes)
    generations = [g for run in runs for g in range(1, len(run.ends) + 1)]
    told_bits = [bit for run in runs for bit in run.improved]
    bits: list[bool | None] = [*told_bits] or [None] * len(generations)
    history = History(
        generation=generations,
        told_best=[[bit] * len(problem.objectives) for bit in bits],
        estimate=[None] * len(generations),
        set_size=[1] * len(generations),
        actual_mean=None,
        actual_best=None,
    )
    return Result(
        format=FORMAT,
        problem=problem_summary(problem),
        objectives=objective_summaries(problem),
        engine=engine,
        algorithm=SEALED,
        parameters=settings,
        seed=last.seed,
        stopped=last.reason.value,
        generations=sum(run.opened.generation for run in runs),
        evaluations=len(generations),
        plan=known.plans[0],
        named_plan=problem.named_plan(known.plans[0]),
        value=value,
        optimum=None if optimum is None else optimum / scale,
        percent_of_optimum=percent_of_optimum(value, optimum, scale),
        best_known=known,
        estimated_best=known,
        history=history,
        timing=timing,
        notes=notes,
    )


def _check_plans(problem: Problem, known: PlanSet, notes: list[str]) -> None:
    """A plan that takes a forbidden pair is said to be one: nobody could see it before."""
    if problem.forbidden is None:
        return
    for plan in known.plans:
        taken = [row for row, column in enumerate(plan) if problem.forbidden[row, column]]
        if taken:
            notes.append(
                f"the plan takes forbidden pairs in {len(taken)} rows: the search found none "
                "without; give it more time"
            )
