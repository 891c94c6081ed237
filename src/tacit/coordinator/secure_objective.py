"""One confidential objective on nodes, as the search sees it: an `ObjectiveEvaluator`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tacit.coordinator.evaluations import Evaluated
from tacit.disclosure import Estimator, linear
from tacit.evaluators.decode import as_evaluation
from tacit.evaluators.objective_evaluator import ObjectiveEvaluation
from tacit.evaluators.pareto import RevealedFront

if TYPE_CHECKING:
    from tacit.coordinator.secure import SecureEngine


class SecureObjective:
    """One confidential objective on nodes; the twin of `SimulatedObjective`."""

    def __init__(
        self, engine: SecureEngine, objective: int, /, *, estimator: Estimator = linear
    ) -> None:
        self._engine, self._objective, self._estimator = engine, objective, estimator
        self._about = engine.agreement.known_problem.objectives[objective]
        self.best_so_far: int | None = None

    @property
    def notes(self) -> list[str]:
        """What whoever reads the result must know of the nodes."""
        return self._engine.notes

    def evaluate(
        self, candidates: NDArray[np.int32], /, *, until: float | None
    ) -> ObjectiveEvaluation:
        """What the nodes disclose, and estimates made from it; raises by the instant `until`."""
        return self.begin(candidates, until=until)()

    def begin(
        self, candidates: NDArray[np.int32], /, *, until: float | None
    ) -> Callable[[], ObjectiveEvaluation]:
        """Start an evaluation; call what is returned to wait for it."""
        work = self._engine.evaluations(self._objective).evaluate(candidates, until=until)
        future = self._engine.submit(work)
        return lambda: self._told(self._engine.wait(future, until=until))

    def _told(self, evaluated: Evaluated) -> ObjectiveEvaluation:
        # First into the ledger: the search makes nothing of an answer that a crash could lose.
        self._engine.ledger.add(evaluated.entry(self._objective))
        best, labels = evaluated.payload.best, np.array(evaluated.payload.labels, dtype=np.int64)
        if best is not None and not isinstance(best, bool):
            self.best_so_far = best if self.best_so_far is None else max(best, self.best_so_far)
        return as_evaluation(labels, best, self._about, self._estimator)

    def count(self, plan: NDArray[np.int32], /, *, until: float | None) -> str:
        """Have the run counted with this plan; the head of the runs that are counted then."""
        work = self._engine.evaluations(self._objective).count(plan, until=until)
        return self._engine.wait(self._engine.submit(work), until=until).head

    def reveal_best(self, candidates: NDArray[np.int32], /, *, until: float | None) -> int:
        """Which of these evaluated candidates is truly best: once, if the agreement allows it."""
        work = self._engine.evaluations(self._objective).reveal_best(candidates, until=until)
        revealed = self._engine.wait(self._engine.submit(work), until=until)
        self._engine.ledger.add(revealed.entry(self._objective))
        return revealed.payload.index

    def reveal_front(
        self, candidates: NDArray[np.int32], /, *, until: float | None
    ) -> RevealedFront:
        """Which of these evaluated candidates are non-dominated: once, if that was agreed."""
        work = self._engine.evaluations(self._objective).reveal_front(candidates, until=until)
        revealed = self._engine.wait(self._engine.submit(work), until=until)
        self._engine.ledger.add(revealed.entry(self._objective))
        return RevealedFront(revealed.payload.nondominated, revealed.payload.values)
