"""One optimization: search, evaluator and limits, generation after generation."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.engine import SideBySide
from tacit.errors import EngineError, MpcError, ParameterError
from tacit.problems import Evaluation, Problem
from tacit.runs.best_known import BestKnown, update_best_known
from tacit.runs.history import GenerationRecord, record_generation
from tacit.runs.limits import Limits, StopReason
from tacit.search import Evolution, SearchParameters, SearchState

TYPICAL_OF = 5
"""The second longest of so many generations is what the next one is expected to take."""


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Everything a run needs to go on, taken between two generations."""

    search: SearchState
    random: dict[str, Any]
    """The state of the bit generator."""
    evaluations: int = 0
    stalled_for: int = 0
    best_known: BestKnown | None = None
    best_so_far: tuple[int | None, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True, eq=False)
class GenerationView:
    """What an observer is shown after each generation."""

    run: Run
    record: GenerationRecord
    state: SearchState
    plans: NDArray[np.int32]
    """What was evaluated, one plan per row."""
    evaluation: Evaluation


Observer = Callable[[GenerationView], None]


@dataclass(eq=False)
class Run:
    """A run that can be driven to its limits, watched, stopped and continued.

    >>> from tacit.engine import ClearObjective
    >>> from tacit.problems import Assignment, Objective
    >>> pay = Objective("pay", np.array([[1, 9], [8, 3]]))
    >>> problem = Assignment(name="p", rows=2, columns=2, objectives=(pay,))
    >>> run = Run(problem, SearchParameters(population=4, elites=1, tournament=2),
    ...           SideBySide((ClearObjective(problem, 0),)), seed=1, limits=Limits(generations=3))
    >>> run.to_its_limits()
    <StopReason.GENERATIONS: 'generations'>
    >>> run.now.best_known.told
    (17,)
    """

    problem: Problem
    parameters: SearchParameters
    evaluator: SideBySide
    seed: int
    limits: Limits
    observe: Observer | None = None
    history: list[GenerationRecord] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What went wrong on the way."""

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise ParameterError(f"seed is {self.seed}; give 0 or more")
        if self.limits.target is not None:
            self._check_target()
        for objective in self.problem.objectives:
            if objective.confidential:
                objective.disclosure.check_population(self.parameters.fewest_evaluated)
        self.search = Evolution(self.problem, self.parameters)
        self._rng = np.random.Generator(np.random.PCG64(self.seed))
        self._actual = all(each.weights is not None for each in self.problem.objectives)
        # Replaced as a whole after each generation, so that an interrupt between any two
        # instructions finds one complete snapshot.
        self.now = Snapshot(
            self.search.start(),
            dict(self._rng.bit_generator.state),
            best_so_far=self.evaluator.best_so_far,
        )

    def _check_target(self) -> None:
        if len(self.problem.objectives) > 1:
            raise ParameterError("a target needs a single objective; leave it out")
        if not self.problem.objectives[0].tells_values:
            raise ParameterError(
                "a target needs a told best value, and this objective withholds it; "
                "leave the target out, or tell the best as value"
            )

    def resume(self, snapshot: Snapshot, history: list[GenerationRecord], /) -> None:
        """Go on from a snapshot; the result is that of a run that never stopped."""
        self.now, self.history = snapshot, list(history)
        self._rng.bit_generator.state = snapshot.random
        self.evaluator.restore(snapshot.best_so_far)

    def to_its_limits(self, *, started: float | None = None) -> StopReason:
        """Run until a limit is reached or somebody interrupts.

        `started` is the instant of `time.monotonic()` that the deadline counts from.
        """
        begun = time.monotonic() if started is None else started
        # Time spent before an interruption counts in the records, never against the deadline.
        earlier = self.now.seconds
        until = None if self.limits.deadline is None else begun + self.limits.deadline
        try:
            while (reason := self._reason_to_stop(until)) is None:
                self._one_generation(until, begun - earlier)
        except KeyboardInterrupt:
            reason = StopReason.INTERRUPTED
        except (EngineError, MpcError) as error:
            if self.now.best_known is None:
                raise  # there is nothing to answer with
            self.notes.append(str(error))
            late = until is not None and time.monotonic() >= until
            reason = StopReason.DEADLINE if late else StopReason.NODES
        if reason in (StopReason.INTERRUPTED, StopReason.DEADLINE, StopReason.NODES):
            # Forget the generation that was under way, so that the run can go on by itself.
            self.resume(self.now, self.history[: self.now.search.generation + 1])
        return reason

    def _reason_to_stop(self, until: float | None) -> StopReason | None:
        if self.now.evaluations > 0:
            reason = self.limits.reached(
                generation=self.now.search.generation,
                evaluations=self.now.evaluations,
                stalled_for=self.now.stalled_for,
                target_met=self._target_met(),
            )
            if reason is not None:
                return reason
            if until is not None and time.monotonic() + self._expected_seconds() > until:
                return StopReason.DEADLINE
        return None

    def _target_met(self) -> bool:
        if self.limits.target is None or self.now.best_known is None:
            return False
        told = self.now.best_known.told[0]
        wanted = self.problem.objectives[0].least_fitness(self.limits.target)
        return told is not None and not isinstance(told, bool) and told >= wanted

    def _expected_seconds(self) -> float:
        ends = [record.seconds for record in self.history[-TYPICAL_OF - 1 :]]
        lengths = sorted(end - start for start, end in pairwise(ends))
        # One long one may have been a node that was away for a while, and is back.
        return lengths[max(len(lengths) - 2, 0)] if lengths else 0.0

    def _one_generation(self, until: float | None, begun: float) -> None:
        before = self.now
        genomes = self.search.ask(before.search, self._rng)
        plans = self.problem.plans(genomes)
        evaluation = self.evaluator.evaluate(plans, until=until)
        state = self.search.tell(before.search, genomes, evaluation.estimates)
        best_known, improved = update_best_known(before.best_known, state, evaluation)
        seconds = time.monotonic() - begun
        record = record_generation(
            self.problem, state, evaluation, actual=self._actual, seconds=seconds
        )
        self.history.append(record)
        self.now = Snapshot(
            search=state,
            random=dict(self._rng.bit_generator.state),
            evaluations=before.evaluations + 1,
            stalled_for=0 if improved else before.stalled_for + 1,
            best_known=best_known,
            best_so_far=self.evaluator.best_so_far,
            seconds=seconds,
        )
        if self.observe is not None:
            self.observe(GenerationView(self, record, state, plans, evaluation))
