"""How long the exact solver's schedule is: from public sizes and times alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import floor

from tacit.engine.agreement.exact import forest_courses
from tacit.engine.derived.finish_time import KnownTime, seconds_of
from tacit.errors import AgreementError, ParameterError
from tacit.mpc.forest import cost as phase_cost
from tacit.problems import Problem
from tacit.search.moves import ExactParameters, public_shape

PART = 0.6
"""Of the deadline, at most, by the model: real nodes took up to 1.6 times what it says."""
MOST_SCALED = 48
"""Phases at epsilon 1 after scaling: with so many all families of costs were proved."""


def exact_seconds(
    problem: Problem,
    parameters: ExactParameters,
    weightings: Sequence[Sequence[int]],
    known: KnownTime,
    /,
) -> tuple[float, float, int]:
    """What all takes by the model of `finish_time`, what its last phases take, and its phases."""
    shapes = [public_shape(problem, each) for each in weightings]
    courses = forest_courses(problem, shapes, parameters, seed=0)
    all_of_it, last = 0.0, 0.0
    for course in courses:
        seconds: dict[tuple[int, bool], float] = {}
        for phase in course.phases:
            alike = phase.steps, phase.falls
            if alike not in seconds:
                cost = phase_cost(known.nodes, phase, course.shape)
                seconds[alike] = seconds_of(cost.rounds, cost.bytes_per_node, delay=known.delay)
            all_of_it += seconds[alike]
        last += seconds[alike]
    return all_of_it, last, sum(len(course.phases) for course in courses)


def fitted_exact(
    problem: Problem,
    usual: ExactParameters,
    weightings: Sequence[Sequence[int]],
    known: KnownTime,
    /,
) -> ExactParameters:
    """The schedule that fits the time: scaled if that fits, else as many phases as fit.

    Structured costs need scaling or many phases, and nobody knows whether costs are structured.
    Where not even the usual phases fit, the deadline ends them.

    >>> from tacit.problems import generate_assignment
    >>> problem, usual = generate_assignment(1, rows=100), ExactParameters()
    >>> for seconds in (5, 15, 60):
    ...     fitted = fitted_exact(problem, usual, [(1,)], KnownTime(deadline=seconds))
    ...     fitted.scaling, fitted.phases
    (False, 12)
    (False, 33)
    (True, 48)
    """
    if known.deadline is None or problem.sealed_moves != "assignment":
        return usual
    fitted = usual
    plain_most = max(usual.phases, problem.rows, problem.columns)
    for tried, most in ((usual, plain_most), (replace(usual, scaling=True), MOST_SCALED)):
        try:
            seconds, last, count = exact_seconds(problem, tried, weightings, known)
        except (AgreementError, ParameterError):
            break  # whoever makes an agreement of it, is told
        longer = floor((PART * known.deadline - seconds) / last)
        if known.steps is not None:
            longer = min(longer, (known.steps - count) // len(weightings))
        if longer < 0:
            break
        fitted = replace(tried, phases=min(tried.phases + longer, most))
    return fitted
