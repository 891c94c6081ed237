"""What one run gives away, for methods whose groups vary in size from one set to the next."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from studies.execution.job import Job
from studies.execution.run_job import obfuscated
from studies.study.instances import reference_of
from studies.study.study import Study
from tacit.audit import Record, Recorder, counts_of, view_of
from tacit.disclosure import BestMode, Leakage
from tacit.runs import Limits, drive, simulated_driver
from tacit.search import SearchParameters


def observed_leakage(job: Job, /) -> Leakage:
    """Count the equations and inequations of a run, as if no candidate came twice.

    A best bucket with a single candidate names the best, so each pair of such sets is an equation.
    """
    return counts_of(view_of(recorded(job)), repeats=True)


def recorded(job: Job, /, *, best: BestMode = BestMode.VALUE) -> Record:
    """The record of a job's run, on a simulated engine."""
    problem = obfuscated(reference_of(job.instance).problem, job)
    objectives = tuple(replace(each, best_mode=best) for each in problem.objectives)
    problem = replace(problem, objectives=objectives)
    parameters, limits = SearchParameters(**dict(job.settings)), Limits(generations=job.generations)
    driver, recorder = simulated_driver(problem, parameters, limits, seed=job.seed), Recorder()
    drive(driver, observe=recorder)
    return recorder.record(driver.plans()[0])


def first_run_with(study: Study, disclosure: str, /, *, evaluations: int) -> Job:
    """The first run of a study under a disclosure, cut to so many evaluations."""
    chosen = msgspec.structs.replace(study, disclosures=(disclosure,), budget=None)
    job = next(chosen.jobs())
    return msgspec.structs.replace(job, generations=min(evaluations - 1, study.generations))
