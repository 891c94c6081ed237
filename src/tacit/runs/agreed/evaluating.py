"""A search that evaluates candidates under an agreement, resumed from the files in its folder.

First comes a checkpoint, then the answers in the ledger, then the nodes.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tacit.engine.coordinator import SecureEngine
from tacit.engine.evaluators import RevealedFront
from tacit.engine.records import FileLedger, FrontAnswer, RevealedBest
from tacit.errors import FileError
from tacit.problems import Problem
from tacit.runs.agreed.agreed import LEDGER
from tacit.runs.agreed.ledger import answered, objectives_from, revealed
from tacit.runs.driver import drive
from tacit.runs.evaluating.checkpoint import load_checkpoint, save_checkpoint
from tacit.runs.evaluating.driver import EvaluatingDriver
from tacit.runs.limits import Limits, StopReason
from tacit.search import SearchParameters

CHECKPOINT_SECONDS = 3.0
CHECKPOINTS = ("checkpoint", "checkpoint.previous")
REVEALING = "revealing"
"""A file that is there as soon as nodes may have revealed the best plan. They evaluate nothing new
then, so what is left for a run that is resumed is to hear which it was."""


@dataclass(eq=False, kw_only=True)
class AgreedEvaluating(EvaluatingDriver):
    """Saves itself every few seconds, and reveals once."""

    folder: Path
    ledger: FileLedger
    can_resume = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self._saved = time.monotonic()

    def advance(self) -> StopReason | None:
        """Evaluate one generation, unless the reveal has begun."""
        if self.reveals and (self.folder / REVEALING).exists():
            used_up = self.limits.reached(
                generation=0, evaluations=self.now.evaluations, stalled_for=0, target_met=False
            )
            return used_up or StopReason.DEADLINE
        return super().advance()

    def reveal(self, plans: NDArray[np.int32], /, *, until: float | None) -> int:
        """What the ledger says, or the nodes tell: once."""
        known = revealed(self.folder / LEDGER)
        if isinstance(known, RevealedBest):
            return known.index
        self._mark_revealing()
        return super().reveal(plans, until=until)

    def reveal_front(self, plans: NDArray[np.int32], /, *, until: float | None) -> RevealedFront:
        """What the ledger says, or the nodes tell: once."""
        known = revealed(self.folder / LEDGER)
        if isinstance(known, FrontAnswer):
            return RevealedFront(known.nondominated, known.values)
        self._mark_revealing()
        return super().reveal_front(plans, until=until)

    def _mark_revealing(self) -> None:
        with (self.folder / REVEALING).open("wb") as file:
            os.fsync(file.fileno())

    def is_checkpoint_due(self) -> bool:
        """Whether some seconds are over."""
        return time.monotonic() - self._saved >= CHECKPOINT_SECONDS

    def checkpoint(self) -> None:
        """Write a checkpoint, never ahead of the ledger on the disk."""
        self._saved = time.monotonic()
        self.ledger.sync()
        current, previous = (self.folder / name for name in CHECKPOINTS)
        if current.exists():
            current.replace(previous)
        save_checkpoint(self, current)


def resumed(
    problem: Problem,
    parameters: SearchParameters,
    engine: SecureEngine,
    folder: Path,
    ledger: FileLedger,
    /,
    *,
    seed: int,
) -> AgreedEvaluating:
    """The search as far as the files go; what is answered takes no time of anybody's deadline."""
    agreement = engine.agreement

    def fresh(skip: int) -> AgreedEvaluating:
        evaluator = objectives_from(
            agreement,
            problem,
            folder / LEDGER,
            estimator=parameters.estimator,
            skip=skip,
            engine=engine,
        )
        return AgreedEvaluating(
            problem,
            parameters,
            evaluator,
            seed=seed,
            limits=Limits(evaluations=agreement.limits.evaluations),
            reveals=agreement.final_reveal is not None
            and (agreement.together or len(problem.objectives) == 1),
            engine="nodes",
            folder=folder,
            ledger=ledger,
        )

    there = min(answered(folder / LEDGER, agreement.evaluated()).values())
    driver: AgreedEvaluating | None = None
    # The newest checkpoint that the ledger goes beyond, so that the last is asked anew: what it
    # evaluated last may have to be computed again on the nodes, and a checkpoint no longer knows
    # those candidates.
    for name in CHECKPOINTS:
        probe = fresh(there)
        try:
            load_checkpoint(folder / name, probe)
        except FileError:
            continue
        if probe.now.evaluations < there:
            driver = fresh(probe.now.evaluations)
            driver.resume(probe.now, probe.history)
            break
    driver = driver or fresh(0)
    search_up_to(driver, there)
    return driver


def search_up_to(driver: EvaluatingDriver, evaluations: int, /) -> None:
    """Search without a clock until so many evaluations are done, and reveal nothing."""
    if evaluations <= driver.now.evaluations:
        return
    limits, reveals = driver.limits, driver.reveals
    driver.limits, driver.reveals = Limits(evaluations=evaluations), False
    drive(driver)
    driver.limits, driver.reveals = limits, reveals
