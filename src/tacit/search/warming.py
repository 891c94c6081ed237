"""Compiling a search's kernels before any clock runs.

The first call of a kernel in a process loads its machine code from disk, or compiles it if this
machine never did. Two generations of a search with a tiny population touch every kernel that the
real one will use.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from tacit.problems import Objective, Problem
from tacit.search.evolution import Evolution
from tacit.search.parameters import SearchParameters


def warm_up(problem: Problem, parameters: SearchParameters, /) -> float:
    """Make everything ready that this search calls; gives the seconds it took."""
    started = time.monotonic()
    twin = _twin(problem)
    few = replace(parameters, population=6, elites=min(parameters.elites, 2))
    search = Evolution(twin, few)
    rng = np.random.Generator(np.random.PCG64(0))
    state = search.start()
    for _ in range(2):
        genomes = search.ask(state, rng)
        plans = twin.plans(genomes)
        fitness = [twin.fitness(k, plans) for k in range(len(twin.objectives))]
        state = search.tell(state, genomes, np.stack(fitness, axis=1).astype(np.float64), rng)
    # Records sum up a selection of the genomes. If that is a single one, the plan is contiguous in
    # memory also where m < n, and another version of the kernel is called.
    twin.fitness(0, twin.plans(state.genomes[:2]))
    twin.fitness(0, twin.plans(state.genomes[:1]))
    return time.monotonic() - started


def _twin(problem: Problem) -> Problem:
    """The same problem with weights, whether or not they are here, and nothing to prove."""
    weights = np.zeros((problem.rows, problem.columns), dtype=np.int64)
    objectives = tuple(
        Objective(each.name, weights, disclosure=each.disclosure, best_mode=each.best_mode)
        for each in problem.objectives
    )
    return replace(problem, objectives=objectives, proven=True)
