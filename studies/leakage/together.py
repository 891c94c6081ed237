"""Attacking one run whose objectives are evaluated together, of which a Pareto score is disclosed.

All objectives have the same groups, so the attacks find one matrix. It is measured against the
matrix of each objective, and the one that is given away most counts; and against the sum of all of
them, which is what the score follows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from studies.evaluation.instances import reference_of
from studies.evaluation.run import recorded
from studies.leakage.results import LeakageResult, Point, never_less
from studies.leakage.run import prior_of
from studies.leakage.study import LeakageJob
from studies.quality import relative_error
from tacit.audit import (
    ATTACKS,
    Audit,
    Cells,
    Record,
    Score,
    View,
    audit_of,
    main_attacks,
    prior_named,
    strength,
    unit_of,
)
from tacit.disclosure import BestMode
from tacit.errors import ParameterError
from tacit.problems import Problem, optimum

Matrix = NDArray[np.float64]


def measure_together(job: LeakageJob, /) -> LeakageResult:
    """Run and attack."""
    problem = reference_of(job.run.instance).problem
    record = recorded(job.run, best=BestMode.NOTHING)
    audits = [_audit(job, record, problem, k) for k in range(len(problem.objectives))]
    whole = audit_of(record, _sum_of(problem), priors=[prior_named("range", record.problem)])
    view, plans = audits[0].view, [each.plan_only() for each in audits]
    published = [each.truth.weights.ravel()[view.published].sum() * view.sign for each in audits]
    best = [_optimum(problem, k) for k in range(len(audits))]
    return LeakageResult(
        label=job.kind,
        family=job.family,
        prior=job.prior,
        instance=view.problem.name,
        rows=view.problem.rows,
        columns=view.problem.columns,
        disclosure=job.run.disclosure,
        population=int(view.sizes[-1]),
        mitigation=job.mitigation,
        gap_percent=min(
            100 * relative_error(float(value), least)
            for value, least in zip(published, best, strict=True)
        ),
        prior_alone=max(each.prior_alone().correlation for each in audits),
        plan_only=max(each.correlation for each in plans),
        plan_gain=max(each.gain for each in plans),
        points=never_less([_point(audits, whole, count) for count in job.evaluations]),
    )


def _weights(problem: Problem, objective: int) -> Matrix:
    weights = problem.objectives[objective].weights
    if weights is None:
        raise ParameterError(f"{problem.name} has no weights to compare with; leave it out")
    return weights.astype(np.float64)


def _optimum(problem: Problem, objective: int) -> int:
    """Of one objective alone."""
    found = optimum(replace(problem, objectives=(problem.objectives[objective],)))
    if found is None:
        raise ParameterError(f"{problem.name} has no optimum to compare with; leave it out")
    return found.value


def _audit(job: LeakageJob, record: Record, problem: Problem, objective: int) -> Audit:
    weights = _weights(problem, objective)
    prior = prior_of(job, record, weights)
    return audit_of(record, weights, objective=objective, priors=[prior])


def _sum_of(problem: Problem) -> Matrix:
    """All matrices added up, each in units of its own spread."""
    first = problem.objectives[0].sign
    matrices = [_weights(problem, k) for k in range(len(problem.objectives))]
    signs = [each.sign * first for each in problem.objectives]
    whole: Matrix = np.sum([s * m / m.std() for s, m in zip(signs, matrices, strict=True)], axis=0)
    return whole


def _point(audits: list[Audit], whole: Audit, evaluations: int) -> Point:
    view = audits[0].view.first(evaluations)
    found = main_attacks(view)
    plain = [*found.values(), ATTACKS["frequency"](view, {})]
    scores = [
        score
        for each in audits
        for estimate in (*plain, *_informed(each, view, found))
        if estimate is not None
        for score in [_score(each, view, estimate)]
    ]
    best = max(scores, key=strength)
    together = max(
        _score(whole, view, estimate).correlation for estimate in plain if estimate is not None
    )
    return Point(
        evaluations,
        best.correlation,
        best.gain,
        best.nrmse,
        best.plan_quality,
        of_sum=together,
    )


def _informed(audit: Audit, view: View, found: dict[str, Cells]) -> list[Cells | None]:
    """What prior knowledge makes of the same."""
    prior = audit.prior
    return [prior.from_candidates(view), prior.from_disclosed(view, found), prior.from_plan(view)]


def _score(audit: Audit, view: View, estimate: Cells) -> Score:
    return audit.measuring.score(estimate, unit=unit_of(view, estimate))
