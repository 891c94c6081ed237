"""Count the steps of a sealed assignment by a deadline, so that it can run in the clear.

What steps take is the model of `tacit.derived.timing`, times what a machine was measured to
take of it. The batches are those of the driver, against a clock that only counts.
"""

from __future__ import annotations

from collections.abc import Sequence

from tacit.agreement import AssignmentGroup, assignment_groups
from tacit.derived import KnownTime, step_seconds
from tacit.problems import Problem
from tacit.runs import EngineChoice, Limits, Result, sealed_settings, solve
from tacit.runs.pace import Pace
from tacit.search.moves import AssignmentParameters

SET_UP = 0.3
"""Seconds of a deadline before the first step."""


def fitted(problem: Problem, deadline: float, /, *, delay: float = 0.0) -> AssignmentParameters:
    """Return the settings that are agreed on for a deadline, where nobody says anything."""
    parameters = sealed_settings(problem, {}, time=KnownTime(deadline=deadline, delay=delay))
    if not isinstance(parameters, AssignmentParameters):
        raise TypeError(f"{problem.name} is no assignment")
    return parameters


def steps_within(
    problem: Problem,
    parameters: AssignmentParameters,
    deadline: float,
    /,
    *,
    slower: float = 1.0,
    delay: float = 0.0,
) -> int:
    """Return how many steps fit a deadline, where each takes `slower` times what the model says.

    >>> from tacit.problems import generate_assignment
    >>> problem = generate_assignment(1)
    >>> parameters = fitted(problem, 60)
    >>> steps_within(problem, parameters, 60), parameters.steps
    (140, 140)
    >>> steps_within(problem, parameters, 0.5)
    0
    """
    seconds = step_seconds(_group(problem, parameters), delay=delay)
    pace, now, done = Pace(parameters.steps, until=deadline), SET_UP, 0
    while (batch := pace.next_batch(done, now=now)) is not None:
        count, descending = batch[0], done < parameters.generations
        if descending:
            count = min(count, parameters.generations - done)
        each = seconds.generation if descending else seconds.iteration
        took = slower * (count * each + seconds.end)
        if now + took > deadline:
            break
        pace.measure(done, count, took)
        now, done = now + took, done + count
        if descending and done == parameters.generations:
            pace.expect(pace.seconds * seconds.iteration / seconds.generation)
    return done


def in_the_clear(
    problem: Problem,
    deadline: float,
    /,
    *,
    seed: int,
    slower: float = 1.0,
    delay: float = 0.0,
) -> Result:
    """Solve in the clear with as many steps as nodes do by the deadline."""
    parameters = fitted(problem, deadline, delay=delay)
    steps = steps_within(problem, parameters, deadline, slower=slower, delay=delay)
    limits = Limits(generations=max(1, steps))
    return solve(problem, disclose="sealed", settings=parameters, limits=limits, seed=seed,
                 engine="simulated")  # fmt: skip


def measured_slower(problems: Sequence[Problem], deadline: float, engine: EngineChoice, /) -> float:
    """Solve problems on nodes; return the seconds of their steps divided by those of the model."""
    took = modelled = 0.0
    for problem in problems:
        parameters = fitted(problem, deadline)
        found = solve(problem, disclose="sealed", settings=parameters, deadline=deadline,
                      engine=engine)  # fmt: skip
        if found.timing is None or not found.timing.generation_seconds:
            raise SystemExit(f"no step of {problem.name} was done within {deadline:g} s")
        ends = found.timing.generation_seconds
        generations = min(len(ends), parameters.generations)
        seconds = step_seconds(_group(problem, parameters))
        took += ends[-1]
        modelled += generations * seconds.generation
        modelled += (len(ends) - generations) * seconds.iteration + len(set(ends)) * seconds.end
    return round(took / modelled, 3)


def _group(problem: Problem, parameters: AssignmentParameters) -> AssignmentGroup:
    (group,) = assignment_groups(problem, [(1,)], parameters)
    return group
