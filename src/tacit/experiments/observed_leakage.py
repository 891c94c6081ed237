"""What one run gives away, for methods whose groups vary in size from one set to the next."""

from __future__ import annotations

from math import comb

import msgspec
import numpy as np

from tacit.disclosure import Buckets, estimator_named, parse_disclosure
from tacit.disclosure.leakage import Leakage, inequations_between
from tacit.experiments.instances import yardstick_of
from tacit.experiments.job import Job
from tacit.experiments.perform import obfuscated
from tacit.experiments.study import Study
from tacit.runs import GenerationView, Limits, Run, simulated_evaluator
from tacit.search import SearchParameters


def observed_leakage(job: Job, /) -> Leakage:
    """Count the equations and inequations of a run, as if no candidate came twice.

    A best bucket with a single candidate names the best, so each pair of such sets is an equation.

    >>> from tacit.experiments.instances import InstanceSpec
    >>> settings = (("elites", 2), ("population", 20), ("tournament", 3))
    >>> job = Job(instance=InstanceSpec(generate="assignment", size=8, seed=1), settings=settings,
    ...           disclosure="top:5", generations=9)
    >>> observed_leakage(job)
    Leakage(equations=0, inequations=750, across_populations=0)
    """
    disclosure = parse_disclosure(job.disclosure)
    problem = obfuscated(yardstick_of(job.instance).problem, job)
    parameters = SearchParameters(**dict(job.settings))
    inequations, named = 0, 0

    def count(view: GenerationView) -> None:
        nonlocal inequations, named
        sizes = np.bincount(disclosure.levels(view.evaluation.disclosed[0])).tolist()
        inequations += inequations_between(sizes)
        named += isinstance(disclosure, Buckets) and sizes[0] == 1

    run = Run(
        problem,
        parameters,
        simulated_evaluator(problem, estimator_named(parameters.estimator)),
        seed=job.seed,
        limits=Limits(generations=job.generations),
        observe=count,
    )
    run.to_its_limits()
    return Leakage(comb(named, 2), inequations)


def first_run_with(study: Study, disclosure: str, /, *, evaluations: int) -> Job:
    """The first run of a study under a disclosure, cut to so many evaluations."""
    chosen = msgspec.structs.replace(study, disclosures=(disclosure,), budget=None)
    job = next(chosen.jobs())
    return msgspec.structs.replace(job, generations=min(evaluations - 1, study.generations))
