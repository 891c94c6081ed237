"""Records of each generation, and the best solution that a run may claim to know.

Under a disclosure the Optimizer knows the best value, say, but not who has it. The best-known set
is the estimated-best set of the generation whose disclosed best was highest, the latest of
equals, since later sets are better on the whole. With several objectives, or nothing disclosed, it
is simply the latest set.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from numpy.typing import NDArray

from tacit.problems import Evaluation, Problem
from tacit.search import SearchState

if TYPE_CHECKING:
    from tacit.runs.evaluating import EvaluatingDriver


Disclosed = tuple[int | bool | None, ...]
"""Per objective what was disclosed of the best fitness: its value, a bit, or nothing."""


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
        # Added up in whole numbers: results are compared byte for byte between machines.
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


@dataclass(frozen=True, eq=False)
class BestKnown:
    """A set of genomes and what was disclosed when they were found."""

    generation: int
    disclosed: Disclosed
    """What each objective disclosed of its best fitness in that generation."""
    highest: Disclosed
    """The highest value each objective ever disclosed."""
    genomes: NDArray[np.int32]


def update_best_known(
    known: BestKnown | None, state: SearchState, evaluation: Evaluation, /
) -> tuple[BestKnown, bool]:
    """The best-known set after a generation, and whether anything better was disclosed in it."""
    disclosed = evaluation.best
    before = (None,) * len(disclosed) if known is None else known.highest
    improved = [is_better(now, earlier) for now, earlier in zip(disclosed, before, strict=True)]
    highest = tuple(
        now if better else earlier
        for now, earlier, better in zip(disclosed, before, improved, strict=True)
    )
    # The disclosed best says that this set is no better, so the earlier one stays.
    if known is not None and not any(improved) and must_stay(disclosed, before):
        return replace(known, highest=highest), False
    chosen = state.genomes[state.estimated_best()]
    return BestKnown(state.generation, disclosed, highest, chosen), known is None or any(improved)


def is_better(disclosed: int | bool | None, before: int | bool | None, /) -> bool:
    """Return whether a disclosed best says that things improved.

    >>> is_better(4, 3), is_better(False, None), is_better(None, None)
    (True, False, False)
    """
    if disclosed is None or isinstance(disclosed, bool):
        return bool(disclosed)
    return before is None or disclosed > before


def must_stay(disclosed: Disclosed, before: Disclosed, /) -> bool:
    """Return whether a single objective disclosed that the latest set is no better.

    >>> must_stay((3,), (4,)), must_stay((4,), (4,)), must_stay((False,), (True,))
    (True, False, True)
    """
    if len(disclosed) > 1 or disclosed[0] is None:
        return False
    return isinstance(disclosed[0], bool) or disclosed != before
