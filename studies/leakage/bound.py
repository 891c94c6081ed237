"""How far the attacks are from what anybody could learn under `top:k` on independent weights.

Two chains of draws from the posterior of one run. The mean of the draws is one more attack; the
limit is what no estimate exceeds on average, whatever it does with what was disclosed.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from studies.execution.observed_leakage import recorded
from studies.leakage.plan import LeakageJob
from studies.report.table import ReportTable, plain
from studies.study.instances import reference_of
from tacit.audit import audit_of, bound_of
from tacit.disclosure import BestMode
from tacit.errors import ParameterError

SWEEPS, DROPPED = 512, 256
"""Of each of two chains, about a minute of one core in all; what is drawn first is dropped."""


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


def measure_bound(job: LeakageJob, /) -> bytes:
    """Run, draw from the posterior, and give the result as JSON."""
    weights = reference_of(job.run.instance).problem.objectives[0].weights
    if weights is None:
        raise ParameterError("the problem has no weights to compare with; leave it out")
    audit = audit_of(recorded(job.run, best=BestMode(job.best)), weights.astype(np.float64))
    view = audit.view.first(job.evaluations[-1])
    bound = bound_of(view, sweeps=SWEEPS, dropped=DROPPED)
    result = BoundResult(
        instance=view.problem.name,
        disclosure=job.run.disclosure,
        evaluations=view.evaluations,
        population=job.population,
        posterior_mean=audit.truth.score(bound.estimate).correlation,
        limit=bound.limit,
        violated=bound.violated,
    )
    return msgspec.json.encode(result)


def bound_table(bounds: Sequence[BoundResult], strongest: Sequence[float], /) -> ReportTable:
    """Attack, mean of the posterior, and limit; `strongest` is the best attack on each same run."""
    rows = tuple(
        plain(
            each.instance, each.disclosure, str(each.evaluations), f"{attack:.2f}",
            f"{each.posterior_mean:.2f}",
            f"{each.limit:.2f}" if not each.violated else "the draws do not fit",
        )
        for each, attack in zip(bounds, strongest, strict=True)
    )  # fmt: skip
    return ReportTable(
        "table-bound",
        "What any attack could reach on independent uniform weights",
        ("instance", "disclosure", "evaluations", "strongest attack", "mean of the posterior",
         "limit"),
        rows,
        "Correlations. The mean of the posterior is over draws that fit all that the bits say. The "
        "limit is computed from the draws without the secret: the highest correlation that any "
        "estimate has on average. The draws are few: the mean is somewhat too low, the limit "
        "somewhat too high.",
    )  # fmt: skip
