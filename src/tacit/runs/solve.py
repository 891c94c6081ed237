"""`solve`: from a problem to a result in one call, by a search or exactly."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
from msgspec import structs

from tacit.disclosure import BestMode, parse_best_mode, parse_disclosure
from tacit.errors import ParameterError
from tacit.problems import (
    Assignment,
    Problem,
    ground_truth,
    optimal_value,
    optimum,
    with_usual_disclosures,
)
from tacit.runs.driver import Observer, SearchDriver, drive
from tacit.runs.engine_choice import Announce, EngineChoice
from tacit.runs.evaluating_local import local_evaluating
from tacit.runs.history import GenerationRecord
from tacit.runs.limits import Limits, StopReason, parse_duration
from tacit.runs.result import Outcome, Result, Timing, history_lists, plan_set, summarize
from tacit.runs.sealed_local import local_sealed
from tacit.runs.settings import Settings, SolveSettings, as_settings, is_sealed
from tacit.search import SearchParameters

DEFAULT_GENERATIONS = 500
LARGEST_REFERENCE = 4_000_000
"""Matrices with more cells are not solved to optimality just to tell the quality of a plan."""


def solve(
    problem: Problem,
    /,
    *,
    disclose: str | Mapping[str, str] | None = None,
    best: str | None = None,
    deadline: float | str | None = None,
    limits: Limits = Limits(),  # noqa: B008 - immutable
    settings: SolveSettings | Settings | str | None = None,
    seed: int = 0,
    engine: str | EngineChoice = "nodes",
    observe: Observer | None = None,
    announce: Announce | None = None,
) -> Result:
    """Find a good plan within the limits.

    The run ends at the first limit reached, `deadline` (such as "5s") being one of them; without
    any, after 500 generations. A sealed assignment ends when its iterations are through, and by the
    deadline at the latest; it makes at least one. `disclose` overrides what the problem says of its
    confidential objectives, for all or by name; where neither says anything, the run is sealed if
    it can be. `settings` are the name of a preset, parameters of the search, or `SolveSettings`.

    Confidential objectives are evaluated on nodes that run beside this process for as long
    as the call takes, or with `engine="simulated"` by a simulation that knows the weights and gives
    the same result. In a sealed run the nodes search themselves, and nothing is disclosed but the
    plan in the end. `observe` is called after every generation, or of a sealed search now and then;
    `announce` with a line about slow preparations.

    >>> from tacit.problems import generate_assignment
    >>> problem = generate_assignment(1, rows=20)
    >>> limits = Limits(generations=50)
    >>> result = solve(problem, disclose="top:15", limits=limits, seed=1, engine="simulated")
    >>> sorted(result.plan) == list(range(20))
    True
    """
    prepared = time.monotonic()
    if deadline is not None:
        seconds = parse_duration(deadline) if isinstance(deadline, str) else deadline
        limits = replace(limits, deadline=seconds)
    problem, how = with_disclosures(problem, disclose, best), as_settings(settings)
    if how.algorithm == "exact":
        return solve_exactly(problem)
    choice = engine if isinstance(engine, EngineChoice) else EngineChoice(engine=engine)
    # A sealed assignment ends by itself, after iterations that are fitted to its size.
    if limits.is_unlimited and not (is_sealed(problem) and problem.sealed_moves == "assignment"):
        limits = replace(limits, generations=DEFAULT_GENERATIONS)
    with local_driver(problem, how, limits, choice, announce or _say_nothing, seed=seed) as driver:
        # Before the clock starts: it is no part of the search.
        reference = known_optimum(problem)
        started = time.monotonic()
        reason = drive(driver, observe=observe)
        # The last generations are not lost if somebody resumes with more of them.
        driver.checkpoint()
        outcome = driver.outcome()
        timing = Timing(time.monotonic() - started, started - prepared, outcome.ends)
    result = summarize(problem, outcome, reason, timing, engine=driver.engine, optimum=reference)
    return structs.replace(result, nodes=choice.nodes) if driver.engine == "nodes" else result


def _say_nothing(line: str, /) -> None:
    """Discard an announcement."""


@contextmanager
def local_driver(
    problem: Problem,
    settings: SolveSettings,
    limits: Limits,
    choice: EngineChoice,
    announce: Announce,
    /,
    *,
    seed: int,
) -> Iterator[SearchDriver]:
    """The search that a problem's disclosures ask for, ready to start."""
    # Only a sealed search is fitted to the number of nodes; others need no look at the cluster
    # file.
    nodes = choice.nodes if is_sealed(problem) else choice.local_nodes
    parameters = settings.parameters_for(problem, limits=limits, nodes=nodes)
    saving = settings.checkpointing
    if isinstance(parameters, SearchParameters):
        with local_evaluating(
            problem, parameters, limits, choice, announce, seed=seed, saving=saving
        ) as evaluating:
            yield evaluating
        return
    with local_sealed(
        problem, parameters, limits, choice, announce,
        seed=seed, saving=saving, weightings=settings.weightings,
    ) as sealed:  # fmt: skip
        yield sealed


def with_disclosures(
    problem: Problem, disclose: str | Mapping[str, str] | None, best: str | None, /
) -> Problem:
    """The problem with other disclosures for its confidential objectives, else what is usual."""
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
            if text is not None and objective.disclosure.usual_best is BestMode.NOTHING:
                # What a sealed search discloses besides its plan is disclosed on request only.
                objective = replace(objective, best_mode=BestMode.NOTHING)
        elif objective.name in by_name:
            raise ParameterError(
                f"objective {objective.name!r} is public, so nothing of it is hidden; "
                "leave its disclosure out or mark it as confidential"
            )
        changed.append(objective)
    problem = with_usual_disclosures(replace(problem, objectives=tuple(changed)))
    if best is None:
        return problem
    objectives = [
        replace(each, best_mode=parse_best_mode(best)) if each.confidential else each
        for each in problem.objectives
    ]
    return replace(problem, objectives=tuple(objectives))


def known_optimum(problem: Problem, /) -> int | None:
    """The optimum, where it is given or cheap to compute, to tell the quality of a plan."""
    if len(problem.objectives) > 1:
        return None
    if problem.optimum is not None:
        return problem.optimum
    if problem.rows * problem.columns > LARGEST_REFERENCE:
        return None
    return optimal_value(problem)


# The reference: an optimal answer, where every objective is public.
#
# SciPy's linear sum assignment for one objective; for several, weighted sums give the supported
# part of the front. No search, no secrets.


def solve_exactly(problem: Problem, /) -> Result:
    """Solve an assignment whose objectives are all public."""
    started = time.monotonic()
    if not isinstance(problem, Assignment):
        raise ParameterError(
            f"exact solves assignments and {problem.name!r} is a {problem.kind}; "
            "use genetic (preset paper-tsp)"
        )
    for objective in problem.objectives:
        if objective.confidential:
            raise ParameterError(
                f"exact needs every objective in the clear and {objective.name!r} is confidential; "
                "mark it as public or use genetic"
            )
    best: int | None = None
    if len(problem.objectives) == 1:
        found = optimum(problem)
        if found is None or found.plan is None:
            raise ParameterError(
                f"exact needs the weights of {problem.name!r} and they are not here; "
                "give a problem file with weights"
            )
        best, plans = found.value, np.asarray([found.plan], dtype=np.int32)
    else:
        plans = ground_truth(problem).plans
    fitness = [problem.fitness(k, plans) for k in range(len(problem.objectives))]
    disclosed = tuple(int(each.max()) for each in fitness)
    means = tuple(float(each.mean()) for each in fitness)
    front = plan_set(problem, plans, 0, disclosed)
    seconds = time.monotonic() - started
    record = GenerationRecord(0, disclosed, None, len(plans), means, disclosed, seconds)
    outcome = Outcome(
        algorithm="exact",
        parameters={},
        seed=0,
        generations=0,
        evaluations=0,
        best_known=front,
        estimated_best=front,
        history=history_lists(problem, [record]),
        ends=[seconds],
    )
    timing = Timing(seconds, 0.0, outcome.ends)
    return summarize(problem, outcome, StopReason.OPTIMAL, timing, engine="clear", optimum=best)
