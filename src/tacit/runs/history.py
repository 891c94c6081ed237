"""What a run saw, generation by generation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from numpy.typing import NDArray

from tacit.problems import Evaluation, Problem
from tacit.search import SearchState

if TYPE_CHECKING:
    from tacit.runs.evaluating.driver import EvaluatingDriver


@dataclass(frozen=True, eq=False)
class GenerationView:
    """What a search sees of a generation that it evaluates."""

    driver: EvaluatingDriver
    record: GenerationRecord
    state: SearchState
    plans: NDArray[np.int32]
    """What was evaluated, one plan per row."""
    evaluation: Evaluation
    actual: list[NDArray[np.int64]] | None
    """The actual fitness of the estimated-best set per objective, where the caller may know it."""


class GenerationRecord(msgspec.Struct, frozen=True):
    """One generation, in internal fitness (larger is better, scaled)."""

    generation: int
    disclosed_best: tuple[int | bool | None, ...] = msgspec.field(name="told_best")
    """What each objective disclosed of its best fitness."""
    largest_estimate: float | None
    """The estimate of the estimated-best set; None where several objectives decide."""
    set_size: int
    """How many individuals share the best estimate, or are estimated to be non-dominated."""
    actual_mean: tuple[float, ...] | None
    """The mean actual fitness of that set per objective, where the caller may know it."""
    actual_best: tuple[int, ...] | None
    """The best actual fitness within that set per objective, where the caller may know it."""
    seconds: float
    """When the generation was done, from the start of the run."""


def record_generation(
    problem: Problem,
    state: SearchState,
    evaluation: Evaluation,
    /,
    *,
    actual: bool,
    seconds: float,
) -> tuple[GenerationRecord, list[NDArray[np.int64]] | None]:
    """Sum up a generation; also the actual fitness of its estimated-best set, per objective."""
    chosen = state.estimated_best()
    mean: tuple[float, ...] | None = None
    best: tuple[int, ...] | None = None
    fitness = None
    if actual:
        plans = problem.plans(state.genomes[chosen])
        fitness = [problem.fitness(k, plans) for k in range(len(problem.objectives))]
        mean = tuple(int(each.sum()) / len(each) for each in fitness)
        best = tuple(int(each.max()) for each in fitness)
    single = state.estimates.shape[1] == 1
    record = GenerationRecord(
        generation=state.generation,
        disclosed_best=evaluation.best,
        largest_estimate=float(state.estimates[chosen[0], 0]) if single else None,
        set_size=len(chosen),
        actual_mean=mean,
        actual_best=best,
        seconds=seconds,
    )
    return record, fitness
