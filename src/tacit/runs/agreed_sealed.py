"""A sealed run from an agreement: the nodes search, and tell its plans when they are opened.

Nothing of it is kept here but the ledger. A run that was interrupted goes on from the states that
the nodes keep, with the generations that were begun as they were, under the same agreement.
"""

from __future__ import annotations

import time
from pathlib import Path
from types import TracebackType

from tacit.engine.agreement.sealed_terms import sealed_terms
from tacit.engine.coordinator.secure import SecureEngine
from tacit.engine.identity.config import ClusterConfig
from tacit.engine.records.ledger import FileLedger
from tacit.problems import Problem
from tacit.runs.agreed import ENTER_SECONDS, LEDGER, Agreed
from tacit.runs.limits import Limits
from tacit.runs.sealed import run_searches
from tacit.runs.sealed_loop import SealedObserver, SealedRun
from tacit.runs.summarize import told_to_user

OPEN_SECONDS = 0.2
"""What the searches leave of their time, besides what each reserves for its opening, or a tenth of
it if that is less: whoever is late has no plan at all."""


class AgreedSealedRun:
    """A sealed run under an agreement. Use it in a `with` statement.

    Entering it connects to the nodes and has them draw the secret starts, or takes them up where
    they are; `to_its_limits` then searches and opens.
    """

    def __init__(
        self,
        agreed: Agreed,
        cluster: ClusterConfig,
        folder: Path,
        /,
        *,
        observe: SealedObserver | None = None,
    ) -> None:
        self.agreement, self._agreed, self._observe = agreed.agreement, agreed, observe
        self.problem: Problem = self.agreement.known_problem
        self._ledger = FileLedger(folder / LEDGER, sync=True)
        self._engine = SecureEngine(self.agreement, cluster, ledger=self._ledger)
        count = len(sealed_terms(self.agreement).weightings)
        self._searches = [self._engine.sealed(k) for k in range(count)]

    def __enter__(self) -> AgreedSealedRun:
        """Connect to the nodes, and see that every search has begun."""
        self._engine.__enter__()
        try:
            self._engine.enter(self._agreed.signatures, within=ENTER_SECONDS)
            until = time.monotonic() + ENTER_SECONDS
            for search in self._searches:
                search.start(until=until)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave the nodes."""
        self._engine.__exit__(kind, error, trace)
        self._ledger.close()

    @property
    def generation(self) -> int:
        """How many generations all searches together have done."""
        return sum(search.generation for search in self._searches)

    def to_its_limits(self, *, until: float) -> list[SealedRun]:
        """Search and open every plan by the instant `until` of CLOCK_MONOTONIC."""
        started = time.monotonic()
        left = until - started
        limits = Limits(
            generations=self.agreement.limits.evaluations,
            deadline=max(left - min(OPEN_SECONDS, 0.1 * left), 1e-3),
        )
        return run_searches(self._searches, limits, started=started, observe=self._observe)

    def told(self, runs: list[SealedRun], /) -> list[float | bool | None]:
        """The value of the plan in the users' unit, where it is agreed that it is told.

        A value of several objectives together has no unit; the ledger has it.
        """
        count = len(self.problem.objectives)
        value = runs[-1].opened.value if count == 1 else None
        return told_to_user(self.problem, (value,) * count)
