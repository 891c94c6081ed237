"""What one run gives away, for methods whose groups vary in size from one set to the next."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from tacit.audit.record.record import Record
from tacit.audit.record.recorder import Recorder
from tacit.audit.record.view import view_of
from tacit.audit.score.counts import counts_of
from tacit.disclosure import BestMode, estimator_named
from tacit.disclosure.leakage import Leakage
from tacit.errors import ParameterError
from tacit.experiments.execution.job import Job
from tacit.experiments.execution.run_job import obfuscated
from tacit.experiments.study.instances import reference_of
from tacit.experiments.study.study import Study
from tacit.runs import Limits, Run, simulated_evaluator
from tacit.search import SearchParameters


def observed_leakage(job: Job, /) -> Leakage:
    """Count the equations and inequations of a run, as if no candidate came twice.

    A best bucket with a single candidate names the best, so each pair of such sets is an equation.

    >>> from tacit.experiments.study.instances import InstanceSpec
    >>> settings = (("elites", 2), ("population", 20), ("tournament", 3))
    >>> job = Job(instance=InstanceSpec(generate="assignment", size=8, seed=1), settings=settings,
    ...           disclosure="top:5", generations=9)
    >>> observed_leakage(job)
    Leakage(equations=0, inequations=750, across_populations=0)
    """
    return counts_of(view_of(recorded(job)), repeats=True)


def recorded(job: Job, /, *, best: BestMode = BestMode.VALUE) -> Record:
    """The record of a job's run, on a simulated engine."""
    problem = obfuscated(reference_of(job.instance).problem, job)
    told = tuple(replace(each, best_mode=best) for each in problem.objectives)
    problem = replace(problem, objectives=told)
    parameters = SearchParameters(**dict(job.settings))
    recorder = Recorder()
    run = Run(
        problem,
        parameters,
        simulated_evaluator(problem, estimator_named(parameters.estimator)),
        seed=job.seed,
        limits=Limits(generations=job.generations),
        observe=recorder,
    )
    run.to_its_limits()
    best_known = run.now.best_known
    if best_known is None:
        raise ParameterError("nothing was evaluated; give at least one generation")
    return recorder.record(problem.plans(best_known.genomes)[0].tolist())


def first_run_with(study: Study, disclosure: str, /, *, evaluations: int) -> Job:
    """The first run of a study under a disclosure, cut to so many evaluations."""
    chosen = msgspec.structs.replace(study, disclosures=(disclosure,), budget=None)
    job = next(chosen.jobs())
    return msgspec.structs.replace(job, generations=min(evaluations - 1, study.generations))
