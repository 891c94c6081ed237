"""Recording a run in progress: an observer that keeps the platform's view of it."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np

from tacit.audit.record.record import Record, RecordedObjective, RecordedProblem
from tacit.errors import ParameterError
from tacit.problems import Problem, public_problem

if TYPE_CHECKING:
    from tacit.runs import GenerationView, Progress

LARGEST_SEED = 2**64
"""Seeds are kept in 64 bits, which is more than agreements have; others are left out."""


class Recorder:
    """Observes a run (`solve(..., observe=recorder)`) and makes its record.

    >>> from tacit.problems import generate_assignment
    >>> from tacit.runs import Limits, solve
    >>> recorder = Recorder()
    >>> result = solve(generate_assignment(1, rows=8), disclose="top:15", seed=1,
    ...                limits=Limits(generations=4), engine="simulated", observe=recorder)
    >>> record = recorder.record(result.plan)
    >>> record.sizes, record.plan_array().shape
    ([300, 300, 300, 300, 300], (1500, 8))
    """

    def __init__(self) -> None:
        self._problem: Problem | None = None
        self._search: dict[str, bool | int | str] = {}
        self._seed: int | None = None
        self._sizes: list[int] = []
        self._plans = _Deflating()
        self._disclosed: dict[int, _Deflating] = {}
        self._best: dict[int, list[int | bool | None]] = {}

    def __call__(self, progress: Progress) -> None:
        """Keep one evaluation, if there was one."""
        view = progress.evaluated
        if view is None:
            return
        if self._problem is None:
            self._begin(view)
        self._sizes.append(len(view.plans))
        self._plans.add(np.ascontiguousarray(view.plans, dtype="<u2").tobytes())
        for k, disclosed in self._disclosed.items():
            values = np.ascontiguousarray(view.evaluation.disclosed[k], dtype="<i8")
            disclosed.add(values.tobytes())
            self._best[k].append(view.evaluation.best[k])

    def _begin(self, view: GenerationView) -> None:
        if view.record.generation != 0:
            raise ParameterError(
                "a record holds a run from its beginning, and this one resumes from a checkpoint; "
                "record it from the start"
            )
        problem = self._problem = view.driver.problem
        self._search = asdict(view.driver.parameters)
        self._seed = view.driver.seed if view.driver.seed < LARGEST_SEED else None
        hidden = [k for k, each in enumerate(problem.objectives) if each.confidential]
        if not hidden:
            raise ParameterError("nothing of this problem is confidential, so nothing can leak")
        self._disclosed = {k: _Deflating() for k in hidden}
        self._best = {k: [] for k in hidden}

    def record(self, published: Sequence[int], /) -> Record:
        """What was recorded; `published` is the resulting plan."""
        if self._problem is None:
            raise ParameterError("nothing was evaluated, so there is nothing to record")
        problem = self._problem
        objectives = [
            RecordedObjective(
                name=problem.objectives[k].name,
                sense=problem.objectives[k].sense,
                weight_bound=problem.objectives[k].weight_bound,
                disclosure=problem.objectives[k].disclosure.text,
                best=problem.objectives[k].best_mode.value,
                disclosed_best=list(self._best[k]),
                disclosed=disclosed.whole(),
                scale=problem.objectives[k].scale,
            )
            for k, disclosed in self._disclosed.items()
        ]
        return Record(
            problem=recorded_problem(problem),
            objectives=objectives,
            search=dict(self._search),
            sizes=list(self._sizes),
            plans=self._plans.whole(),
            published=[int(column) for column in published],
            seed=self._seed,
        )


def recorded_problem(problem: Problem, /) -> RecordedProblem:
    """The public part of a problem."""
    public = public_problem(problem)
    weights = [each.weights for each in problem.objectives if each.confidential]
    return RecordedProblem(
        name=problem.name,
        kind=problem.kind,
        rows=problem.rows,
        columns=problem.columns,
        # Where the weights are with their participants, the stronger assumption is the attacker's.
        symmetric=problem.between_places
        and problem.symmetric is not False
        and all(each is None or np.array_equal(each, each.T) for each in weights),
        forbidden=public.forbidden,
        owners=[(each.name, list(each.rows)) for each in problem.participants],
        row_names=None if problem.row_names is None else list(problem.row_names),
        column_names=None if problem.column_names is None else list(problem.column_names),
        version=public.version,
        data=public.data,
    )


class _Deflating:
    """Bytes deflated as they arrive; what repeats in the next generation costs little."""

    def __init__(self) -> None:
        self._deflate = zlib.compressobj(6)
        self._chunks: list[bytes] = []

    def add(self, content: bytes) -> None:
        self._chunks.append(self._deflate.compress(content))

    def whole(self) -> bytes:
        return b"".join(self._chunks) + self._deflate.copy().flush()
