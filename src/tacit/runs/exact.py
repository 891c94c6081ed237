"""The reference: an optimal answer, where every objective is public.

SciPy's linear sum assignment for one objective; for several, weighted sums give the supported
part of the front. No search, no secrets.
"""

from __future__ import annotations

import time

import numpy as np

from tacit.errors import ParameterError
from tacit.problems import Assignment, Problem, ground_truth, optimum
from tacit.runs.driver import Outcome
from tacit.runs.history import GenerationRecord
from tacit.runs.limits import StopReason
from tacit.runs.result import Result, Timing
from tacit.runs.summarize import history_lists, plan_set, summarize


def solve_exactly(problem: Problem, /) -> Result:
    """Solve an assignment whose objectives are all public."""
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
    disclosed = tuple(int(each.max()) for each in fitness)
    means = tuple(float(each.mean()) for each in fitness)
    front = plan_set(problem, plans, 0, disclosed)
    seconds = time.monotonic() - started
    record = GenerationRecord(0, disclosed, None, len(plans), means, disclosed, seconds)
    outcome = Outcome(
        algorithm="exact",
        parameters={},
        seed=0,
        generations=0,
        evaluations=0,
        best_known=front,
        estimated_best=front,
        history=history_lists(problem, [record]),
        ends=[seconds],
    )
    timing = Timing(seconds, 0.0, outcome.ends)
    return summarize(problem, outcome, StopReason.OPTIMAL, timing, engine="clear", optimum=best)
