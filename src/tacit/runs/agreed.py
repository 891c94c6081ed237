"""One run from an agreement: no weights here, only nodes that hold them.

The seed follows from the manifests and from what the nodes drew together, the search from the
agreement. A run that was interrupted goes on in its folder, with the same nodes under the same
agreement: from a checkpoint, then from the answers in the ledger, then from the nodes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import msgspec

from tacit.disclosure import estimator_named
from tacit.engine import SideBySide
from tacit.engine.agreement.seed import manifests_digest, search_seed
from tacit.engine.agreement.terms import Agreement
from tacit.engine.coordinator.secure import SecureEngine
from tacit.engine.identity.config import ClusterConfig
from tacit.engine.records.ledger import FileLedger
from tacit.errors import FileError, ParameterError, TacitError
from tacit.problems import Problem
from tacit.runs.checkpoint import load_checkpoint, save_checkpoint
from tacit.runs.ledger_answers import AnsweredObjective, answered, answers_after, revealed
from tacit.runs.limits import Limits, StopReason
from tacit.runs.result import Result
from tacit.runs.run import GenerationView, Observer, Run
from tacit.runs.summarize import summarize
from tacit.search import SearchParameters
from tacit.search.warm_up import warm_up

CHECKPOINT_SECONDS = 3.0
ENTER_SECONDS = 20.0
"""How long nodes may take to be there at the start."""
REVEAL_SECONDS = 0.3
"""What the search leaves of its time for the final reveal, or a tenth of it if that is less."""
LEDGER, CHECKPOINT = "ledger.jsonl", "checkpoint"
REVEALING = "revealing"
"""A file that is there as soon as nodes may have revealed the best plan. They evaluate nothing new
then, so what is left for a run that is taken up is to hear which it was."""


@dataclass(frozen=True, kw_only=True)
class Agreed:
    """What all have agreed on, with their signatures and the manifests of what they sealed."""

    agreement: Agreement
    signatures: Mapping[str, bytes]
    manifests: Mapping[int, Sequence[bytes]]
    """Per objective, in the agreement's order of owners."""


def parameters_of(agreement: Agreement, /) -> SearchParameters:
    """The pinned search.

    >>> from tacit.engine.agreement.terms import PinnedSearch
    >>> from tacit.engine.local.fixtures import example_cast
    >>> search = PinnedSearch("genetic", {"population": 40}, seed=None)
    >>> agreement = msgspec.structs.replace(example_cast().agreement, search=search)
    >>> parameters_of(agreement).population
    40
    """
    settings = {"algorithm": agreement.search.algorithm, **agreement.search.parameters}
    try:
        return msgspec.convert(settings, type=SearchParameters)
    except msgspec.ValidationError as error:
        raise ParameterError(f"the agreed search cannot be run ({error}); agree anew") from None


class AgreedRun:
    """A run under an agreement, with its files in a folder. Use it in a `with` statement.

    Entering it connects to the nodes and takes up what was there; `to_its_limits` then searches.
    """

    def __init__(
        self,
        agreed: Agreed,
        cluster: ClusterConfig,
        folder: Path,
        /,
        *,
        observe: Observer | None = None,
    ) -> None:
        self.agreement, self._agreed, self._folder = agreed.agreement, agreed, folder
        self._observe, self._saved = observe, time.monotonic()
        self.problem: Problem = self.agreement.known_problem
        public = [each.name for each in self.problem.objectives if not each.confidential]
        if public:
            raise ParameterError(f"the weights of {public[0]!r} are public and not here; solve it")
        self.parameters = parameters_of(self.agreement)
        keeps = any(terms.best == "improvement" for terms in self.agreement.objectives)
        self._ledger = FileLedger(folder / LEDGER, sync=keeps)
        self._engine = SecureEngine(self.agreement, cluster, ledger=self._ledger)
        self._set_up_seconds, self._seconds = 0.0, 0.0
        self._best_plan = 0

    def __enter__(self) -> AgreedRun:
        """Connect to the nodes, and go on where the files in the folder end."""
        begun = time.monotonic()
        self._engine.__enter__()
        try:
            words = self._engine.enter(self._agreed.signatures, within=ENTER_SECONDS)
            manifests = self._agreed.manifests
            digests = {k: manifests_digest(manifests[k]) for k in self.agreement.confidential()}
            self.run = self._taken_up(search_seed(self.agreement, digests, words))
            warm_up(self.problem, self.parameters)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        self._set_up_seconds = time.monotonic() - begun
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

    # Taking up.

    def _taken_up(self, seed: int) -> Run:
        there = min(answered(self._folder / LEDGER, self.agreement.confidential()).values())
        run = self._from_checkpoint(seed, there) or self._fresh(seed, answers_from=0)
        # What is answered already takes no time of anybody's deadline.
        if there > run.now.evaluations:
            run.limits = Limits(evaluations=there)
            run.to_its_limits()
        run.observe = self._save_and_observe
        return run

    def _fresh(self, seed: int, *, answers_from: int | None) -> Run:
        path = self._folder / LEDGER
        estimator = estimator_named(self.parameters.estimator)
        objectives = tuple(
            AnsweredObjective(
                self.problem,
                self._engine,
                k,
                estimator=estimator,
                answers=() if answers_from is None else answers_after(path, k, answers_from),
            )
            for k in self.agreement.confidential()
        )
        return Run(
            self.problem, self.parameters, SideBySide(objectives), seed=seed, limits=Limits()
        )

    def _from_checkpoint(self, seed: int, there: int) -> Run | None:
        """From the newest checkpoint that the ledger goes beyond, so that the last is asked anew.

        What it evaluated last may have to be computed again on the nodes, and a checkpoint no
        longer knows those candidates.
        """
        for path in (self._folder / CHECKPOINT, self._previous):
            try:
                probe = self._fresh(seed, answers_from=None)
                load_checkpoint(path, probe)
            except FileError:
                continue
            if probe.now.evaluations < there:
                run = self._fresh(seed, answers_from=probe.now.evaluations)
                run.resume(probe.now, probe.history)
                return run
        return None

    @property
    def _previous(self) -> Path:
        return self._folder / f"{CHECKPOINT}.previous"

    # Running.

    def to_its_limits(self, *, until: float) -> StopReason:
        """Search until the instant `until` of CLOCK_MONOTONIC, or until a limit is reached."""
        started = time.monotonic()
        reveals = self.agreement.reveal_best and len(self.problem.objectives) == 1
        kept = min(REVEAL_SECONDS, 0.1 * (until - started)) if reveals else 0.0
        self.run.limits = Limits(
            evaluations=self.agreement.limits.evaluations,
            deadline=max(until - started - kept, 1e-3),
        )
        if (self._folder / REVEALING).exists():
            used_up = self.run.now.evaluations >= self.agreement.limits.evaluations
            reason = StopReason.EVALUATIONS if used_up else StopReason.DEADLINE
        else:
            reason = self.run.to_its_limits(started=started)
        # Nodes that were away may be back, and a run that goes on must not have revealed.
        if reveals and reason not in (StopReason.INTERRUPTED, StopReason.NODES):
            self._reveal(until)
        self._seconds = time.monotonic() - started
        return reason

    def _reveal(self, until: float) -> None:
        known = self.run.now.best_known
        if known is None:
            return
        told = revealed(self._folder / LEDGER)
        if told is not None:
            self._best_plan = told
            return
        with (self._folder / REVEALING).open("wb") as file:
            os.fsync(file.fileno())
        plans = self.problem.plans(known.genomes)
        try:
            self._best_plan = self.run.evaluator.objectives[0].reveal_best(plans, until=until)
        except TacitError as error:
            self.run.notes.append(f"the truly best plan was not revealed: {error}")

    def plans(self) -> list[list[int]]:
        """The best-known plans, the one to use first; none before the first generation."""
        known = self.run.now.best_known
        if known is None:
            return []
        plans: list[list[int]] = self.problem.plans(known.genomes).tolist()
        return [plans.pop(self._best_plan), *plans]

    def result(self, reason: StopReason, /) -> Result:
        """What came of it; the weights are not here, so no actual values."""
        return summarize(
            self.run,
            reason,
            engine="nodes",
            optimum=None,
            seconds=self._seconds,
            set_up_seconds=self._set_up_seconds,
            best_plan=self._best_plan,
        )

    def save(self) -> None:
        """Write a checkpoint, never ahead of the ledger on the disk."""
        self._saved = time.monotonic()
        self._ledger.sync()
        current = self._folder / CHECKPOINT
        if current.exists():
            current.replace(self._previous)
        save_checkpoint(self.run, current)

    def _save_and_observe(self, view: GenerationView) -> None:
        if time.monotonic() - self._saved >= CHECKPOINT_SECONDS:
            self.save()
        if self._observe is not None:
            self._observe(view)
