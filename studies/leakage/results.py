"""What a run of the study of leakage gave away, and what its attackers know before it."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from studies.leakage.plan import LeakageJob
from tacit.audit import PriorKnowledge, Record, last_week_of, prior_named

LAST_WEEK = "last week"
CHANGED = 0.5
"""How much costs change from week to week, in units of their spread."""


class Point(msgspec.Struct, frozen=True):
    """The leakage after this many evaluations: correlations and the attacker's plan."""

    evaluations: int
    honest: float
    honest_gain: float
    """Beyond what the prior tells, as all gains."""
    nrmse: float
    plan_quality: float
    worst: float | None = None
    worst_gain: float | None = None
    of_sum: float | None = None
    """Where objectives are evaluated together, the correlation with the sum of all of them."""


class LeakageResult(msgspec.Struct, frozen=True):
    """What one run gave away."""

    label: str
    family: str
    prior: str
    instance: str
    rows: int
    columns: int
    disclosure: str
    population: int
    mitigation: str
    gap_percent: float
    """How far the published plan is from the optimum."""
    prior_alone: float
    plan_only: float
    plan_gain: float
    points: list[Point]


def prior_of(job: LeakageJob, record: Record, weights: NDArray[np.float64], /) -> PriorKnowledge:
    """What the attackers know; what they have of last week is drawn here."""
    if job.prior != LAST_WEEK:
        return prior_named(job.prior, record.problem)
    change = CHANGED * float(weights.std())
    rng = np.random.Generator(np.random.PCG64(job.run.seed))
    return last_week_of(weights + change * rng.standard_normal(weights.shape), change)


def never_less(points: list[Point], /) -> list[Point]:
    """An attacker need not use all evaluations: what fewer gave away stays known."""
    kept: list[Point] = []
    for each in points:
        before = kept[-1] if kept else each
        names: tuple[str, ...] = ()
        if before.honest > each.honest:
            names += ("honest", "honest_gain", "nrmse", "plan_quality")
        if each.worst is not None and before.worst is not None and before.worst > each.worst:
            names += ("worst", "worst_gain")
        if each.of_sum is not None and before.of_sum is not None and before.of_sum > each.of_sum:
            names += ("of_sum",)
        earlier = {name: getattr(before, name) for name in names}
        kept.append(msgspec.structs.replace(each, **earlier))
    return kept
