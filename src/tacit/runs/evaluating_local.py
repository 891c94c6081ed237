"""Evaluate candidates of a problem whose weights are here, in a simulation or on nodes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING

from tacit.disclosure import BestMode, Estimator, estimator_named
from tacit.errors import ParameterError
from tacit.evaluators import (
    ClearObjective,
    ObjectiveEvaluator,
    SideBySide,
    SimulatedObjective,
    SimulatedPareto,
    Together,
)
from tacit.problems import Problem
from tacit.runs.checkpoint import load_checkpoint
from tacit.runs.engine_choice import UNLIMITED, Announce, EngineChoice, engine_on_nodes
from tacit.runs.evaluating import EvaluatingDriver
from tacit.runs.limits import Limits
from tacit.runs.settings import Checkpointing
from tacit.search import SearchParameters, warm_up

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


def simulated_driver(
    problem: Problem, parameters: SearchParameters, limits: Limits, /, *, seed: int
) -> EvaluatingDriver:
    """A search whose evaluator knows the weights, for studies."""
    evaluator = simulated_evaluator(problem, estimator_named(parameters.estimator))
    return EvaluatingDriver(problem, parameters, evaluator, seed=seed, limits=limits)


@contextmanager
def local_evaluating(
    problem: Problem,
    parameters: SearchParameters,
    limits: Limits,
    choice: EngineChoice,
    announce: Announce,
    /,
    *,
    seed: int,
    saving: Checkpointing,
) -> Iterator[EvaluatingDriver]:
    """A search on nodes or on a simulation, ready to start."""
    _check(problem, choice, saving)
    # Made before any node is started, so that a wrong setting is refused at once.
    driver = EvaluatingDriver(
        problem,
        parameters,
        simulated_evaluator(problem, estimator_named(parameters.estimator), front=choice.front),
        seed=seed,
        limits=limits,
        reveals=choice.reveals,
        saving=saving,
    )
    if saving.resume is not None:
        load_checkpoint(saving.resume, driver)
    if choice.engine == "simulated" or not any(o.confidential for o in problem.objectives):
        yield _prepared(driver, announce)
        return
    driver.engine, driver.may_be_late = "nodes", True
    with evaluator_on_nodes(
        problem, parameters, limits, choice, announce, seed=seed, resumed=saving.resume is not None
    ) as evaluator:
        evaluator.restore(driver.evaluator.best_so_far)
        driver.evaluator = evaluator
        yield _prepared(driver, announce)


def _prepared(driver: EvaluatingDriver, announce: Announce) -> EvaluatingDriver:
    announce("preparing the search (compiled once per machine, then kept)")
    warm_up(driver.problem, driver.parameters)
    return driver


def _check(problem: Problem, choice: EngineChoice, saving: Checkpointing) -> None:
    if choice.reveal_best and len(problem.objectives) > 1:
        raise ParameterError(
            "of several objectives there is no truly best plan; do not ask for it, but with "
            "pareto:... for their front"
        )
    if choice.front != "nothing" and not problem.evaluates_together:
        raise ParameterError(
            "a front is revealed of objectives that are evaluated together; give "
            "--disclose pareto:quantiles:20, or reveal none"
        )
    if choice.plan != "everybody":
        raise ParameterError(
            "only a sealed search can keep its plan for the owners; give --disclose sealed"
        )
    kept = any(
        objective.confidential and objective.best_mode is BestMode.IMPROVEMENT
        for objective in problem.objectives
    )
    if choice.engine == "nodes" and saving.resume is not None and kept:
        raise ParameterError(
            "the best so far of an 'improvement' objective stays with the nodes of its run, so a "
            "checkpoint cannot go on with new ones; resume with the simulated engine"
        )
