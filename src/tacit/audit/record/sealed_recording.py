"""The record of a sealed search: the opened plans and little else."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit.audit.record.record import Record, RecordedObjective, deflated
from tacit.audit.record.recorder import Recorder, recorded_problem
from tacit.disclosure import SEALED
from tacit.errors import ParameterError
from tacit.problems import Problem
from tacit.runs import Result


def sealed_record(problem: Problem, result: Result, /, *, for_owners: bool = False) -> Record:
    """What the platform saw of a sealed run; `problem` as it was solved, with its disclosures.

    Of plans `for_owners` it saw none, though `result` has them where all owners are together.
    """
    if result.algorithm != SEALED:
        raise ParameterError("this run was not sealed; record it with a Recorder")
    settings = {
        name: value
        for name, value in result.parameters.items()
        if isinstance(value, (bool, int, str))
    }
    return record_of_plans(
        problem,
        [] if for_owners else result.best_known.plans,
        search={"algorithm": SEALED, **settings},
        value=result.best_known.disclosed[0],
    )


def record_of_result(
    problem: Problem, result: Result, recorder: Recorder, /, *, for_owners: bool = False
) -> Record:
    """What the platform saw of a run that `recorder` watched."""
    if result.algorithm == SEALED:
        return sealed_record(problem, result, for_owners=for_owners)
    return recorder.record(result.plan)


def record_of_plans(
    problem: Problem,
    plans: Sequence[Sequence[int]],
    /,
    *,
    search: dict[str, bool | int | str],
    value: float | bool | None = None,
) -> Record:
    """A record from what a sealed search opened: its plans and, where that was agreed, a value."""
    nothing = deflated(np.empty(0), "<u2")
    objectives = []
    for each in problem.objectives:
        disclosed: list[int | bool | None] = []
        if each.best_mode.value == "value" and value is not None:
            disclosed = [each.sign * round(value * each.scale)]
        objectives.append(
            RecordedObjective(
                name=each.name,
                sense=each.sense,
                weight_bound=each.weight_bound,
                disclosure=SEALED,
                best=each.best_mode.value,
                disclosed_best=disclosed,
                disclosed=nothing,
                scale=each.scale,
            )
        )
    first, *others = [[int(column) for column in plan] for plan in plans] or [[]]
    return Record(
        problem=recorded_problem(problem),
        objectives=objectives,
        search=search,
        sizes=[],
        plans=nothing,
        published=first,
        published_too=others,
    )
