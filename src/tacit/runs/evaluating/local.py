"""A search that evaluates candidates of a problem whose weights are here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tacit.disclosure import BestMode, estimator_named
from tacit.errors import ParameterError
from tacit.problems import Problem
from tacit.runs.engine_choice import Announce, EngineChoice
from tacit.runs.evaluating.checkpoint import load_checkpoint
from tacit.runs.evaluating.driver import EvaluatingDriver
from tacit.runs.evaluating.evaluators import evaluator_on_nodes, simulated_evaluator
from tacit.runs.limits import Limits
from tacit.runs.settings import Checkpointing
from tacit.search import SearchParameters, warm_up


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
