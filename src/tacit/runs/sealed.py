"""`solve` for sealed objectives: the nodes search, and one plan per weighting is opened."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np

from tacit.disclosure import BestMode, Sealed
from tacit.errors import ParameterError
from tacit.problems import Problem
from tacit.runs.evaluators import EngineChoice, started_engine
from tacit.runs.limits import Limits, StopReason
from tacit.runs.result import Result, Timing
from tacit.runs.sealed_loop import (
    FIRST_GUESS,
    SealedLoop,
    SealedObserver,
    SealedPlan,
    SealedRun,
    SealedSearching,
    SealedView,
)
from tacit.runs.sealed_result import sealed_result
from tacit.runs.weightings import default_weightings
from tacit.search.moves import (
    ONE_PARENT_IMPROVES,
    Schedule,
    SealedParameters,
    public_shape,
    sealed_parameters_for,
)
from tacit.search.sealed import ClearSealedSearch, worth_table

if TYPE_CHECKING:
    from tacit.engine.agreement.terms import PinnedSearch

UNLIMITED_GENERATIONS = 1_000_000
_START_STREAM = 1 << 32


def is_sealed(problem: Problem, /) -> bool:
    """Whether an objective asks for a sealed search.

    >>> from tacit.problems import generate_assignment
    >>> is_sealed(generate_assignment(1, rows=3))
    False
    """
    return any(o.confidential and isinstance(o.disclosure, Sealed) for o in problem.objectives)


class SimulatedSealedSearch:
    """The nodes' clear twin: the same search with the weights and a start that are all here."""

    def __init__(
        self,
        problem: Problem,
        parameters: SealedParameters,
        weighting: Sequence[int],
        /,
        *,
        seed: int,
        stream: int,
    ) -> None:
        worth = worth_table(problem, weighting)
        shape = public_shape(problem, weighting)
        self.seed = seed
        self._best_mode = problem.objectives[0].best_mode
        schedule = Schedule(shape, parameters, seed=seed, stream=stream)
        words = np.random.PCG64([seed, stream, _START_STREAM]).random_raw(
            parameters.parents * shape.columns
        )
        start = np.argsort(words.reshape(parameters.parents, -1), axis=1, kind="stable")
        self._search = ClearSealedSearch(worth, schedule, start, problem.sealed_items)

    @property
    def twin(self) -> ClearSealedSearch:
        """The search in the clear, for studies, which may look at everything."""
        return self._search

    @property
    def opened(self) -> bool:
        """Never before it is asked for: a simulation is not taken up again."""
        return False

    @property
    def generation(self) -> int:
        """How many generations are done."""
        return self._search.generation

    def advance(
        self,
        count: int,
        horizon: int,
        /,
        *,
        until: float | None,  # noqa: ARG002 - never waits
    ) -> list[bool]:
        """Go on; tells what the agreement would allow."""
        improved = self._search.advance(count, horizon=horizon)
        return improved if self._best_mode is BestMode.IMPROVEMENT else []

    def open(self, *, until: float | None) -> SealedPlan:  # noqa: ARG002 - never waits
        """The best plan."""
        value = self._search.best_value if self._best_mode is BestMode.VALUE else None
        return SealedPlan(self._search.plan().tolist(), value, self.generation)


def run_searches(
    searches: Sequence[SealedSearching],
    limits: Limits,
    /,
    *,
    started: float,
    observe: SealedObserver | None = None,
) -> list[SealedRun]:
    """Run started searches one after the other, and open the plan of each.

    Each has an equal part of the time that is left; `started` is the instant of
    `time.monotonic()` that the deadline counts from.

    >>> run_searches([], Limits(), started=0.0)
    []
    """
    runs: list[SealedRun] = []
    pace, measured = FIRST_GUESS, False
    until = None if limits.deadline is None else started + limits.deadline
    for number, search in enumerate(searches):
        now = time.monotonic()
        part = None if until is None else now + (until - now) / (len(searches) - number)

        def show(generation: int, number: int = number) -> None:
            if observe is not None:
                seconds = time.monotonic() - started
                observe(SealedView(number, len(searches), generation, seconds))

        loop = SealedLoop(_most_generations(limits), part, show, pace=pace, measured=measured)
        runs.append(loop.run(search))
        # Searches of one run take the same time per generation.
        pace, measured = loop.pace, loop.measured
        if runs[-1].reason is StopReason.INTERRUPTED:
            break
    return runs


def _most_generations(limits: Limits) -> int | None:
    given = [n for n in (limits.generations, limits.evaluations) if n is not None]
    return min(given) if given else None


def check_sealed_limits(problem: Problem, limits: Limits, /) -> None:
    """Refuse what a sealed search cannot know or do.

    >>> from tacit.problems import generate_assignment
    >>> check_sealed_limits(generate_assignment(1, rows=3), Limits(target=5))
    Traceback (most recent call last):
    tacit.errors.ParameterError: a sealed search tells no values while it runs, so it cannot stop \
at one; limit its time or its generations
    """
    if limits.target is not None or limits.stall is not None:
        raise ParameterError(
            "a sealed search tells no values while it runs, so it cannot stop at one; limit its "
            "time or its generations"
        )
    unsealed = [o.name for o in problem.objectives if not isinstance(o.disclosure, Sealed)]
    public = [o.name for o in problem.objectives if not o.confidential]
    if unsealed or public:
        raise ParameterError(
            f"objective {(unsealed + public)[0]!r} is not sealed and others are; seal all "
            "confidential objectives, with none public"
        )


def solve_sealed(
    problem: Problem,
    /,
    *,
    limits: Limits,
    choice: EngineChoice,
    seed: int,
    parameters: SealedParameters | None = None,
    weightings: Sequence[Sequence[int]] | None = None,
    optimum: Callable[[Problem], int | None],
    observe: SealedObserver | None = None,
    announce: Callable[[str], None],
) -> Result:
    """Find a plan that is all that anybody learns.

    On nodes the seed follows from the inputs, so `seed` is for the simulation alone.
    """
    prepared = time.monotonic()
    check_sealed_limits(problem, limits)
    chosen = parameters or sealed_parameters_for(problem.sealed_moves)
    if chosen.parents > 1 and problem.objectives[0].best_mode is BestMode.IMPROVEMENT:
        raise ParameterError(ONE_PARENT_IMPROVES)
    factors = [tuple(each) for each in weightings or default_weightings(problem)]
    if any(len(each) != len(problem.objectives) for each in factors):
        raise ParameterError(f"a weighting needs {len(problem.objectives)} factors, as in 3:1")
    with _searches(problem, chosen, factors, limits, choice, seed, announce) as (name, searches):
        reference = optimum(problem)
        started = time.monotonic()
        runs = run_searches(searches, limits, started=started, observe=observe)
        seconds = time.monotonic() - started
    settings = {
        **asdict(chosen),
        "weightings": [list(each) for each in factors],
        "schedule": [[list(batch) for batch in run.schedule] for run in runs],
    }
    timing = Timing(seconds, started - prepared, [end for run in runs for end in run.ends])
    return sealed_result(problem, runs, name, settings, reference, timing)


@contextmanager
def _searches(
    problem: Problem,
    parameters: SealedParameters,
    weightings: Sequence[tuple[int, ...]],
    limits: Limits,
    choice: EngineChoice,
    seed: int,
    announce: Callable[[str], None],
) -> Iterator[tuple[str, Sequence[SealedSearching]]]:
    if choice.engine == "simulated":
        yield (
            "simulated",
            [
                SimulatedSealedSearch(problem, parameters, each, seed=seed, stream=k)
                for k, each in enumerate(weightings)
            ],
        )
        return
    with ExitStack() as stack:
        engine = started_engine(
            problem,
            choice,
            stack,
            announce,
            search=lambda: _pinned(parameters, weightings),
            evaluations=_most_generations(limits) or UNLIMITED_GENERATIONS,
            population=(1, 1),
        )
        searches = [engine.sealed(k) for k in range(len(weightings))]
        announce("drawing the secret start")
        for search in searches:
            search.start()
        yield "nodes", searches


def _pinned(parameters: SealedParameters, weightings: Sequence[tuple[int, ...]]) -> PinnedSearch:
    from tacit.engine.agreement.sealed_terms import pin_sealed

    return pin_sealed(parameters, weightings)
