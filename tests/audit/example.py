"""A small recorded run with its secret."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.audit.record import Record
from tacit.audit.recording import Recorder
from tacit.audit.view import View, view_of
from tacit.problems import Problem, generate_assignment
from tacit.runs import Limits
from tacit.search import SearchParameters
from tests.support.simulated import solve


def example_problem(*, size: int = 6) -> Problem:
    """A small assignment with three participants."""
    return generate_assignment(7, rows=size, participants=3)


def example_record(
    disclosure: str,
    /,
    *,
    problem: Problem | None = None,
    generations: int = 29,
    best: str = "value",
) -> Record:
    """A recorded run on a simulated engine."""
    recorder = Recorder()
    result = solve(
        example_problem() if problem is None else problem,
        disclose=disclosure,
        best=best,
        limits=Limits(generations=generations),
        seed=1,
        engine="simulated",
        observe=recorder,
        settings=SearchParameters(population=30, elites=3, tournament=3, mutation_percent=50),
    )
    return recorder.record(result.plan)


def example_view(disclosure: str, /) -> View:
    """The view of `example_record`."""
    return view_of(example_record(disclosure))


def example_weights() -> NDArray[np.float64]:
    """The secret of `example_record`."""
    weights = example_problem().objectives[0].weights
    assert weights is not None
    return weights.astype(np.float64)
