"""Evaluate candidates of a problem with local weights, in a simulation or on nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

from tacit.disclosure import BestMode, Estimator, estimator_named
from tacit.errors import ParameterError
from tacit.evaluators import (
    ClearObjective,
    ParetoObjectives,
    SeparateObjectives,
    SimulatedObjective,
    SimulatedPareto,
)
from tacit.problems import Problem
from tacit.runs.checkpoint import load_checkpoint
from tacit.runs.engine_choice import UNLIMITED, Announce, EngineChoice, engine_on_nodes
from tacit.runs.evaluating import EvaluatingDriver, checked_search
from tacit.runs.limits import Limits
from tacit.runs.settings import Checkpointing
from tacit.search import SearchParameters, warm_up

if TYPE_CHECKING:
    from tacit.agreement import PinnedSearch


def simulated_evaluator(
    problem: Problem, estimator: Estimator, /, *, front: str = "nothing"
) -> SeparateObjectives:
    """An evaluator in this process; `front` is what it reveals at the end."""
    if problem.evaluates_together:
        simulated = SimulatedPareto(problem, with_values=front == "values")
        return ParetoObjectives(simulated, len(problem.objectives))
    return SeparateObjectives(
        [
            SimulatedObjective(problem, k, estimator=estimator)
            if objective.confidential
            else ClearObjective(problem, k)
            for k, objective in enumerate(problem.objectives)
        ]
    )


@contextmanager
def evaluator_on_nodes(
    problem: Problem,
    choice: EngineChoice,
    announce: Announce,
    /,
    *,
    search: Callable[[], PinnedSearch],
    evaluations: int,
    population: tuple[int, int],
    estimator: Estimator,
) -> Iterator[SeparateObjectives]:
    """An evaluator on nodes, for so many sets of candidates of a search."""
    with engine_on_nodes(
        problem, choice, announce, search=search, evaluations=evaluations, population=population
    ) as engine:
        from tacit.coordinator import SecureObjective

        if problem.evaluates_together:
            first = SecureObjective(engine, 0, estimator=estimator)
            yield ParetoObjectives(first, len(problem.objectives))
            return
        evaluators = [
            SecureObjective(engine, k, estimator=estimator)
            if objective.confidential
            else ClearObjective(problem, k)
            for k, objective in enumerate(problem.objectives)
        ]
        yield SeparateObjectives(evaluators)


def pinned_search(parameters: SearchParameters, seed: int, /, *, derived: bool) -> PinnedSearch:
    """The search as an agreement pins it; nodes derive its populations, or take chosen ones."""
    from tacit.agreement import PinnedSearch

    settings = asdict(parameters)
    algorithm = settings.pop("algorithm")
    return PinnedSearch(algorithm, settings, seed, "derived" if derived else "chosen")


def allowed_evaluations(limits: Limits, /) -> int:
    """Return how many evaluations an agreement must allow for a run with these limits.

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
    # Before any node is started, so that a wrong setting or file is refused at once.
    checked_search(problem, parameters, limits, seed=seed)
    resume_from = None
    if saving.resume is not None:
        resume_from = load_checkpoint(saving.resume, problem, parameters, seed=seed)
    estimator = estimator_named(parameters.estimator)
    on_nodes = choice.engine == "nodes" and any(o.confidential for o in problem.objectives)
    with ExitStack() as stack:
        if on_nodes:
            # Nodes derive a search from its start. Those on this machine protect nobody from it,
            # and start sooner if they need not search.
            derived = choice.cluster is not None and resume_from is None
            fewest, most = sorted(
                (parameters.fewest_evaluated, parameters.evaluated_per_generation)
            )
            evaluator = stack.enter_context(
                evaluator_on_nodes(
                    problem,
                    choice,
                    announce,
                    search=partial(pinned_search, parameters, seed, derived=derived),
                    evaluations=allowed_evaluations(limits),
                    population=(fewest, most),
                    estimator=estimator,
                )
            )
        else:
            evaluator = simulated_evaluator(problem, estimator, front=choice.front)
        driver = EvaluatingDriver(
            problem,
            parameters,
            evaluator,
            seed=seed,
            limits=limits,
            reveals=choice.reveals,
            engine="nodes" if on_nodes else "simulated",
            may_be_late=on_nodes,
            saving=saving,
        )
        if resume_from is not None:
            driver.resume(*resume_from)
        announce("preparing the search (compiled once per machine, then kept)")
        warm_up(problem, parameters)
        yield driver


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
    withholds_best = any(
        objective.confidential and objective.best_mode is BestMode.IMPROVEMENT
        for objective in problem.objectives
    )
    if choice.engine == "nodes" and saving.resume is not None and withholds_best:
        raise ParameterError(
            "the best so far of an 'improvement' objective stays with the nodes of its run, so a "
            "checkpoint cannot go on with new ones; resume with the simulated engine"
        )
