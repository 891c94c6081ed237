"""Going on with a run from its ledger: what the nodes have answered is not asked again.

An answer is in the ledger before the search makes anything of it. So whatever ended a run, at most
one evaluation per objective was asked for without its answer being here; that one is asked for
again under its number, which counts once and tells the same.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from tacit.disclosure import Estimator
from tacit.engine.agreement.terms import Agreement
from tacit.engine.coordinator.secure import SecureEngine, SecureObjective
from tacit.engine.evaluators.decode import as_evaluation
from tacit.engine.evaluators.objective_evaluator import ObjectiveEvaluation
from tacit.engine.records.ledger import EvaluationAnswer, RevealedBest, decode_entry
from tacit.engine.wire.request import REVEAL_NUMBER, pack_candidates, request_hash
from tacit.errors import LogError
from tacit.problems import Problem


class AnsweredObjective:
    """One objective on three nodes, of which the ledger knows the first answers."""

    def __init__(
        self,
        problem: Problem,
        engine: SecureEngine,
        objective: int,
        /,
        *,
        estimator: Estimator,
        answers: Iterable[EvaluationAnswer],
    ) -> None:
        self._problem, self._engine, self._objective = problem, engine, objective
        self._estimator = estimator
        self._answers = deque(answers)
        self._on_nodes = SecureObjective(engine, objective, estimator=estimator)
        self._last: tuple[int, NDArray[np.int32]] = (0, np.empty((0, 0), dtype=np.int32))
        self._asks_nodes = False

    @property
    def best_so_far(self) -> int | None:
        """The highest value told."""
        return self._on_nodes.best_so_far

    @best_so_far.setter
    def best_so_far(self, best: int | None) -> None:
        self._on_nodes.best_so_far = best

    def evaluate(
        self, candidates: NDArray[np.int32], /, *, until: float | None
    ) -> ObjectiveEvaluation:
        """What the nodes told, or tell."""
        return self.begin(candidates, until=until)()

    def begin(
        self, candidates: NDArray[np.int32], /, *, until: float | None
    ) -> Callable[[], ObjectiveEvaluation]:
        """Start an evaluation, unless its answer is here; call what is returned to wait for it."""
        if self._answers:
            told = self._from_ledger(self._answers.popleft(), candidates)
            return lambda: told
        self._turn_to_nodes()
        return self._on_nodes.begin(candidates, until=until)

    def reveal_best(self, candidates: NDArray[np.int32], /, *, until: float | None) -> int:
        """Which of these evaluated candidates is truly best: once, if the agreement allows it."""
        self._turn_to_nodes()
        return self._on_nodes.reveal_best(candidates, until=until)

    def _turn_to_nodes(self) -> None:
        if not self._asks_nodes:
            self._asks_nodes = True
            self._engine.evaluations(self._objective).go_on_after(*self._last)

    def _from_ledger(
        self, entry: EvaluationAnswer, candidates: NDArray[np.int32]
    ) -> ObjectiveEvaluation:
        told = told_in_ledger(
            entry,
            candidates,
            self._engine.agreement,
            self._problem,
            self._objective,
            estimator=self._estimator,
        )
        self._last = (entry.number, candidates)
        best = entry.best
        if best is not None and not isinstance(best, bool):
            self.best_so_far = max(best, self.best_so_far if self.best_so_far is not None else best)
        return told


def told_in_ledger(
    entry: EvaluationAnswer,
    candidates: NDArray[np.int32],
    agreement: Agreement,
    problem: Problem,
    objective: int,
    /,
    *,
    estimator: Estimator,
) -> ObjectiveEvaluation:
    """What an entry tells of these candidates, or a `LogError` if it is about others."""
    terms, asked = agreement.objectives[objective], problem.objectives[objective]
    packed = pack_candidates(agreement.problem, candidates)
    if request_hash("evaluate", terms.disclosure, terms.best, packed).hex() != entry.request:
        raise LogError(
            f"evaluation {entry.number} of the ledger is not what the agreed search asks for; "
            "the files of this run are damaged, so start a new one"
        )
    return as_evaluation(
        np.array(entry.disclosed, dtype=np.int64),
        entry.best,
        disclosure=asked.disclosure,
        best_mode=asked.best_mode,
        estimator=estimator,
    )


class _Brief(msgspec.Struct, frozen=True):
    """Of an entry, whose it is; those of the first version have no tag."""

    objective: int
    number: int = REVEAL_NUMBER
    again: bool = False
    entry: str = "answer"

    @property
    def is_answer(self) -> bool:
        """Whether the search made something of it."""
        return self.entry == "answer" and self.number != REVEAL_NUMBER and not self.again


def answered(path: Path, objectives: Iterable[int], /) -> dict[int, int]:
    """How many evaluations of each objective a ledger has answers to.

    >>> answered(Path("no-such.jsonl"), [0])
    {0: 0}
    """
    counts = dict.fromkeys(objectives, 0)
    for line in _whole_lines(path):
        brief = msgspec.json.decode(line, type=_Brief)
        if brief.is_answer:
            counts[brief.objective] += 1
    return counts


def revealed(path: Path, /) -> int | None:
    """Which plan the final reveal told to be truly best, if there was one.

    >>> revealed(Path("no-such.jsonl")) is None
    True
    """
    for line in _whole_lines(path):
        if msgspec.json.decode(line, type=_Brief).number == REVEAL_NUMBER:
            entry = decode_entry(line, sealed=False)
            if isinstance(entry, RevealedBest):
                return entry.index
    return None


def answers_after(path: Path, objective: int, skip: int, /) -> Iterable[EvaluationAnswer]:
    """The answers of an objective after the first so many, as they are needed.

    >>> list(answers_after(Path("no-such.jsonl"), 0, 3))
    []
    """
    for line in _whole_lines(path):
        brief = msgspec.json.decode(line, type=_Brief)
        if brief.objective != objective or not brief.is_answer:
            continue
        if skip > 0:
            skip -= 1
        else:
            entry = decode_entry(line, sealed=False)
            if isinstance(entry, EvaluationAnswer):
                yield entry


def _whole_lines(path: Path) -> Iterator[bytes]:
    """None where there is no file; half a line is what a crash leaves."""
    if path.exists():
        with path.open("rb") as file:
            yield from (line for line in file if line.endswith(b"\n"))
