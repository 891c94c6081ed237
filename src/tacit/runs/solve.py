"""`solve`: from a problem to a result in one call."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tacit.disclosure import (
    SEALED,
    BestMode,
    estimator_named,
    parse_best_mode,
    parse_disclosure,
)
from tacit.engine import SideBySide
from tacit.errors import ParameterError, TacitError
from tacit.problems import Problem, optimum
from tacit.runs.checkpoint import load_checkpoint, save_checkpoint
from tacit.runs.duration import parse_duration
from tacit.runs.evaluators import EngineChoice, evaluator_for, simulated_evaluator
from tacit.runs.exact import solve_exactly
from tacit.runs.limits import Limits
from tacit.runs.result import Result
from tacit.runs.run import GenerationView, Observer, Run
from tacit.runs.sealed import is_sealed, solve_sealed
from tacit.runs.sealed_loop import SealedObserver
from tacit.runs.summarize import summarize
from tacit.search import SearchParameters, preset_named
from tacit.search.moves import SealedParameters
from tacit.search.warm_up import warm_up

DEFAULT_GENERATIONS = 500
REVEAL_GRACE = 0.03
"""How long after the deadline the final reveal may still come."""
LARGEST_REFERENCE = 4_000_000
"""Matrices with more cells are not solved to optimality just to tell the quality of a plan."""


@dataclass(frozen=True, kw_only=True)
class Checkpointing:
    """Where and how often a run is saved, and what it resumes from.

    >>> Checkpointing(file="run.checkpoint").every
    50
    """

    file: str | Path | None = None
    every: int = 50
    resume: str | Path | None = None

    def __post_init__(self) -> None:
        if self.every < 1:
            raise ParameterError(f"checkpoints every {self.every} generations; give at least 1")


def solve(
    problem: Problem,
    /,
    *,
    disclose: str | Mapping[str, str] | None = None,
    best: str | None = None,
    deadline: float | str | None = None,
    generations: int | None = None,
    evaluations: int | None = None,
    target: float | None = None,
    stall: int | None = None,
    seed: int = 0,
    preset: str | None = None,
    parameters: SearchParameters | None = None,
    algorithm: str | None = None,
    engine: str | EngineChoice = "nodes",
    checkpointing: Checkpointing = Checkpointing(),  # noqa: B008 - immutable
    sealed: SealedParameters | None = None,
    weightings: Sequence[Sequence[int]] | None = None,
    observe: Observer | None = None,
    observe_sealed: SealedObserver | None = None,
    announce: Callable[[str], None] | None = None,
) -> Result:
    """Find a good plan within the limits.

    The run ends at the first limit reached; without any, after 500 generations. `disclose`
    overrides what the problem says of its confidential objectives, for all or by name. These are
    evaluated on three nodes that run beside this process for as long as the call takes, or with
    `engine="simulated"` by a simulation that knows the weights and gives the same result.
    `observe` is called after every generation, `announce` with a line about slow preparations.

    With `disclose="sealed"` the nodes search themselves and nothing is told but the plan in the
    end; `sealed` has the settings of that search, `weightings` one list of factors per plan where
    there are several objectives, and `observe_sealed` is called now and then with the time.

    >>> from tacit.problems import generate_assignment
    >>> problem = generate_assignment(1, rows=20)
    >>> result = solve(problem, disclose="top:15", generations=50, seed=1, engine="simulated")
    >>> sorted(result.plan) == list(range(20))
    True
    """
    prepared = time.monotonic()
    limits = Limits(
        generations=generations,
        deadline=parse_duration(deadline) if isinstance(deadline, str) else deadline,
        evaluations=evaluations,
        target=target,
        stall=stall,
    )
    if limits.is_unlimited:
        limits = replace(limits, generations=DEFAULT_GENERATIONS)
    problem = with_disclosures(problem, disclose, best)
    if algorithm == "exact":
        return solve_exactly(problem)
    choice = engine if isinstance(engine, EngineChoice) else EngineChoice(engine=engine)
    tell = announce if announce is not None else _say_nothing
    if is_sealed(problem):
        _check_sealed_run(choice, checkpointing, settings=(preset, parameters, algorithm))
        return solve_sealed(
            problem,
            limits=limits,
            choice=choice,
            seed=seed,
            parameters=sealed,
            weightings=weightings,
            optimum=known_optimum,
            observe=observe_sealed,
            announce=tell,
        )
    chosen = parameters or preset_named(preset or default_preset(problem))
    if algorithm is not None:
        chosen = chosen.with_changes(algorithm=algorithm)
    _check_resuming(problem, choice, checkpointing)
    # Made before any node is started, so that a wrong setting is refused at once.
    run = Run(
        problem,
        chosen,
        simulated_evaluator(problem, estimator_named(chosen.estimator)),
        seed=seed,
        limits=limits,
        observe=_observing(observe, checkpointing),
    )
    if checkpointing.resume is not None:
        load_checkpoint(checkpointing.resume, run)
    with evaluator_for(problem, chosen, limits, choice, seed=seed, announce=tell) as (name, judge):
        judge.restore(run.evaluator.best_so_far)
        run.evaluator = judge
        tell("preparing the search (compiled once per machine, then kept)")
        reference = known_optimum(problem)
        warm_up(problem, chosen)
        started = time.monotonic()
        reason = run.to_its_limits(started=started)
        best_plan = _truly_best(run, judge, choice, started)
        if checkpointing.file is not None:
            save_checkpoint(run, checkpointing.file)
        return summarize(
            run,
            reason,
            engine=name,
            optimum=reference,
            seconds=time.monotonic() - started,
            set_up_seconds=started - prepared,
            best_plan=best_plan,
        )


def _say_nothing(line: str, /) -> None:
    """Nobody listens."""


def _check_sealed_run(
    choice: EngineChoice, checkpointing: Checkpointing, *, settings: tuple[object, ...]
) -> None:
    if any(each is not None for each in settings):
        raise ParameterError(
            "a sealed search has settings of its own; leave preset, algorithm and the parameters "
            "of the genetic search out"
        )
    if checkpointing.file is not None or checkpointing.resume is not None:
        raise ParameterError(
            "a sealed search has nothing to save here: the nodes keep its state; leave the "
            "checkpoint out"
        )
    if choice.reveal_best:
        raise ParameterError("a sealed search opens its best plan anyway; leave reveal_best out")


def _check_resuming(problem: Problem, choice: EngineChoice, checkpointing: Checkpointing) -> None:
    kept = any(
        objective.confidential and objective.best_mode is BestMode.IMPROVEMENT
        for objective in problem.objectives
    )
    if choice.engine == "nodes" and checkpointing.resume is not None and kept:
        raise ParameterError(
            "the best so far of an 'improvement' objective stays with the nodes of its run, so a "
            "checkpoint cannot go on with new ones; resume with the simulated engine"
        )


def _truly_best(run: Run, judge: SideBySide, choice: EngineChoice, started: float) -> int:
    """Which of the best-known plans to use: the first, or the one that the engine reveals."""
    known = run.now.best_known
    if not choice.reveal_best or known is None:
        return 0
    if len(run.problem.objectives) > 1:
        raise ParameterError("of several objectives there is no truly best plan; do not ask for it")
    deadline = run.limits.deadline
    until = None if deadline is None else started + deadline + REVEAL_GRACE
    plans = run.problem.plans(known.genomes)
    try:
        return judge.objectives[0].reveal_best(plans, until=until)
    except TacitError as error:
        run.notes.append(f"the truly best plan was not revealed: {error}")
        return 0


def default_preset(problem: Problem, /) -> str:
    """The paper's tuned set for a problem of this kind.

    >>> from tacit.problems import generate_assignment
    >>> default_preset(generate_assignment(1, rows=3, objectives=2))
    'paper-moap'
    """
    if len(problem.objectives) > 1:
        return "paper-moap"
    return problem.preset


def with_disclosures(
    problem: Problem, disclose: str | Mapping[str, str] | None, best: str | None, /
) -> Problem:
    """The problem with other disclosures for its confidential objectives.

    >>> from tacit.problems import generate_assignment
    >>> problem = generate_assignment(1, rows=3)
    >>> with_disclosures(problem, "order", None).objectives[0].disclosure
    Order()
    """
    names = [objective.name for objective in problem.objectives]
    by_name = disclose if isinstance(disclose, Mapping) else {}
    for name in by_name:
        if name not in names:
            raise ParameterError(f"there is no objective {name!r}; there are {', '.join(names)}")
    changed = []
    for objective in problem.objectives:
        text = disclose if isinstance(disclose, str) else by_name.get(objective.name)
        if objective.confidential:
            if text is not None:
                objective = replace(objective, disclosure=parse_disclosure(text))
            if best is not None:
                objective = replace(objective, best_mode=parse_best_mode(best))
            elif text == SEALED:
                # What a sealed search tells besides its plan is told on request only.
                objective = replace(objective, best_mode=BestMode.NOTHING)
        elif objective.name in by_name:
            raise ParameterError(
                f"objective {objective.name!r} is public, so nothing of it is hidden; "
                "leave its disclosure out or mark it as confidential"
            )
        changed.append(objective)
    return replace(problem, objectives=tuple(changed))


def known_optimum(problem: Problem, /) -> int | None:
    """The optimum, where it is given or cheap to compute, to tell the quality of a plan."""
    if len(problem.objectives) > 1:
        return None
    if problem.optimum is not None:
        return problem.optimum
    if problem.rows * problem.columns > LARGEST_REFERENCE:
        return None
    found = optimum(problem)
    return None if found is None else found.value


def _observing(observe: Observer | None, checkpointing: Checkpointing) -> Observer | None:
    """Save a checkpoint every so often, then show the generation to whoever watches."""
    file = checkpointing.file
    if file is None:
        return observe

    def save_and_observe(view: GenerationView) -> None:
        if view.record.generation % checkpointing.every == 0:
            save_checkpoint(view.run, file)
        if observe is not None:
            observe(view)

    return save_and_observe
