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
from tacit.mpc.forest import Layout, cost_of_warm_start
from tacit.mpc.forest import cost as phase_cost
from tacit.mpc.sealed import cost as search_cost
from tacit.problems import Problem
from tacit.search.moves import SealedParameters, public_shape

ROUND_SECONDS = 0.0008
MEGABYTE_SECONDS = 0.02


@dataclass(frozen=True)
class StepSeconds:
    """What a generation takes, and a phase of the finish; only their ratio is the same anywhere."""

    generation: float
    phase: float
    beginning: float
    """What comes before the first phase: matching and prices of the search's plan."""


def step_seconds(course: FinishedCourse, /, *, nodes: int = 3, delay: float = 0.0) -> StepSeconds:
    """What steps take on nodes whose messages travel for `delay` seconds."""
    moves = course.schedule.generation(0, horizon=1).moves
    one, two = (search_cost(nodes, moves, count, course.table) for count in (1, 2))
    forest = course.forest
    phase = phase_cost(nodes, forest.phases[0], forest.shape)
    known = forest.fallback is not None
    before = cost_of_warm_start(nodes, forest.layout, forest.shape, has_fallback=known)

    sent = two.bytes_per_node - one.bytes_per_node
    # Of a single row and column there is nothing to compare, but generations are asked for.
    rounds = max(1, two.rounds - one.rounds)
    return StepSeconds(
        seconds_of(rounds, sent, delay=delay),
        seconds_of(phase.rounds, phase.bytes_per_node, delay=delay),
        seconds_of(before.rounds, before.bytes_per_node, delay=delay),
    )


def seconds_of(rounds: int, sent: int, /, *, delay: float = 0.0) -> float:
    """What rounds take in which the node that sends most sends so many bytes.

    >>> seconds_of(10, 1_000_000, delay=0.01)
    0.128
    """
    return rounds * (ROUND_SECONDS + delay) + MEGABYTE_SECONDS * sent / 1e6


@dataclass(frozen=True)
class FinishRule:
    """How long a finish is: with fewer phases it is not worth its time, more prove hardly more."""

    least: int
    most: int
    part: float
    """Of the time, at most: the finish goes on from what the search has found."""


def finish_rule(layout: Layout, /) -> FinishRule:
    """What pays for a problem of this size, as measured on families of costs.

    What comes before the phases makes most plans optimal, so that few phases follow. Where few
    pairs are allowed, the search finds little, and the forest soon ends by itself.
    """
    if layout.is_sparse:
        return FinishRule(2 + layout.size // 20, 6 + layout.size // 6, 0.75)
    return FinishRule(2, 4 + layout.size // 12, 0.7)


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


def fitted_search(
    problem: Problem,
    search: SealedParameters,
    weightings: Sequence[Sequence[int]],
    known: KnownTime,
    /,
) -> SealedParameters:
    """The search with the finish that fits the time.

    >>> from tacit.problems import generate_assignment
    >>> problem = generate_assignment(1, rows=100)
    >>> search = SealedParameters(block=16, levels=2)
    >>> [fitted_search(problem, search, [(1,)], KnownTime(deadline=t)).finish for t in (5, 20)]
    [7, 12]
    >>> fitted_search(problem, search, [(1,)], KnownTime(deadline=20, delay=0.01)).finish
    0
    """
    if known.deadline is None or problem.sealed_moves != "assignment":
        return search
    if any(len(each) != len(problem.objectives) for each in weightings):
        return search  # whoever makes an agreement of it, is told
    some = replace(search, finish=1)
    try:
        courses = [finished_course(problem, some, each) for each in weightings]
        for course in courses:
            check_sizes(course, 0)
    except AgreementError:
        return search
    needed = max(generations_bytes(course, nodes=known.nodes) for course in courses)
    if needed > MOST_WORKING_MEGABYTES * 1_000_000 // 2:
        return search
    layout = courses[0].forest.layout
    rule = finish_rule(layout)
    slowest = max(
        (step_seconds(course, nodes=known.nodes, delay=known.delay) for course in courses),
        key=lambda each: each.phase,
    )
    each = known.deadline / len(weightings)
    fits = int((each * rule.part - slowest.beginning) / slowest.phase)
    if known.steps is not None:
        fits = min(fits, int(known.steps * rule.part))
    phases = min(fits, rule.most)
    return replace(search, finish=phases if phases >= rule.least else 0)
