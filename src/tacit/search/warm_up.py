"""Compiling a search's kernels before any clock runs.

The first call of a kernel in a process loads its machine code from disk, or compiles it if this
machine never did. Two generations of a tiny search of the same shape touch every kernel that the
real one will use.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from tacit.problems import Assignment, Objective, Problem, Tour
from tacit.search.evolution import Evolution
from tacit.search.parameters import SearchParameters


def warm_up(problem: Problem, parameters: SearchParameters, /) -> float:
    """Compile everything that this search calls; returns the seconds it took."""
    started = time.monotonic()
    tiny = _tiny_twin(problem)
    few = replace(parameters, population=6, elites=min(parameters.elites, 2))
    search = Evolution(tiny, few)
    rng = np.random.Generator(np.random.PCG64(0))
    state = search.start()
    for _ in range(2):
        genomes = search.ask(state, rng)
        plans = tiny.plans(genomes)
        fitness = [tiny.fitness(k, plans) for k in range(len(tiny.objectives))]
        state = search.tell(state, genomes, np.stack(fitness, axis=1).astype(np.float64))
    # Records sum up a selection of the genomes. If that is a single one, the plan is contiguous in
    # memory also where m < n, and another version of the kernel is called.
    tiny.fitness(0, tiny.plans(state.genomes[:2]))
    tiny.fitness(0, tiny.plans(state.genomes[:1]))
    return time.monotonic() - started


def _tiny_twin(problem: Problem) -> Problem:
    """A problem of the same kind that differs in size alone."""
    rows, columns = 4, 4 if problem.rows == problem.columns else 5
    objectives = tuple(
        Objective(objective.name, np.ones((rows, columns), dtype=np.int64))
        for objective in problem.objectives
    )
    if isinstance(problem, Tour):
        return Tour(name="tiny", rows=rows, columns=rows, objectives=objectives)
    forbidden = None if problem.allowed is None else np.zeros((rows, columns), dtype=np.bool_)
    return Assignment(
        name="tiny", rows=rows, columns=columns, objectives=objectives, forbidden=forbidden
    )
