"""The rows of the study of leakage: what a run gave away."""

from __future__ import annotations

import msgspec

from tacit.audit import Measured


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


class AttackResult(msgspec.Struct, frozen=True):
    """The score of every attack on one run."""

    label: str
    family: str
    disclosure: str
    attacks: dict[str, Measured]


class BoundResult(msgspec.Struct, frozen=True):
    """What one run gives away at most."""

    instance: str
    disclosure: str
    evaluations: int
    population: int
    posterior_mean: float
    """The correlation that the mean of the draws reaches."""
    limit: float
    """The highest that any estimate reaches on average, computed without the secret."""
    violated: int
    """How many evaluations the last draws do not fit; not 0 means that the limit is no limit."""


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
