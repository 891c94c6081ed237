"""The reference: an optimal answer, where every objective is public.

SciPy's linear sum assignment for one objective; for several, weighted sums give the supported
part of the front. No search, no secrets.
"""

from __future__ import annotations

import time

import numpy as np

from tacit.errors import ParameterError
from tacit.problems import Assignment, Problem, ground_truth, optimum
from tacit.runs.history import GenerationRecord
from tacit.runs.limits import StopReason
from tacit.runs.result import FORMAT, Result, Timing
from tacit.runs.summarize import (
    history_lists,
    objective_summaries,
    percent_of_optimum,
    plan_set,
    problem_summary,
)


def solve_exactly(problem: Problem, /) -> Result:
    """Solve an assignment whose objectives are all public.

    >>> from tacit.problems import Objective
    >>> pay = Objective("pay", np.array([[1, 9], [8, 3]]), confidential=False)
    >>> solve_exactly(Assignment(name="p", rows=2, columns=2, objectives=(pay,))).plan
    [1, 0]
    """
    started = time.monotonic()
    if not isinstance(problem, Assignment):
        raise ParameterError(
            f"exact solves assignments and {problem.name!r} is a {problem.kind}; "
            "use genetic (preset paper-tsp)"
        )
    for objective in problem.objectives:
        if objective.confidential:
            raise ParameterError(
                f"exact needs every objective in the clear and {objective.name!r} is confidential; "
                "mark it as public or use genetic"
            )
    best: int | None = None
    if len(problem.objectives) == 1:
        found = optimum(problem)
        if found is None or found.plan is None:
            raise ParameterError(
                f"exact needs the weights of {problem.name!r} and they are not here; "
                "give a problem file with weights"
            )
        best, plans = found.value, np.asarray([found.plan], dtype=np.int32)
    else:
        plans = ground_truth(problem).plans
    fitness = [problem.fitness(k, plans) for k in range(len(problem.objectives))]
    told = tuple(int(each.max()) for each in fitness)
    means = tuple(float(each.mean()) for each in fitness)
    front = plan_set(problem, plans, 0, told)
    seconds = time.monotonic() - started
    record = GenerationRecord(0, told, None, len(plans), means, told, seconds)
    value = front.actual[0] if front.actual else None
    scale = problem.objectives[0].scale
    return Result(
        format=FORMAT,
        problem=problem_summary(problem),
        objectives=objective_summaries(problem),
        engine="clear",
        algorithm="exact",
        parameters={},
        seed=0,
        stopped=StopReason.OPTIMAL.value,
        generations=0,
        evaluations=0,
        plan=front.plans[0],
        named_plan=problem.named_plan(front.plans[0]),
        value=value,
        optimum=None if best is None else best / scale,
        percent_of_optimum=percent_of_optimum(value, best, scale),
        best_known=front,
        estimated_best=front,
        history=history_lists(problem, [record]),
        timing=Timing(seconds, 0.0, [seconds]),
    )
