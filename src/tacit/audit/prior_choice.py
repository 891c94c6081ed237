"""Choose the prior knowledge that an attacker of a problem may have."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tacit.audit.cost_models import LowRank, OnAMap, RowsAndColumnsOnAMap, Schedule
from tacit.audit.prior_knowledge import ColumnEffects, LastWeek, NothingButTheRange, PriorKnowledge
from tacit.audit.record import RecordedProblem, first_columns
from tacit.errors import InputError
from tacit.problems import Assignment, sampled_delay_costs

DRAWN_CURVES = 2000
SLOT_MINUTES = 4
"""The length of a slot that an attacker assumes."""
SEED = 12_345
"""The seed of the attacker's own draws, unrelated to that of any problem."""


def priors_that_fit(problem: RecordedProblem, /) -> list[PriorKnowledge]:
    """Every prior whose form fits a problem, the one that is most likely to be known first."""
    if problem.known.between_places:
        maps: list[PriorKnowledge] = [OnAMap()] if problem.symmetric else []
        return [*maps, NothingButTheRange()]
    plain: list[PriorKnowledge] = [NothingButTheRange()]
    # With as many rows as columns a constant per column changes no plan, so nobody can find it.
    plain += [ColumnEffects()] if problem.rows != problem.columns else []
    plain += [LowRank(), RowsAndColumnsOnAMap()]
    first = first_columns(problem.forbidden, problem.rows)
    if first is None or problem.kind != Assignment.kind:
        return plain
    return [delay_schedule(problem, first), linear_schedule(problem, first), *plain]


def prior_named(name: str, problem: RecordedProblem, /) -> PriorKnowledge:
    """A prior by its name in a study."""
    plain: dict[str, PriorKnowledge] = {
        each.name: each
        for each in (NothingButTheRange(), ColumnEffects(), LowRank(), RowsAndColumnsOnAMap(),
                     OnAMap())
    }  # fmt: skip
    if name in plain:
        return plain[name]
    scheduled = {"schedule": delay_schedule, "linear schedule": linear_schedule}
    first = first_columns(problem.forbidden, problem.rows)
    if name in scheduled and first is not None:
        return scheduled[name](problem, first)
    raise InputError(f"the prior {name!r} is not known, or does not fit {problem.name}")


def delay_schedule(problem: RecordedProblem, first: Sequence[int], /) -> Schedule:
    """Delays cost airlines what they usually do."""
    minutes = [SLOT_MINUTES * each for each in range(problem.columns)]
    curves = sampled_delay_costs(SEED, DRAWN_CURVES, minutes)
    return Schedule(curves.astype(np.float64), np.array(first))


def linear_schedule(problem: RecordedProblem, first: Sequence[int], /) -> Schedule:
    """Every slot of delay costs a row the same, some rows more than others."""
    # Quantiles in place of draws: all rates are equally likely, and no seed is needed.
    rates = (np.arange(DRAWN_CURVES) + 0.5) / DRAWN_CURVES
    curves = rates[:, None] * np.arange(problem.columns)
    return Schedule(
        curves, np.array(first), "linear schedule", "the schedule and that costs are linear"
    )


def last_week_of(weights: NDArray[np.float64], change: float, /) -> LastWeek:
    """Costs that differ from known ones by independent changes of this spread."""
    return LastWeek(weights, change)
