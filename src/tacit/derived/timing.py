"""The cost model of sealed runs: how long steps take, and how many of them are agreed on.

Rounds and bytes are what the protocols declare. Their factors were measured on three local nodes
that share two cores; the delay of the network comes on top in every round. Only public sizes and
times enter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, floor

from tacit.agreement.sealed_groups import (
    AssignmentGroup,
    SealedGroup,
    TourGroup,
    assignment_groups,
    tour_groups,
)
from tacit.agreement.sizes import steps_bytes
from tacit.errors import AgreementError
from tacit.identity.config import MOST_WORKING_MEGABYTES
from tacit.mpc import Cost
from tacit.mpc.assignment import cost_of_end, cost_of_generations, cost_of_iterations
from tacit.mpc.sealed import cost as search_cost
from tacit.problems import Problem
from tacit.search.moves import MOST_GENERATIONS, AssignmentParameters, TourParameters

ROUND_SECONDS = 0.0004
MEGABYTE_SECONDS = 0.02
CYCLE_SECONDS = 1.6e-8
"""At least so long an iteration computes for the power 2.5 of the columns: its cycle test has about
2 sqrt(n) products of n x n bits, which send few bytes for what they compute. It counts where a
public mask makes everything else small."""
FASTEST = 0.4
"""What a fast machine takes of the seconds of the model: the length of a run allows for it, and on
a slower one the deadline ends the run."""
PER_PLACE, SPARE_ITERATIONS = 1.2, 12
"""Iterations at most, per place or more than places, whichever are more: every family of costs was
proved with fewer. Below 60 places some take more than 1.2 per place, and they take no time."""
# Lag 1 saves waiting for an exchange in each iteration and takes more iterations: worth it only
# where messages travel long.
LAG_FACTOR = 1.3
"""With lag 1 it takes about so many times the iterations until a plan is proved."""
LEAST_PART = 3
"""One iteration in so many is made before a plan may be opened, unless the deadline comes first."""
LEAST_DESCENT, GENERATION_PLACES = 20, 12
"""Generations of block descent at least, and one for so many places."""
DESCENT_PLACES = 45
"""A descent takes as long as one iteration for so many places, where those are more generations."""
REST_PLACES = 50
"""Fewer iterations than one for so many places are worth less than a descent as long as they."""
MOSTLY_FORBIDDEN = 0.75
"""The share of forbidden pairs above which a descent finds nothing."""
PER_STOP = 40
"""Generations of a tour at most, for each stop."""
PARENTS = 8
"""Fewer find no better tours than one alone with as much time."""
CHILDREN = 250
"""Of each window, where there are several parents: half as many as one parent has."""
LEAST_GENERATIONS = 670
"""With fewer of them one parent finds tours that are as good."""
MEETINGS = 20
"""Parent selections of a run: after more of them all parents are alike too soon."""


@dataclass(frozen=True, kw_only=True)
class KnownTime:
    """The public facts about the time of a run that is being drafted."""

    deadline: float | None
    """In seconds, for all searches together."""
    nodes: int = 3
    delay: float = 0.0
    """Seconds that messages between nodes travel, where that is known."""
    steps: int | None = None
    """How many steps are agreed on at most, where that is given."""


def seconds_of(cost: Cost, /, *, delay: float = 0.0) -> float:
    """Return the seconds of a protocol, from its rounds and the bytes of the busiest node."""
    return cost.rounds * (ROUND_SECONDS + delay) + MEGABYTE_SECONDS * cost.bytes_per_node / 1e6


@dataclass(frozen=True)
class StepSeconds:
    """Seconds of the steps of a group; only their ratios are the same on all machines."""

    generation: float
    iteration: float
    end: float
    """The end of a batch: the proof, or settling the best tour."""


def step_seconds(group: SealedGroup, /, *, nodes: int = 3, delay: float = 0.0) -> StepSeconds:
    """Return the seconds of steps on nodes whose messages travel for `delay` seconds."""
    if isinstance(group, TourGroup):
        moves, table = group.schedule.generation(0, horizon=1).moves, group.table
        one, two = (search_cost(nodes, moves, count, table) for count in (1, 2))
        each = _between(one, two, delay)
        # A batch of one step costs that step and the end of the batch.
        return StepSeconds(each, each, max(0.0, seconds_of(one, delay=delay) - each))
    assert isinstance(group, AssignmentGroup)
    shape, lag, blocks = group.shape, group.parameters.lag, group.descent
    moves = blocks.generation(1)

    def iterating(count: int) -> Cost:
        return cost_of_iterations(nodes, shape, count=count, lag=lag)

    def descending(count: int) -> Cost:
        return cost_of_generations(
            nodes, shape, moves, bits=blocks.key_bits, levels=blocks.levels, count=count
        )

    end = seconds_of(cost_of_end(nodes, shape, steps=group.ladder), delay=delay)
    generation = _between(descending(1), descending(2), delay)
    # With lag 1 the first iteration of a batch has no exchange beside it.
    two, three = iterating(2), iterating(3)
    waiting = (three.rounds - two.rounds) * (ROUND_SECONDS + delay)
    least = waiting + CYCLE_SECONDS * group.square_cells * shape.size**0.5
    return StepSeconds(generation, max(least, _between(two, three, delay)), end)


def _between(one: Cost, two: Cost, delay: float) -> float:
    """Return the seconds of the second of two equal steps; for 1 x 1 it has no round."""
    return max(1e-4, seconds_of(two, delay=delay) - seconds_of(one, delay=delay))


def fitted_assignment(
    problem: Problem,
    settings: AssignmentParameters,
    weightings: Sequence[Sequence[int]],
    known: KnownTime,
    /,
) -> AssignmentParameters:
    """Return the settings with everything that follows from sizes and times.

    >>> from tacit.problems import generate_assignment
    >>> problem, settings = generate_assignment(1, rows=100), AssignmentParameters()
    >>> for seconds in (1, 60):
    ...     known = KnownTime(deadline=seconds)
    ...     fitted = fitted_assignment(problem, settings, [(1,)], known)
    ...     fitted.generations, fitted.iterations
    (20, 120)
    (20, 120)
    >>> fitted = fitted_assignment(problem, settings, [(1,)], KnownTime(deadline=60, delay=0.01))
    >>> fitted.lag, fitted.least
    (1, 40)
    >>> problem = generate_assignment(1, rows=500)
    >>> for seconds in (5, 20, 60):
    ...     fitted = fitted_assignment(problem, settings, [(1,)], KnownTime(deadline=seconds))
    ...     fitted.generations, fitted.iterations
    (214, 1)
    (44, 206)
    (44, 600)
    """
    if any(len(each) != len(problem.objectives) for each in weightings):
        return settings  # the agreement refuses it with a better message
    places = len(problem.sealed_items)
    settings = replace(settings, generations=LEAST_DESCENT if _descends(problem, places) else 0)
    try:
        groups = assignment_groups(problem, weightings, settings)
    except AgreementError:
        if not settings.generations:
            raise
        # The keys of a descent are longer than those of the iterations.
        settings = replace(settings, generations=0)
        groups = assignment_groups(problem, weightings, settings)
    lags = [
        sum(
            step_seconds(_with_lag(each, lag), nodes=known.nodes, delay=known.delay).iteration
            for each in groups
        )
        for lag in (0, 1)
    ]
    lag = int(LAG_FACTOR * lags[1] < lags[0])
    each = [step_seconds(group, nodes=known.nodes, delay=known.delay) for group in groups]
    descending, iterating = sum(seconds.generation for seconds in each), lags[lag]
    generations = settings.generations
    if generations:
        # All blocks move in a generation, where an iteration moves the columns on cycles alone. So
        # a descent is worth its time until it takes as long as the iterations that it saves.
        equal = places / DESCENT_PLACES * iterating / descending
        generations = ceil(max(generations, places / GENERATION_PLACES, equal))
    length = settings.iterations or max(ceil(PER_PLACE * places), places + SPARE_ITERATIONS)
    if known.deadline is not None:
        left = known.deadline - generations * descending - sum(seconds.end for seconds in each)
        if generations and left < places / REST_PLACES * iterating:
            # What is left is too short for iterations on a machine as in the model.
            generations = floor(known.deadline / (FASTEST * descending))
        left = known.deadline - generations * FASTEST * descending
        if not settings.iterations:
            length = min(length, max(1, floor(left / (FASTEST * iterating))))
    generations = min(generations, MOST_GENERATIONS)
    if known.steps is not None:
        # Half of the steps stay for iterations, which alone prove an optimum.
        generations = min(generations, known.steps // 2)
        length = max(1, min(length, known.steps - generations))
    return replace(
        settings,
        checkpoints=_checkpoints_before(length, settings),
        generations=generations,
        iterations=length,
        lag=lag,
        least=ceil(length / LEAST_PART),
        # Rounded down: a run ends by its deadline, and what nodes open then must be due by then.
        seconds=0 if known.deadline is None else max(1, floor(known.deadline)),
    )


def _checkpoints_before(length: int, settings: AssignmentParameters) -> str:
    """Return the checkpoints of a run of so many iterations."""
    if settings.iterations:
        return settings.checkpoints
    # Checkpoints are named before the length is known, so those behind it are left out.
    return ":".join(str(each) for each in settings.checkpoint_iterations if each < length)


def _descends(problem: Problem, places: int) -> bool:
    """Return whether there is a descent: not where nearly all moves lead to forbidden pairs."""
    mask = problem.forbidden
    return places > 1 and (mask is None or bool(mask.mean() <= MOSTLY_FORBIDDEN))


def _with_lag(group: AssignmentGroup, lag: int) -> AssignmentGroup:
    return replace(group, parameters=replace(group.parameters, lag=lag))


def tour_length(problem: Problem, /) -> int:
    """Return how many generations of a tour are agreed on at most.

    >>> from tacit.problems import shipped_problem
    >>> tour_length(shipped_problem("kroA100"))
    4000
    """
    return PER_STOP * problem.rows


def fitted_tour(
    problem: Problem,
    search: TourParameters,
    weightings: Sequence[Sequence[int]],
    known: KnownTime,
    /,
) -> TourParameters:
    """Return the search with several parents, if there is time for them.

    >>> from tacit.problems import shipped_problem
    >>> problem, search = shipped_problem("kroA100"), TourParameters(windows=2, levels=2)
    >>> [fitted_tour(problem, search, [(1,)], KnownTime(deadline=t)).parents for t in (2, 10, 60)]
    [1, 1, 8]
    """
    if known.deadline is None:
        return search
    if any(len(each) != len(problem.objectives) for each in weightings):
        return search  # the agreement refuses it with a better message
    several = replace(search, parents=PARENTS, children=min(CHILDREN, search.children))
    generations = _tour_generations(problem, several, weightings, known)
    if generations < LEAST_GENERATIONS:
        return search
    return replace(several, meet_every=generations // MEETINGS)


def _tour_generations(
    problem: Problem,
    search: TourParameters,
    weightings: Sequence[Sequence[int]],
    known: KnownTime,
) -> int:
    """Return how many fit the time; none where nodes would not allow it."""
    slowest = 0.0
    for group in tour_groups(problem, weightings, search):
        try:
            group.check_sizes()
        except AgreementError:
            return 0
        needed = steps_bytes(group, nodes=known.nodes)
        if needed > MOST_WORKING_MEGABYTES * 1_000_000 // 2:
            return 0
        seconds = step_seconds(group, nodes=known.nodes, delay=known.delay).generation
        slowest = max(slowest, seconds)
    fits = int((known.deadline or 0.0) / len(weightings) / slowest)
    length = min(fits, tour_length(problem))
    return length if known.steps is None else min(length, known.steps)
