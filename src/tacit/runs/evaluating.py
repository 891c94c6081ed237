"""`EvaluatingDriver`: a search that evaluates candidates, generation after generation."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tacit.errors import EngineError, MpcError, ParameterError, TacitError
from tacit.evaluators import ParetoObjectives, RevealedFront, SeparateObjectives
from tacit.problems import Problem
from tacit.runs.checkpoint import Snapshot, save_checkpoint
from tacit.runs.driver import LATE_SECONDS, Progress, end_of
from tacit.runs.history import (
    Disclosed,
    GenerationRecord,
    GenerationView,
    record_generation,
    update_best_known,
)
from tacit.runs.limits import Limits, StopReason
from tacit.runs.result import Outcome, Values, evaluated_values, front_of, history_lists, plan_set
from tacit.runs.settings import Checkpointing
from tacit.search import Evolution, SearchParameters

TYPICAL_OF = 5
"""The second longest of so many generations is what the next one is expected to take."""
ACCOUNT_GENERATIONS = 4
"""Counting a run takes at most the rounds of so many generations, or the seconds that are set."""
REVEAL_SECONDS = 0.3
"""What the search leaves of its time for the final reveal, or a tenth of it if that is less."""


def checked_search(
    problem: Problem, parameters: SearchParameters, limits: Limits, /, *, seed: int
) -> Evolution:
    """Return the search, or refuse settings that it cannot run with."""
    if seed < 0:
        raise ParameterError(f"seed is {seed}; give 0 or more")
    if limits.target is not None:
        if len(problem.objectives) > 1:
            raise ParameterError("a target needs a single objective; leave it out")
        if not problem.objectives[0].discloses_values:
            raise ParameterError(
                "a target needs a disclosed best value, and this objective withholds it; "
                "leave the target out, or disclose the best as value"
            )
    for objective in problem.objectives:
        if objective.confidential:
            objective.disclosure.check_population(parameters.fewest_evaluated)
    return Evolution(problem, parameters)


@dataclass(eq=False)
class EvaluatingDriver:
    """A search with its evaluator and limits; see `SearchDriver`.

    >>> from tacit.evaluators import ClearObjective
    >>> from tacit.problems import Assignment, Objective
    >>> from tacit.runs.driver import drive
    >>> pay = Objective("pay", np.array([[1, 9], [8, 3]]))
    >>> problem = Assignment(name="p", rows=2, columns=2, objectives=(pay,))
    >>> driver = EvaluatingDriver(problem, SearchParameters(population=4, elites=1, tournament=2),
    ...     SeparateObjectives((ClearObjective(problem, 0),)), seed=1, limits=Limits(generations=3))
    >>> drive(driver), driver.disclosed()
    (<StopReason.GENERATIONS: 'generations'>, (17,))
    """

    problem: Problem
    parameters: SearchParameters
    evaluator: SeparateObjectives
    seed: int
    limits: Limits
    reveals: bool = False
    """Whether the engine reveals at the end which of the best-known plans is truly best, or which
    are non-dominated."""
    engine: str = "simulated"
    account: float = 0.0
    """Seconds that counting the run for balances takes, before its plan is the result."""
    may_be_late: bool = False
    """Whether the first generation may end after the deadline, since the run cannot be resumed."""
    saving: Checkpointing = Checkpointing()  # noqa: RUF009 - immutable
    history: list[GenerationRecord] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    ends: bool = True
    """Whether it reveals at its end what was agreed, and is counted; not while it is replayed."""
    can_resume = False
    for_owners = False
    proved = gaps = None
    opened_searches = ()

    def __post_init__(self) -> None:
        self.search = checked_search(self.problem, self.parameters, self.limits, seed=self.seed)
        self._rng = np.random.Generator(np.random.PCG64(self.seed))
        self._actual = all(each.weights is not None for each in self.problem.objectives)
        self._end: float | None = None
        self._until: float | None = None
        self._reveal_until: float | None = None
        self._begun, self._best_plan = 0.0, 0
        self._front: RevealedFront | None = None
        self._view: GenerationView | None = None
        # Replaced as a whole after each generation, so that an interrupt between any two
        # instructions finds one complete snapshot.
        self.now = Snapshot(
            self.search.start(),
            dict(self._rng.bit_generator.state),
            best_so_far=self.evaluator.best_so_far,
        )

    def resume(self, snapshot: Snapshot, history: list[GenerationRecord], /) -> None:
        """Continue from a snapshot; the result is that of a run that never stopped."""
        self.now, self.history = snapshot, list(history)
        self._rng.bit_generator.state = snapshot.random
        self.evaluator.restore(snapshot.best_so_far)

    def start(self, *, until: float | None = None) -> None:
        """Start the clock, and set aside what the final reveal and the account take."""
        now = time.monotonic()
        self._end = self._until = self._reveal_until = end_of(self.limits, until)
        if self._end is not None:
            left = self._end - now
            # In the order in which they come at the end: search, reveal, account.
            self._reveal_until = self._end - min(self.account, 0.25 * left)
            self._until = self._reveal_until - (
                min(REVEAL_SECONDS, 0.1 * left) if self.reveals else 0.0
            )
        # Time spent before an interruption counts in the records, never against the deadline.
        self._begun = now - self.now.seconds

    def advance(self) -> StopReason | None:
        """Evaluate one generation, unless a limit is reached."""
        reason = self._reason_to_stop()
        if reason is None:
            try:
                self._one_generation()
            except (EngineError, MpcError) as error:
                if self.now.best_known is None:
                    raise  # there is nothing to answer with
                late = self._until is not None and time.monotonic() >= self._until
                # A generation that only just did not fit is nobody's fault.
                if not late or getattr(error, "peer", "") != "the nodes":
                    self.notes.append(str(error))
                return StopReason.DEADLINE if late else StopReason.NODES
            if self.is_checkpoint_due():
                self.checkpoint()
        return reason

    def finish(self, reason: StopReason, /) -> None:
        """Have the engine reveal which of the best-known plans are truly best, if agreed."""
        aborted = reason in (StopReason.INTERRUPTED, StopReason.NODES)
        if aborted or reason is StopReason.DEADLINE:
            # Forget the generation that was under way, so that the run can go on by itself.
            self.resume(self.now, self.history[: self.now.search.generation + 1])
        known = self.now.best_known
        # Nodes that were away may be back, and a run that goes on must not have revealed.
        if not self.ends or not self.reveals or known is None or (aborted and self.can_resume):
            return
        plans, several = self.problem.plans(known.genomes), self.problem.evaluates_together
        try:
            if several:
                self._front = self.reveal_front(plans, until=self._reveal_until)
                self._best_plan = self._front.nondominated[0]
            else:
                self._best_plan = self.reveal(plans, until=self._reveal_until)
        except TacitError as error:
            what = "which plans are non-dominated" if several else "the truly best plan"
            self.notes.append(f"{what} was not revealed: {error}")

    def reveal(self, plans: NDArray[np.int32], /, *, until: float | None) -> int:
        return self.evaluator.objectives[0].reveal_best(plans, until=until)

    def reveal_front(self, plans: NDArray[np.int32], /, *, until: float | None) -> RevealedFront:
        if not isinstance(self.evaluator, ParetoObjectives):
            raise ParameterError("objectives that are evaluated apart have no front to reveal")
        return self.evaluator.reveal_front(plans, until=until)

    def is_checkpoint_due(self) -> bool:
        generation = self.now.search.generation
        return self.saving.file is not None and generation % self.saving.every == 0

    def checkpoint(self) -> None:
        if self.saving.file is not None:
            save_checkpoint(self, self.saving.file)

    def progress(self) -> Progress:
        """The last generation, and the best that was disclosed so far."""
        now, known = self.now, self.now.best_known
        return Progress(
            generation=now.search.generation,
            seconds=now.seconds,
            evaluations=now.evaluations,
            best=() if known is None else known.highest,
            evaluated=self._view,
        )

    def plans(self) -> list[list[int]]:
        """The best-known plans, the one to use first; none before the first generation.

        Once it was revealed which of them are non-dominated, these alone.
        """
        known = self.now.best_known
        if known is None:
            return []
        plans: list[list[int]] = self.problem.plans(known.genomes).tolist()
        if self._front is not None:
            return [plans[k] for k in self._front.nondominated]
        return [plans.pop(self._best_plan), *plans]

    def values(self) -> list[Values]:
        """Exact ones are known as long as the plans are those of the last generation."""
        known, search = self.now.best_known, self.now.search
        if known is None:
            return []
        if known.generation != search.generation:
            return [[None] * len(self.problem.objectives) for _ in known.genomes]
        values = evaluated_values(self.problem, search.estimates[search.estimated_best()])
        return [values.pop(self._best_plan), *values]

    def disclosed(self) -> Disclosed:
        return () if self.now.best_known is None else self.now.best_known.disclosed

    def outcome(self) -> Outcome:
        """The best-known set, and the paper's: the estimated best of the last generation."""
        known, search = self.now.best_known, self.now.search
        if known is None:  # nothing was evaluated: an interrupt in the first generation
            raise KeyboardInterrupt
        last, chosen = self.history[-1], search.genomes[search.estimated_best()]
        return Outcome(
            algorithm=self.parameters.algorithm,
            parameters=asdict(self.parameters),
            seed=self.seed,
            generations=search.generation,
            evaluations=self.now.evaluations,
            best_known=plan_set(
                self.problem, self.problem.plans(known.genomes), known.generation, known.disclosed
            ),
            estimated_best=plan_set(
                self.problem, self.problem.plans(chosen), search.generation, last.disclosed_best
            ),
            history=history_lists(self.problem, self.history),
            ends=[record.seconds for record in self.history],
            notes=[*self.notes, *self.evaluator.notes],
            best_plan=self._best_plan,
            front=None if self._front is None else front_of(self.problem, self._front),
        )

    def _reason_to_stop(self) -> StopReason | None:
        # Whatever the limits say, one generation is evaluated: without it there is no plan.
        if self.now.evaluations > 0:
            reason = self.limits.reached(
                generation=self.now.search.generation,
                evaluations=self.now.evaluations,
                stalled_for=self.now.stalled_for,
                target_met=self._target_met(),
            )
            if reason is not None:
                return reason
            until, each = self._until, self._expected_seconds()
            # Nodes that are slow to evaluate are slow to count.
            more = max(0.0, ACCOUNT_GENERATIONS * each - self.account) if self.account else 0.0
            if until is not None and time.monotonic() + each + more > until:
                return StopReason.DEADLINE
        return None

    def _target_met(self) -> bool:
        if self.limits.target is None or self.now.best_known is None:
            return False
        disclosed = self.now.best_known.disclosed[0]
        wanted = self.problem.objectives[0].least_fitness(self.limits.target)
        # A bit says that the best improved, and not how good it is.
        return disclosed is not None and not isinstance(disclosed, bool) and disclosed >= wanted

    def _expected_seconds(self) -> float:
        ends = [record.seconds for record in self.history[-TYPICAL_OF - 1 :]]
        lengths = sorted(end - start for start, end in pairwise(ends))
        # One long one may have been a node that was away for a while, and is back.
        return lengths[max(len(lengths) - 2, 0)] if lengths else 0.0

    def _generation_until(self) -> float | None:
        """Return when a generation is given up. Without the first one there is no plan at all."""
        if self._until is None or not self.may_be_late or self.now.best_known is not None:
            return self._until
        return self._until + LATE_SECONDS

    def _one_generation(self) -> None:
        before = self.now
        genomes = self.search.ask(before.search, self._rng)
        plans = self.problem.plans(genomes)
        evaluation = self.evaluator.evaluate(plans, until=self._generation_until())
        state = self.search.tell(before.search, genomes, evaluation.estimates, self._rng)
        best_known, improved = update_best_known(before.best_known, state, evaluation)
        seconds = time.monotonic() - self._begun
        record, actual = record_generation(
            self.problem, state, evaluation, actual=self._actual, seconds=seconds
        )
        # Before the snapshot is replaced: `finish` cuts off what an interrupt left beyond it.
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
        self._view = GenerationView(self, record, state, plans, evaluation, actual)
