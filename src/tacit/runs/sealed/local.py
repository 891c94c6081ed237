"""Sealed searches of a problem whose weights are here."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from tacit.disclosure import BestMode, Sealed
from tacit.errors import AgreementError, ParameterError
from tacit.problems import Problem
from tacit.runs.engine_choice import UNLIMITED, Announce, EngineChoice, engine_on_nodes
from tacit.runs.limits import Limits
from tacit.runs.sealed.driver import SealedDriver
from tacit.runs.sealed.searching import SealedSearching, SimulatedSealedSearch
from tacit.runs.settings import AnySealed, Checkpointing
from tacit.runs.weightings import default_weightings
from tacit.search.moves import (
    NO_IMPROVEMENTS_WITH_FINISH,
    ONE_PARENT_IMPROVES,
    ExactParameters,
    public_shape,
)

if TYPE_CHECKING:
    from tacit.engine.agreement import PinnedSearch

FOR_OWNERS = (
    "each owner got its own rows of the plan, sealed; all owners are here, so it is put together"
)

NOT_SEALED = "this is a simulation: nothing was sealed to the owners of the plan"


@contextmanager
def local_sealed(
    problem: Problem,
    parameters: AnySealed,
    limits: Limits,
    choice: EngineChoice,
    announce: Announce,
    /,
    *,
    seed: int,
    saving: Checkpointing,
    weightings: Sequence[Sequence[int]] | None,
) -> Iterator[SealedDriver]:
    """Searches on nodes or simulated, ready to start."""
    check_sealed_limits(problem, limits)
    factors = [tuple(each) for each in weightings or default_weightings(problem)]
    try:
        _check(problem, parameters, choice, saving, factors)
        limits = _within_phases(problem, parameters, limits, factors)
    except AgreementError as error:
        # Nobody has agreed on anything yet: a setting does not fit.
        raise ParameterError(str(error)) from None
    if choice.engine == "simulated":
        # On nodes the seed follows from the inputs instead.
        twins = _simulated(problem, parameters, factors, seed=seed)
        simulation = SealedDriver(problem, twins, limits, parameters, factors)
        if choice.plan == "owners":
            simulation.notes.append(NOT_SEALED)
        yield simulation
        return

    def pinned() -> PinnedSearch:
        from tacit.engine.agreement import pin_sealed

        return pin_sealed(parameters, factors)

    given = [n for n in (limits.generations, limits.evaluations) if n is not None]
    # Its phases come after the generations.
    finish = 0 if isinstance(parameters, ExactParameters) else parameters.finish
    with engine_on_nodes(
        problem,
        choice,
        announce,
        search=pinned,
        evaluations=min(given, default=UNLIMITED) + finish,
        population=(1, 1),
    ) as engine:
        searches = engine.sealed_groups()
        announce("drawing the secret start")
        begun = time.monotonic()
        for search in searches:
            search.start()
        driver = SealedDriver(problem, searches, limits, parameters, factors, engine="nodes")
        driver.may_be_late = True
        if not isinstance(parameters, ExactParameters) and parameters.start == "grown":
            driver.begun = begun
        if choice.plan == "owners":
            driver.notes.append(FOR_OWNERS)
        yield driver


def _within_phases(
    problem: Problem, parameters: AnySealed, limits: Limits, weightings: Sequence[Sequence[int]]
) -> Limits:
    """No more generations than the exact solver has phases; refuses what no course fits."""
    if not isinstance(parameters, ExactParameters):
        from tacit.engine.agreement import search_course

        for each in weightings:
            search_course(problem, public_shape(problem, each), parameters, seed=0, stream=0)
        return limits
    from tacit.runs.sealed.exact import phases_of

    phases = phases_of(problem, parameters, weightings)
    return replace(limits, generations=min(phases, limits.generations or phases))


def _simulated(
    problem: Problem, parameters: AnySealed, weightings: Sequence[Sequence[int]], *, seed: int
) -> Sequence[SealedSearching]:
    if not isinstance(parameters, ExactParameters):
        return [
            SimulatedSealedSearch(problem, parameters, each, seed=seed, stream=k)
            for k, each in enumerate(weightings)
        ]
    from tacit.runs.sealed.exact import SimulatedExact, courses_for

    courses = courses_for(problem, parameters, weightings, seed=seed)
    return [SimulatedExact(problem, course, weightings) for course in courses]


def check_sealed_limits(problem: Problem, limits: Limits, /) -> None:
    """Refuse what a sealed search cannot know or do."""
    if limits.target is not None or limits.stall is not None:
        raise ParameterError(
            "a sealed search discloses no values while it runs, so it cannot stop at one; limit "
            "its time or its generations"
        )
    unsealed = [o.name for o in problem.objectives if not isinstance(o.disclosure, Sealed)]
    public = [o.name for o in problem.objectives if not o.confidential]
    if unsealed or public:
        raise ParameterError(
            f"objective {(unsealed + public)[0]!r} is not sealed and others are; seal all "
            "confidential objectives, with none public"
        )


def _check(
    problem: Problem,
    parameters: AnySealed,
    choice: EngineChoice,
    saving: Checkpointing,
    weightings: Sequence[Sequence[int]],
) -> None:
    if saving.file is not None or saving.resume is not None:
        raise ParameterError(
            "a sealed search has nothing to save here: the nodes keep its state; leave the "
            "checkpoint out"
        )
    if choice.reveal_best:
        raise ParameterError("a sealed search opens its best plan anyway; leave reveal_best out")
    if problem.objectives[0].best_mode is BestMode.IMPROVEMENT:
        if isinstance(parameters, ExactParameters):
            raise ParameterError(
                "the exact solver has no plans on the way that could improve; disclose its value "
                "or nothing"
            )
        if parameters.parents > 1:
            raise ParameterError(ONE_PARENT_IMPROVES)
        if parameters.finish:
            raise ParameterError(NO_IMPROVEMENTS_WITH_FINISH)
    if parameters.gap and not isinstance(parameters, ExactParameters) and not parameters.finish:
        from tacit.engine.agreement import NO_GAP

        raise ParameterError(NO_GAP)
    if isinstance(parameters, ExactParameters) and parameters.bisect:
        from tacit.engine.agreement import check_order

        check_order(weightings)
    if any(len(each) != len(problem.objectives) for each in weightings):
        raise ParameterError(f"a weighting needs {len(problem.objectives)} factors, as in 3:1")
