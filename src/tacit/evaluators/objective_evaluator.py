"""Evaluating one objective, and several side by side.

Each objective has an engine instance of its own, since each has its own owners and its own
disclosure. The search sees them as one `Evaluator`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from tacit.problems import Evaluation


@dataclass(frozen=True, eq=False)
class ObjectiveEvaluation:
    """What one objective gives back for one set of candidates."""

    estimates: NDArray[np.float64]
    disclosed: NDArray[Any]
    best: int | bool | None


class ObjectiveEvaluator(Protocol):
    """Evaluates one objective. `best_so_far` is what a resumed run has to restore."""

    best_so_far: int | None

    def evaluate(
        self, candidates: NDArray[np.int32], /, *, until: float | None
    ) -> ObjectiveEvaluation:
        """Evaluate plans, one per row, and give up at the instant `until`."""
        ...

    def reveal_best(self, candidates: NDArray[np.int32], /, *, until: float | None) -> int:
        """Which of these plans, all evaluated before, is truly best; the first of equals."""
        ...


@runtime_checkable
class StartsEarly(Protocol):
    """An objective whose evaluation goes on elsewhere while others are begun."""

    def begin(
        self, candidates: NDArray[np.int32], /, *, until: float | None
    ) -> Callable[[], ObjectiveEvaluation]:
        """Start an evaluation; call what is returned to wait for it."""
        ...


class SideBySide:
    """One evaluator made of one per objective."""

    def __init__(self, objectives: tuple[ObjectiveEvaluator, ...], /) -> None:
        self.objectives = objectives
        # Asked once: to ask a protocol takes longer than to evaluate a few candidates.
        self._early = [each if isinstance(each, StartsEarly) else None for each in objectives]

    def evaluate(self, candidates: NDArray[np.int32], /, *, until: float | None) -> Evaluation:
        """Evaluate every objective on the same candidates."""
        started = [
            each.begin(candidates, until=until) if each is not None else None
            for each in self._early
        ]
        evaluations = [
            wait() if wait is not None else objective.evaluate(candidates, until=until)
            for objective, wait in zip(self.objectives, started, strict=True)
        ]
        return Evaluation(
            estimates=np.stack([each.estimates for each in evaluations], axis=1),
            disclosed=tuple(each.disclosed for each in evaluations),
            best=tuple(each.best for each in evaluations),
        )

    @property
    def notes(self) -> list[str]:
        """What whoever reads the result must know of the nodes, where there are any."""
        said = (note for each in self.objectives for note in getattr(each, "notes", ()))
        return list(dict.fromkeys(said))

    @property
    def best_so_far(self) -> tuple[int | None, ...]:
        """What each objective needs to go on where it stopped."""
        return tuple(objective.best_so_far for objective in self.objectives)

    def restore(self, best_so_far: tuple[int | None, ...], /) -> None:
        """Go on where an earlier run stopped."""
        for objective, best in zip(self.objectives, best_so_far, strict=True):
            objective.best_so_far = best
