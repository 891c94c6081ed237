"""How far the attacks are from what anybody could learn under `top:k` on independent weights.

Two chains of draws from the posterior of one run. The mean of the draws is one more attack; the
limit is what no estimate exceeds on average, whatever it does with what was disclosed.
"""

from __future__ import annotations

import numpy as np

from studies.evaluation.instances import reference_of
from studies.evaluation.run import recorded
from studies.leakage.results import BoundResult
from studies.leakage.study import LeakageJob
from tacit.audit import audit_of, bound_of
from tacit.disclosure import BestMode
from tacit.errors import ParameterError

SWEEPS, DROPPED = 512, 256
"""Of each of two chains, about a minute of one core in all; what is drawn first is dropped."""


def measure_bound(job: LeakageJob, /) -> BoundResult:
    """Run, and draw from the posterior."""
    weights = reference_of(job.run.instance).problem.objectives[0].weights
    if weights is None:
        raise ParameterError("the problem has no weights to compare with; leave it out")
    audit = audit_of(recorded(job.run, best=BestMode(job.best)), weights.astype(np.float64))
    view = audit.view.first(job.evaluations[-1])
    bound = bound_of(view, sweeps=SWEEPS, dropped=DROPPED)
    return BoundResult(
        instance=view.problem.name,
        disclosure=job.run.disclosure,
        evaluations=view.evaluations,
        population=job.population,
        posterior_mean=audit.truth.score(bound.estimate).correlation,
        limit=bound.limit,
        violated=bound.violated,
    )
