"""How many parents a sealed search of a tour has: from public sizes and the time alone.

Parents that are compared now and then, of which the better ones go on twice, find shorter tours in
fewer generations than one alone, as long as there are generations enough for each. More of them
make a generation longer, by a model of rounds and bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tacit.engine.agreement.sealed import check_sizes, search_course, table_of
from tacit.engine.agreement.working_memory import generations_bytes
from tacit.engine.derived.finish_time import KnownTime, seconds_of
from tacit.engine.identity.config import MOST_WORKING_MEGABYTES
from tacit.errors import AgreementError
from tacit.mpc.sealed import cost as search_cost
from tacit.problems import Problem
from tacit.search.moves import Schedule, SealedParameters, public_shape

PARENTS = 8
"""Fewer find no better tours than one alone with as much time."""
CHILDREN = 250
"""Of each window, where there are several parents: half as many as one parent has."""
LEAST_GENERATIONS = 670
"""With fewer of them one parent finds tours that are as good."""
MEETINGS = 20
"""Parent selections of a run: after more of them all parents are alike too soon."""


def generation_seconds(schedule: Schedule, known: KnownTime, /) -> float:
    """What a generation takes by the model."""
    moves, table = schedule.generation(0, horizon=1).moves, table_of(schedule)
    one, two = (search_cost(known.nodes, moves, count, table) for count in (1, 2))
    sent = two.bytes_per_node - one.bytes_per_node
    return seconds_of(two.rounds - one.rounds, sent, delay=known.delay)


def fitted_tour(
    problem: Problem,
    search: SealedParameters,
    weightings: Sequence[Sequence[int]],
    known: KnownTime,
    /,
) -> SealedParameters:
    """The search with several parents, if there is time for them.

    >>> from tacit.problems import shipped_problem
    >>> problem, search = shipped_problem("kroA100"), SealedParameters(windows=2, levels=2)
    >>> [fitted_tour(problem, search, [(1,)], KnownTime(deadline=t)).parents for t in (2, 10, 60)]
    [1, 1, 8]
    """
    if known.deadline is None or problem.sealed_moves != "tour":
        return search
    if any(len(each) != len(problem.objectives) for each in weightings):
        return search  # whoever makes an agreement of it, is told
    several = replace(search, parents=PARENTS, children=min(CHILDREN, search.children))
    generations = _generations(problem, several, weightings, known)
    if generations < LEAST_GENERATIONS:
        return search
    return replace(several, meet_every=generations // MEETINGS)


def _generations(
    problem: Problem,
    search: SealedParameters,
    weightings: Sequence[Sequence[int]],
    known: KnownTime,
) -> int:
    """How many fit the time; none where nodes would not allow it."""
    slowest = 0.0
    for factors in weightings:
        course = search_course(problem, public_shape(problem, factors), search, seed=0, stream=0)
        try:
            check_sizes(course, 0)
        except AgreementError:
            return 0
        needed = generations_bytes(course, nodes=known.nodes)
        if not isinstance(course, Schedule) or needed > MOST_WORKING_MEGABYTES * 1_000_000 // 2:
            return 0
        slowest = max(slowest, generation_seconds(course, known))
    fits = int((known.deadline or 0.0) / len(weightings) / slowest)
    return fits if known.steps is None else min(fits, known.steps)
