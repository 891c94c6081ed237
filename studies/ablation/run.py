"""Computing one run of the ablation: how far its plan is from the optimum, within each budget."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from studies.ablation.annealing import platform_annealing
from studies.ablation.study import AblationJob
from studies.evaluation.instances import Reference, reference_of
from studies.evaluation.run import obfuscated
from studies.quality import relative_error
from tacit.disclosure import SEALED, parse_disclosure
from tacit.errors import ParameterError
from tacit.runs import Limits, Progress, drive, simulated_driver
from tacit.search import ClearTour, SearchParameters
from tacit.search.moves import TourParameters


def gaps_of(job: AblationJob, /) -> dict[int, float]:
    """Compute a run: the gap in percent by the number of generations."""
    compute = _genetic if job.algorithm == "genetic" else _annealing
    return compute(job, reference_of(job.run.instance))


def _gap(reference: Reference, plans: NDArray[np.int32]) -> float:
    """Of the truly best of some plans, which the engine reveals at the end of a run."""
    problem = reference.problem
    if reference.optimum is None:
        raise ParameterError(f"the optimum of {problem.name} is not known; leave it out")
    objective = problem.objectives[0]
    value = objective.sign * int(problem.fitness(0, plans).max())
    return 100 * relative_error(value, reference.optimum)


def _genetic(job: AblationJob, reference: Reference) -> dict[int, float]:
    settings = SearchParameters(**dict(job.run.settings))
    problem, limits = (
        obfuscated(reference.problem, job.run),
        Limits(generations=job.run.generations),
    )
    driver = simulated_driver(problem, settings, limits, seed=job.run.seed)
    gaps = {}

    def look(progress: Progress) -> None:
        known = driver.now.best_known
        if progress.generation in job.read_at and known is not None:
            gaps[progress.generation] = _gap(reference, problem.plans(known.genomes))

    drive(driver, observe=look)
    return gaps


def _annealing(job: AblationJob, reference: Reference) -> dict[int, float]:
    parameters = TourParameters(**dict(job.run.settings))
    generations, problem = job.run.generations, reference.problem
    if job.run.disclosure in (SEALED, "none"):
        # A platform that sees values takes the same steps (a test compares them), only slower here.
        sealed = ClearTour.drawn(problem, parameters, seed=job.run.seed)
        sealed.advance(generations, horizon=generations)
        plans = sealed.best()[None]
    else:
        disclosure = parse_disclosure(job.run.disclosure)
        search = platform_annealing(problem, parameters, disclosure, seed=job.run.seed)
        search.advance(generations, horizon=generations)
        plans = search.best_plans()
    return {generations: _gap(reference, plans)}
