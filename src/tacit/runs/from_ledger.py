"""A run once more from its ledger alone, without nodes: all that its platform has seen.

The search is a function of the agreement, its seed and what was told. So whoever has these can
compute every candidate again.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tacit.disclosure import Estimator, estimator_named
from tacit.engine import SideBySide
from tacit.engine.agreement.draft import problem_of
from tacit.engine.agreement.terms import Agreement
from tacit.engine.evaluators.objective_evaluator import ObjectiveEvaluation
from tacit.engine.records.ledger import EvaluationAnswer
from tacit.errors import LogError
from tacit.problems import Problem
from tacit.runs.agreed import parameters_of
from tacit.runs.ledger_answers import answered, answers_after, told_in_ledger
from tacit.runs.limits import Limits
from tacit.runs.run import Observer, Run


class LedgerObjective:
    """One objective of which a ledger has the answers, and nobody else can be asked."""

    def __init__(
        self,
        agreement: Agreement,
        problem: Problem,
        objective: int,
        /,
        *,
        estimator: Estimator,
        answers: Iterable[EvaluationAnswer],
    ) -> None:
        self._agreement, self._problem, self._objective = agreement, problem, objective
        self._estimator, self._answers = estimator, iter(answers)
        self.best_so_far: int | None = None

    def evaluate(
        self,
        candidates: NDArray[np.int32],
        /,
        *,
        until: float | None,  # noqa: ARG002
    ) -> ObjectiveEvaluation:
        """What the nodes told then."""
        entry = next(self._answers, None)
        if entry is None:
            raise LogError("the ledger has no more answers; give the whole one")
        return told_in_ledger(
            entry,
            candidates,
            self._agreement,
            self._problem,
            self._objective,
            estimator=self._estimator,
        )

    def reveal_best(self, candidates: NDArray[np.int32], /, *, until: float | None) -> int:  # noqa: ARG002
        """Nobody can be asked."""
        raise LogError("a ledger cannot be asked for the best plan; read its reveal")


def run_from_ledger(
    agreement: Agreement, ledger: Path, /, *, seed: int, observe: Observer | None = None
) -> Run:
    """Search once more as far as the ledger goes; `observe` sees every generation.

    >>> from tacit.engine.local.fixtures import example_cast
    >>> run_from_ledger(example_cast().agreement, Path("no-such.jsonl"), seed=1)
    Traceback (most recent call last):
    tacit.errors.LogError: no-such.jsonl has no answers; give the ledger of a run that has begun
    """
    there = min(answered(ledger, agreement.confidential()).values())
    if not there:
        raise LogError(f"{ledger} has no answers; give the ledger of a run that has begun")
    problem, parameters = problem_of(agreement), parameters_of(agreement)
    estimator = estimator_named(parameters.estimator)
    objectives = tuple(
        LedgerObjective(
            agreement, problem, k, estimator=estimator, answers=answers_after(ledger, k, 0)
        )
        for k in agreement.confidential()
    )
    limits = Limits(evaluations=there)
    run = Run(
        problem, parameters, SideBySide(objectives), seed=seed, limits=limits, observe=observe
    )
    run.to_its_limits()
    return run
