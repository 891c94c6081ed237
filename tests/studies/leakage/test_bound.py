from __future__ import annotations

import msgspec
from studies.leakage.bound import (
    BoundResult,
    bound_table,
    measure_bound,
)
from studies.leakage.plan import leakage_study_from, shipped_leakage_study

from tests.studies.leakage.tiny import TINY


def test_the_study_bounds_one_run_at_its_end() -> None:
    (job,) = shipped_leakage_study().bound_jobs()
    assert (job.label, job.run.disclosure, job.evaluations) == ("assignment", "top:15", (300,))
    assert (job.population, job.mitigation, job.worst_case) == (300, "", False)
    assert not list(leakage_study_from(TINY, "tiny.toml").bound_jobs())
    assert not list(shipped_leakage_study().quick().bound_jobs())


def test_a_run_has_a_limit_and_an_estimate_near_it() -> None:
    study = leakage_study_from('bounded = "top:15"' + TINY, "tiny.toml")
    (job,) = study.bound_jobs()
    result = msgspec.json.decode(measure_bound(job), type=BoundResult)
    assert (result.evaluations, result.population, result.violated) == (12, 30, 0)
    assert 0.3 < result.posterior_mean < 1
    assert abs(result.limit - result.posterior_mean) < 0.2
    text = bound_table([result], [0.5]).markdown()
    assert f"| top:15 | 12 | 0.50 | {result.posterior_mean:.2f} | {result.limit:.2f} |" in text
    unfit = msgspec.structs.replace(result, violated=1)
    assert "| the draws do not fit |" in bound_table([unfit], [0.5]).markdown()
