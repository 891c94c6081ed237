"""Sealed searches of a problem whose weights are here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tacit.disclosure import BestMode, Sealed
from tacit.errors import AgreementError, ParameterError
from tacit.problems import Problem
from tacit.runs.engine_choice import Announce, EngineChoice, engine_on_nodes
from tacit.runs.limits import Limits
from tacit.runs.sealed.driver import SealedDriver, sealed_length
from tacit.runs.sealed.searching import SealedSearching, SimulatedAssignment, SimulatedTour
from tacit.runs.settings import AnySealed, Checkpointing
from tacit.runs.weightings import default_weightings
from tacit.search.moves import AssignmentParameters, TourParameters, public_shape

if TYPE_CHECKING:
    from tacit.engine.agreement import Course, PinnedSearch

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
    if seed < 0:
        raise ParameterError(f"seed is {seed}; give 0 or more")
    check_sealed_limits(problem, limits)
    factors = [tuple(each) for each in weightings or default_weightings(problem)]
    try:
        _check(problem, choice, saving, factors)
        courses = _courses(problem, parameters, factors, seed=seed)
    except AgreementError as error:
        # Nobody has agreed on anything yet: a setting does not fit.
        raise ParameterError(str(error)) from None
    if choice.engine == "simulated":
        # On nodes the seed follows from the inputs instead.
        twins = _simulated(problem, parameters, courses, factors, seed=seed)
        simulation = SealedDriver(problem, twins, limits, parameters, factors)
        if choice.plan == "owners":
            simulation.notes.append(NOT_SEALED)
        yield simulation
        return

    def pinned() -> PinnedSearch:
        from tacit.engine.agreement import pin_sealed

        return pin_sealed(parameters, factors)

    if isinstance(parameters, AssignmentParameters):
        steps = parameters.steps
    else:
        steps = sealed_length(problem, parameters, limits)
    with engine_on_nodes(
        problem,
        choice,
        announce,
        search=pinned,
        evaluations=steps,
        population=(1, 1),
    ) as engine:
        searches = engine.sealed_groups()
        announce("drawing the secret start")
        for search in searches:
            search.start()
        driver = SealedDriver(problem, searches, limits, parameters, factors, engine="nodes")
        driver.may_be_late = True
        if choice.plan == "owners":
            driver.notes.append(FOR_OWNERS)
        yield driver


def _courses(
    problem: Problem, parameters: AnySealed, weightings: Sequence[Sequence[int]], *, seed: int
) -> Sequence[Course]:
    from tacit.engine.agreement import problem_courses

    shapes = [public_shape(problem, each) for each in weightings]
    return problem_courses(problem, shapes, parameters, seed=seed)


def _simulated(
    problem: Problem,
    parameters: AnySealed,
    courses: Sequence[Course],
    weightings: Sequence[Sequence[int]],
    *,
    seed: int,
) -> Sequence[SealedSearching]:
    if isinstance(parameters, TourParameters):
        return [
            SimulatedTour(problem, parameters, each, seed=seed, stream=k)
            for k, each in enumerate(weightings)
        ]
    from tacit.engine.agreement import AssignmentCourse

    return [
        SimulatedAssignment(problem, course, weightings)
        for course in courses
        if isinstance(course, AssignmentCourse)
    ]


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
        from tacit.engine.agreement import NO_IMPROVEMENTS

        raise ParameterError(NO_IMPROVEMENTS)
    if any(len(each) != len(problem.objectives) for each in weightings):
        raise ParameterError(f"a weighting needs {len(problem.objectives)} factors, as in 3:1")
