"""Running and attacking one run of the study of leakage."""

from __future__ import annotations

import msgspec
import numpy as np

from tacit.audit import (
    ATTACKS,
    Audit,
    Measured,
    Record,
    View,
    audit_of,
    main_attacks,
    recover_by_crafted,
    recover_by_random,
    sealed_record,
    unit_of,
)
from tacit.disclosure import SEALED, BestMode
from tacit.errors import ParameterError
from tacit.experiments.execution.observed_leakage import recorded
from tacit.experiments.leakage.plan import LeakageJob
from tacit.experiments.quality import relative_error
from tacit.experiments.study.instances import reference_of
from tacit.runs import Limits, solve, with_disclosures

FEWEST_TO_CRAFT = 200
"""With fewer evaluations there is little to craft from, and random populations are as good."""
ALL_KNOWN = 0.97
"""From here on a platform has no reason to break the agreement."""


class Point(msgspec.Struct, frozen=True):
    """The leakage after this many evaluations: correlations and the attacker's plan."""

    evaluations: int
    honest: float
    nrmse: float
    plan_quality: float
    worst: float | None = None


class LeakageResult(msgspec.Struct, frozen=True):
    """What one run gave away."""

    label: str
    instance: str
    rows: int
    disclosure: str
    population: int
    mitigation: str
    gap_percent: float
    """How far the published plan is from the optimum."""
    plan_only: float
    points: list[Point]


class AttackResult(msgspec.Struct, frozen=True):
    """The score of every attack on one run."""

    disclosure: str
    attacks: dict[str, Measured]


def try_attacks(job: LeakageJob, /) -> bytes:
    """Run, try every attack of those who keep to the search, and give the result as JSON."""
    audit, _ = _audited(job)
    return msgspec.json.encode(AttackResult(job.run.disclosure, audit.honest() | audit.informed()))


def _audited(job: LeakageJob) -> tuple[Audit, int]:
    """The audit of a job's run, and the optimum."""
    reference = reference_of(job.run.instance)
    weights = reference.problem.objectives[0].weights
    if weights is None or reference.optimum is None:
        raise ParameterError(
            f"{reference.problem.name} has no weights or no optimum to compare with; leave it out"
        )
    record = _RECORDERS.get(job.run.disclosure, _record)(job)
    audit = audit_of(record, weights.astype(np.float64), optimum=reference.optimum)
    return audit, reference.optimum


def _record(job: LeakageJob) -> Record:
    return recorded(job.run, best=BestMode(job.best))


def _sealed_record(job: LeakageJob) -> Record:
    problem = with_disclosures(reference_of(job.run.instance).problem, SEALED, None)
    limits = Limits(generations=job.run.generations)
    result = solve(problem, limits=limits, seed=job.run.seed, engine="simulated")
    return sealed_record(problem, result)


_RECORDERS = {SEALED: _sealed_record}
"""How runs are recorded whose evaluations cannot be watched."""


def measure_leakage(job: LeakageJob, /) -> bytes:
    """Run, attack, and give the result as JSON, which is what travels between processes."""
    audit, optimum = _audited(job)
    published = audit.truth.weights.ravel()[audit.view.published].sum() * audit.view.sign
    baseline = audit.plan_only()
    result = LeakageResult(
        label=job.label,
        instance=audit.view.problem.name,
        rows=audit.view.problem.rows,
        disclosure=job.run.disclosure,
        population=job.population,
        mitigation=job.mitigation,
        gap_percent=100 * relative_error(float(published), optimum),
        plan_only=baseline.correlation,
        points=[_point(audit, count, job) for count in job.evaluations],
    )
    return msgspec.json.encode(result)


def _point(audit: Audit, evaluations: int, job: LeakageJob) -> Point:
    if not audit.view.evaluations:
        # There is only the plan, however long the search was.
        plan = audit.plan_only()
        return Point(evaluations, plan.correlation, plan.nrmse, plan.plan_quality, plan.correlation)
    view = audit.view.first(evaluations)
    estimates = [*main_attacks(view).values(), ATTACKS["frequency"](view, {})]
    scores = [
        audit.truth.score(each, unit=unit_of(view, each)) for each in estimates if each is not None
    ]
    best = max(scores, key=lambda score: score.correlation)
    worst = None
    if job.worst_case and evaluations >= job.worst_from:
        worst = max(best.correlation, _unrestricted(view, audit, best.correlation))
    return Point(evaluations, best.correlation, best.nrmse, best.plan_quality, worst)


def _unrestricted(view: View, audit: Audit, honest: float) -> float:
    if honest >= ALL_KNOWN:
        return honest
    crafted = view.evaluations >= FEWEST_TO_CRAFT
    ask = recover_by_crafted if crafted else recover_by_random
    return audit.truth.score(ask(view, audit.truth.weights)).correlation
