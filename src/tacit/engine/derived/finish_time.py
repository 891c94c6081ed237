"""How long a finish takes, and whether a search has one: from public sizes and times alone.

The model counts rounds and bytes, as the protocols declare them. Its factors were measured on three
local nodes that share two cores, where a phase of 100 rows takes 0.28 s; a delay of the network
comes on top in every round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tacit.engine.agreement.finished import FinishedCourse
from tacit.engine.agreement.sealed import check_sizes, search_course
from tacit.engine.agreement.working_memory import generations_bytes
from tacit.engine.identity.config import MOST_WORKING_MEGABYTES
from tacit.errors import AgreementError
from tacit.mpc.forest import cost as phase_cost
from tacit.mpc.sealed import cost as search_cost
from tacit.problems import Problem
from tacit.search.moves import SealedParameters, public_shape

ROUND_SECONDS = 0.0008
MEGABYTE_SECONDS = 0.02
LEAST_PHASES, MOST_PHASES = 10, 24
"""Fewer prove few plans of a search that had time for a good one, more hardly any besides."""
PART_OF_TIME = 2
"""A finish takes no more than this part of the time: it goes on from what the search has found."""


@dataclass(frozen=True)
class StepSeconds:
    """What a generation takes, and a phase of the finish; only their ratio is the same anywhere."""

    generation: float
    phase: float


def step_seconds(course: FinishedCourse, /, *, nodes: int = 3, delay: float = 0.0) -> StepSeconds:
    """What steps take on nodes whose messages travel for `delay` seconds."""
    moves = course.schedule.generation(0, horizon=1).moves
    one, two = (search_cost(nodes, moves, count, course.table) for count in (1, 2))
    phase = phase_cost(nodes, course.forest.phases[0], course.forest.shape)

    def seconds(rounds: int, sent: int) -> float:
        return rounds * (ROUND_SECONDS + delay) + MEGABYTE_SECONDS * sent / 1e6

    return StepSeconds(
        seconds(two.rounds - one.rounds, two.bytes_per_node - one.bytes_per_node),
        seconds(phase.rounds, phase.bytes_per_node),
    )


@dataclass(frozen=True, kw_only=True)
class KnownTime:
    """What is public of the time that a run has, before it is agreed on."""

    deadline: float | None
    """In seconds, for all searches together."""
    nodes: int = 3
    delay: float = 0.0
    """Seconds that messages between nodes travel, where that is known."""
    steps: int | None = None
    """How many generations and phases are agreed on at most, where that is given."""


def finished_course(
    problem: Problem, parameters: SealedParameters, weighting: Sequence[int], /
) -> FinishedCourse:
    """The course of a search with a finish, of which any seed takes the same time."""
    shape = public_shape(problem, weighting)
    course = search_course(problem, shape, parameters, seed=0, stream=0)
    if not isinstance(course, FinishedCourse):
        raise AgreementError("this search has no finish; set finish to the number of its phases")
    return course


def fitted_finish(
    problem: Problem,
    parameters: SealedParameters,
    weightings: Sequence[Sequence[int]],
    known: KnownTime,
    /,
) -> int:
    """How many phases a search gets as its finish; none where they do not pay.

    >>> from tacit.problems import generate_assignment
    >>> problem = generate_assignment(1, rows=100)
    >>> settings = SealedParameters(block=16, levels=2)
    >>> [fitted_finish(problem, settings, [(1,)], KnownTime(deadline=t)) for t in (5, 8, 20)]
    [0, 13, 24]
    >>> fitted_finish(problem, settings, [(1,)], KnownTime(deadline=20, delay=0.01))
    0
    """
    if known.deadline is None or problem.sealed_moves != "assignment":
        return 0
    if any(len(each) != len(problem.objectives) for each in weightings):
        return 0  # whoever makes an agreement of it, is told
    least = replace(parameters, finish=LEAST_PHASES)
    try:
        courses = [finished_course(problem, least, each) for each in weightings]
        for course in courses:
            check_sizes(course, 0)
    except AgreementError:
        return 0
    needed = max(generations_bytes(course, nodes=known.nodes) for course in courses)
    if needed > MOST_WORKING_MEGABYTES * 1_000_000 // 2:
        return 0
    slowest = max(
        step_seconds(course, nodes=known.nodes, delay=known.delay).phase for course in courses
    )
    each = known.deadline / len(weightings)
    # What the finish begins with takes as long as a phase.
    fits = int(each / PART_OF_TIME / slowest) - 1
    if known.steps is not None:
        fits = min(fits, known.steps // PART_OF_TIME)
    return min(fits, MOST_PHASES) if fits >= LEAST_PHASES else 0
