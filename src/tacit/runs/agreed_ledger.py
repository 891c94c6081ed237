"""Repeat a search from its ledger, so that nodes are not asked again for what they have answered.

The search is a function of the agreement, its seed and what was disclosed. With these every
candidate can be computed again: to continue a run, or to see all that its platform has seen.

An answer is in the ledger before the search makes anything of it. So whatever ended a run, at most
one evaluation per objective was asked for without its answer being here; that one is asked for
again under its number, which counts once and discloses the same.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from tacit.agreement import Agreement
from tacit.coordinator import SecureEngine, SecureObjective
from tacit.derived import agreed_parameters, with_public_weights
from tacit.disclosure import Estimator, estimator_named
from tacit.errors import LogError
from tacit.evaluators import (
    ClearObjective,
    ObjectiveEvaluation,
    ObjectiveEvaluator,
    ParetoObjectives,
    RevealedFront,
    SeparateObjectives,
    as_evaluation,
)
from tacit.problems import Problem
from tacit.records import (
    Disclosed,
    DisclosedBest,
    DisclosedFront,
    DisclosedLabels,
    DisclosureKind,
    decode_entry,
    pack_candidates,
    request_hash,
)
from tacit.runs.driver import Observer, drive
from tacit.runs.evaluating import EvaluatingDriver
from tacit.runs.limits import Limits


class LedgerObjective:
    """One objective whose first answers a ledger has; nodes, if there are any, give others."""

    def __init__(
        self,
        agreement: Agreement,
        problem: Problem,
        objective: int,
        /,
        *,
        estimator: Estimator,
        answers: Iterable[Disclosed],
        engine: SecureEngine | None = None,
    ) -> None:
        self._agreement, self._problem, self._objective = agreement, problem, objective
        self._estimator, self._answers, self._engine = estimator, deque(answers), engine
        self._nodes: SecureObjective | None = None
        self._last: tuple[int, NDArray[np.int32]] = (0, np.empty((0, 0), dtype=np.int32))
        self.best_so_far: int | None = None

    @property
    def notes(self) -> list[str]:
        return [] if self._nodes is None else self._nodes.notes

    def evaluate(
        self, candidates: NDArray[np.int32], /, *, until: float | None
    ) -> ObjectiveEvaluation:
        return self.begin(candidates, until=until)()

    def begin(
        self, candidates: NDArray[np.int32], /, *, until: float | None
    ) -> Callable[[], ObjectiveEvaluation]:
        """Start an evaluation, unless its answer is here; call what is returned to wait for it."""
        if self._answers:
            disclosed = self._from_ledger(self._answers.popleft(), candidates)
            return lambda: disclosed
        wait = self._on_nodes().begin(candidates, until=until)
        return lambda: self._noted(wait())

    def count(self, plan: NDArray[np.int32], /, *, until: float | None) -> str:
        """Have the run counted for the balances of its series with this plan."""
        return self._on_nodes().count(plan, until=until)

    def reveal_best(self, candidates: NDArray[np.int32], /, *, until: float | None) -> int:
        """Reveal which of these candidates is truly best: once, if the agreement allows it."""
        return self._on_nodes().reveal_best(candidates, until=until)

    def reveal_front(
        self, candidates: NDArray[np.int32], /, *, until: float | None
    ) -> RevealedFront:
        """Reveal which of these candidates are non-dominated: once, if that was agreed."""
        return self._on_nodes().reveal_front(candidates, until=until)

    def _on_nodes(self) -> SecureObjective:
        if self._nodes is None:
            if self._engine is None:
                raise LogError("the ledger has no more answers; give the whole one")
            # Nodes count evaluations, and may have to compute the last one again.
            self._engine.evaluations(self._objective).go_on_after(*self._last)
            self._nodes = SecureObjective(self._engine, self._objective, estimator=self._estimator)
        return self._nodes

    def _from_ledger(self, entry: Disclosed, candidates: NDArray[np.int32]) -> ObjectiveEvaluation:
        """Read what an entry discloses of these candidates; a `LogError` if it is about others."""
        assert isinstance(entry.payload, DisclosedLabels)
        k, objective = self._objective, self._problem.objectives[self._objective]
        terms = self._agreement.objectives[k]
        packed = pack_candidates(self._agreement.known_problem, candidates)
        # Labels read for other candidates would lead the search elsewhere without an error.
        if request_hash("evaluate", terms.disclosure, terms.best, packed).hex() != entry.request:
            raise LogError(
                f"evaluation {entry.number} of the ledger is not what the agreed search asks for; "
                "the files of this run are damaged, so start a new one"
            )
        # What was evaluated last may have to be computed again on the nodes, from its candidates.
        self._last = (entry.number, candidates)
        labels = np.array(entry.payload.labels, dtype=np.int64)
        return self._noted(as_evaluation(labels, entry.payload.best, objective, self._estimator))

    def _noted(self, evaluation: ObjectiveEvaluation) -> ObjectiveEvaluation:
        best, before = evaluation.best, self.best_so_far
        if best is not None and not isinstance(best, bool):
            self.best_so_far = best if before is None else max(best, before)
        return evaluation


def objectives_from(
    agreement: Agreement,
    problem: Problem,
    ledger: Path,
    /,
    *,
    estimator: str,
    skip: int = 0,
    engine: SecureEngine | None = None,
) -> SeparateObjectives:
    """Return evaluators that answer from the ledger after `skip` answers, then ask the nodes."""

    def on_ledger(objective: int) -> LedgerObjective:
        return LedgerObjective(
            agreement,
            problem,
            objective,
            estimator=estimator_named(estimator),
            answers=answers_after(ledger, objective, skip),
            engine=engine,
        )

    if agreement.together:
        # What is evaluated together has one answer, under the number of the first objective.
        return ParetoObjectives(on_ledger(0), len(problem.objectives))
    evaluators: list[ObjectiveEvaluator] = [
        on_ledger(k) if terms.confidential else ClearObjective(problem, k)
        for k, terms in enumerate(agreement.objectives)
    ]
    return SeparateObjectives(tuple(evaluators))


def run_from_ledger(
    agreement: Agreement,
    ledger: Path,
    /,
    *,
    seed: int,
    observe: Observer | None = None,
    public: Mapping[int, NDArray[np.int64]] | None = None,
) -> EvaluatingDriver:
    """Search once more as far as the ledger goes, without nodes.

    `public` has the weights of public objectives.
    """
    # An evaluation is complete once every objective has its answer.
    answers = min(answered(ledger, agreement.evaluated()).values())
    if not answers:
        raise LogError(f"{ledger} has no answers; give the ledger of a run that has begun")
    problem, parameters = (
        with_public_weights(agreement, public or {}),
        agreed_parameters(agreement),
    )
    evaluator = objectives_from(agreement, problem, ledger, estimator=parameters.estimator)
    limits = Limits(evaluations=answers)
    driver = EvaluatingDriver(problem, parameters, evaluator, seed=seed, limits=limits)
    drive(driver, observe=observe)
    return driver


class _BriefPayload(msgspec.Struct, frozen=True):
    """Of a payload, its kind."""

    kind: DisclosureKind


class _Brief(msgspec.Struct, frozen=True):
    """Of an entry, what it is about; the rest of a long line is skipped."""

    about: int
    payload: _BriefPayload
    again: bool = False

    @property
    def is_answer(self) -> bool:
        """Whether it is an answer that the search went on from."""
        return self.payload.kind is DisclosureKind.LABELS and not self.again


_READ_BRIEF = msgspec.json.Decoder(_Brief)


def answered(path: Path, objectives: Iterable[int], /) -> dict[int, int]:
    """Count the evaluations of each objective a ledger has answers to.

    >>> answered(Path("no-such.jsonl"), [0])
    {0: 0}
    """
    counts = dict.fromkeys(objectives, 0)
    for line in _whole_lines(path):
        brief = _READ_BRIEF.decode(line)
        if brief.is_answer:
            counts[brief.about] += 1
    return counts


def revealed(path: Path, /) -> DisclosedBest | DisclosedFront | None:
    """Return what the final reveal disclosed, or None without one."""
    for line in _whole_lines(path):
        if _READ_BRIEF.decode(line).payload.kind is not DisclosureKind.LABELS:
            payload = decode_entry(line).payload
            if isinstance(payload, DisclosedBest | DisclosedFront):
                return payload
    return None


def answers_after(path: Path, objective: int, skip: int, /) -> Iterable[Disclosed]:
    """The answers of an objective after the first so many, as they are needed."""
    for line in _whole_lines(path):
        brief = _READ_BRIEF.decode(line)
        if brief.about != objective or not brief.is_answer:
            continue
        if skip > 0:
            skip -= 1
        else:
            yield decode_entry(line)


def _whole_lines(path: Path) -> Iterator[bytes]:
    """None where there is no file; half a line is what a crash leaves."""
    if path.exists():
        with path.open("rb") as file:
            yield from (line for line in file if line.endswith(b"\n"))
