"""Run and attack one run of the study of leakage; several objectives may be evaluated together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from studies.evaluation.instances import reference_of
from studies.evaluation.run import recorded
from studies.leakage.results import AttackResult, LeakageResult, Point, never_less
from studies.leakage.study import LeakageJob
from studies.statistics import relative_error
from tacit.audit import (
    ATTACKS,
    Audit,
    Cells,
    PriorKnowledge,
    Record,
    Score,
    View,
    audit_of,
    last_week_of,
    main_attacks,
    prior_named,
    random_view,
    recover_by_crafted,
    recover_from,
    sealed_record,
    strength,
    unit_of,
)
from tacit.disclosure import SEALED, BestMode
from tacit.errors import ParameterError
from tacit.problems import Problem, optimum
from tacit.runs import Limits, solve, with_disclosures

FEWEST_TO_CRAFT = 200
"""With fewer evaluations there is little to craft from, and random populations are as good."""
LAST_WEEK = "last week"
CHANGED = 0.5
"""How much costs change from week to week, in units of their spread."""
ALL_KNOWN = 0.97
"""From here on a platform has no reason to break the agreement."""


def try_attacks(job: LeakageJob, /) -> AttackResult:
    """Run, and try every attack of those who keep to the search."""
    audit, _ = _audited(job)
    measured = audit.honest() | audit.informed()
    return AttackResult(job.kind, job.family, job.run.disclosure, measured)


def prior_of(job: LeakageJob, record: Record, weights: NDArray[np.float64], /) -> PriorKnowledge:
    """What the attackers know; what they have of last week is drawn here."""
    if job.prior != LAST_WEEK:
        return prior_named(job.prior, record.problem)
    change = CHANGED * float(weights.std())
    rng = np.random.Generator(np.random.PCG64(job.run.seed))
    return last_week_of(weights + change * rng.standard_normal(weights.shape), change)


def _audited(job: LeakageJob) -> tuple[Audit, int]:
    """The audit of a job's run, and the optimum."""
    reference = reference_of(job.run.instance)
    weights = reference.problem.objectives[0].weights
    if weights is None or reference.optimum is None:
        raise ParameterError(
            f"{reference.problem.name} has no weights or no optimum to compare with; leave it out"
        )
    record = _RECORDERS.get(job.run.disclosure, _record)(job)
    secret = weights.astype(np.float64)
    prior = prior_of(job, record, secret)
    audit = audit_of(record, secret, optimum=reference.optimum, priors=[prior])
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


def measure_leakage(job: LeakageJob, /) -> LeakageResult:
    """Run and attack."""
    if len(reference_of(job.run.instance).problem.objectives) > 1:
        from studies.leakage.run import measure_together

        return measure_together(job)
    audit, optimum = _audited(job)
    published = audit.truth.weights.ravel()[audit.view.published].sum() * audit.view.sign
    baseline = audit.plan_only()
    return LeakageResult(
        label=job.kind,
        family=job.family,
        prior=job.prior,
        instance=audit.view.problem.name,
        rows=audit.view.problem.rows,
        columns=audit.view.problem.columns,
        disclosure=job.run.disclosure,
        population=job.population,
        mitigation=job.mitigation,
        gap_percent=100 * relative_error(float(published), optimum),
        prior_alone=audit.prior_alone().correlation,
        plan_only=baseline.correlation,
        plan_gain=baseline.gain,
        points=never_less([_point(audit, count, job) for count in job.evaluations]),
    )


def _point(audit: Audit, evaluations: int, job: LeakageJob) -> Point:
    if not audit.view.evaluations:
        # There is only the plan, however long the search was.
        plan = audit.plan_only()
        told = (plan.correlation, plan.gain)
        return Point(evaluations, *told, plan.nrmse, plan.plan_quality, *told)
    view = audit.view.first(evaluations)
    # The strongest attack counts, though an attacker could not know which one that is: the figure
    # is an upper one.
    best = max(_scores(view, audit), key=strength)
    worst = None
    if job.worst_case and evaluations >= job.worst_from:
        worst = max(best, _unrestricted(view, audit, best), key=strength)
    return Point(
        evaluations,
        best.correlation,
        best.gain,
        best.nrmse,
        best.plan_quality,
        None if worst is None else worst.correlation,
        None if worst is None else worst.gain,
    )


def _scores(view: View, audit: Audit) -> list[Score]:
    """Of the main attacks, and of what the prior makes of the same."""

    def score(estimate: Cells) -> Score:
        return audit.measuring.score(estimate, unit=unit_of(view, estimate))

    if view.problem.known.between_places:
        # With a map there is little left for the others to find, and they take longest.
        by_prior = audit.prior.from_disclosed(view, {})
        if by_prior is not None and (known := score(by_prior)).gain >= ALL_KNOWN:
            return [known]
    found = main_attacks(view)
    estimates = [
        *found.values(),
        ATTACKS["frequency"](view, {}),
        audit.prior.from_candidates(view),
        audit.prior.from_disclosed(view, found),
        audit.prior.from_plan(view),
    ]
    return [score(each) for each in estimates if each is not None]


def _unrestricted(view: View, audit: Audit, honest: Score) -> Score:
    if honest.gain >= ALL_KNOWN:
        return honest
    weights = audit.truth.weights
    asked = random_view(view, weights)
    crafted = view.evaluations >= FEWEST_TO_CRAFT
    plain = recover_by_crafted(view, weights) if crafted else recover_from(asked)
    tried = [plain, audit.prior.from_disclosed(asked, {"pointwise": plain})]
    scores = [audit.measuring.score(each) for each in tried if each is not None]
    return max(scores, key=strength)


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
        points=never_less([_point_together(audits, whole, count) for count in job.evaluations]),
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


def _point_together(audits: list[Audit], whole: Audit, evaluations: int) -> Point:
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
