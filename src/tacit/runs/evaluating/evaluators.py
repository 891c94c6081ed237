"""What evaluates candidates: sums for public objectives, a simulation or nodes for the others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING

from tacit.disclosure import Estimator, estimator_named
from tacit.evaluators import (
    ClearObjective,
    ObjectiveEvaluator,
    SideBySide,
    SimulatedObjective,
    SimulatedPareto,
    Together,
)
from tacit.problems import Problem
from tacit.runs.engine_choice import UNLIMITED, Announce, EngineChoice, engine_on_nodes
from tacit.runs.limits import Limits
from tacit.search import SearchParameters

if TYPE_CHECKING:
    from tacit.agreement import PinnedSearch
    from tacit.coordinator import SecureEngine


def simulated_evaluator(
    problem: Problem, estimator: Estimator, /, *, front: str = "nothing"
) -> SideBySide:
    """An evaluator in this process; `front` is what it reveals at the end."""
    if problem.evaluates_together:
        simulated = SimulatedPareto(problem, with_values=front == "values")
        return Together(simulated, len(problem.objectives))
    evaluators: list[ObjectiveEvaluator] = []
    for k, objective in enumerate(problem.objectives):
        if objective.confidential:
            evaluators.append(SimulatedObjective(problem, k, estimator=estimator))
        else:
            evaluators.append(ClearObjective(problem, k))
    return SideBySide(tuple(evaluators))


@contextmanager
def evaluator_on_nodes(
    problem: Problem,
    parameters: SearchParameters,
    limits: Limits,
    choice: EngineChoice,
    announce: Announce,
    /,
    *,
    seed: int,
    resumed: bool = False,
) -> Iterator[SideBySide]:
    """An evaluator on nodes, for evaluations within these limits."""

    def pinned() -> PinnedSearch:
        from tacit.agreement import PinnedSearch

        settings = asdict(parameters)
        # Nodes derive a search from its start. Those on this machine protect nobody from it, and
        # start sooner if they need not search.
        derived = choice.cluster is not None and not resumed
        algorithm = settings.pop("algorithm")
        return PinnedSearch(algorithm, settings, seed, "derived" if derived else "chosen")

    fewest, most = sorted((parameters.fewest_evaluated, parameters.evaluated_per_generation))
    with engine_on_nodes(
        problem,
        choice,
        announce,
        search=pinned,
        evaluations=allowed_evaluations(limits),
        population=(fewest, most),
    ) as engine:
        yield _secure_evaluator(problem, engine, estimator_named(parameters.estimator))


@contextmanager
def chosen_sets_on_nodes(
    problem: Problem,
    choice: EngineChoice,
    announce: Announce,
    /,
    *,
    evaluations: int,
    population: tuple[int, int],
) -> Iterator[SideBySide]:
    """An evaluator on nodes for sets that no agreed search gives: somebody chooses them."""

    def pinned() -> PinnedSearch:
        from tacit.agreement import PinnedSearch

        return PinnedSearch("genetic", {}, 0, "chosen")

    with engine_on_nodes(
        problem, choice, announce, search=pinned, evaluations=evaluations, population=population
    ) as engine:
        yield _secure_evaluator(problem, engine, estimator_named("linear"))


def _secure_evaluator(problem: Problem, engine: SecureEngine, estimator: Estimator) -> SideBySide:
    from tacit.coordinator import SecureObjective

    if problem.evaluates_together:
        first = SecureObjective(engine, 0, estimator=estimator)
        return Together(first, len(problem.objectives))
    return SideBySide(
        tuple(
            SecureObjective(engine, k, estimator=estimator)
            if objective.confidential
            else ClearObjective(problem, k)
            for k, objective in enumerate(problem.objectives)
        )
    )


def allowed_evaluations(limits: Limits, /) -> int:
    """How many evaluations an agreement must allow for a run with these limits.

    >>> allowed_evaluations(Limits(generations=500))
    501
    """
    most = [] if limits.generations is None else [limits.generations + 1]
    most += [] if limits.evaluations is None else [limits.evaluations]
    return min(most, default=UNLIMITED)
