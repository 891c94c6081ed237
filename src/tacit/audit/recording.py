"""Record a run in progress, a sealed run by its plans, or an agreed run from its audit bundle."""

from __future__ import annotations

import tempfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tacit.agreement import Agreement, search_seed
from tacit.audit.record import Record, RecordedObjective, RecordedProblem, deflated
from tacit.disclosure import SEALED
from tacit.errors import InputError, ParameterError
from tacit.problems import Problem, public_problem
from tacit.records import (
    Disclosed,
    DisclosedPlan,
    Log,
    frozen_inputs,
    read_ledger,
)
from tacit.runs import LEDGER, Result, run_from_ledger

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
        # Compressed at once: a long run has hundreds of thousands of candidates.
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
        """Return the record of what was observed; `published` is the resulting plan."""
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
        # A copy is flushed, so that the run can go on after a record was made of its beginning.
        return b"".join(self._chunks) + self._deflate.copy().flush()


def sealed_record(problem: Problem, result: Result, /, *, for_owners: bool = False) -> Record:
    """Return the platform's view of a sealed run; `problem` as it was solved, with its disclosures.

    Of plans `for_owners` it saw none, though `result` has them where all owners are together.
    """
    if result.algorithm != SEALED:
        raise ParameterError("this run was not sealed; record it with a Recorder")
    settings = {
        name: value
        for name, value in result.parameters.items()
        if isinstance(value, (bool, int, str))
    }
    return record_of_plans(
        problem,
        [] if for_owners else result.best_known.plans,
        search={"algorithm": SEALED, **settings},
        value=result.best_known.disclosed[0],
    )


def record_of_result(
    problem: Problem, result: Result, recorder: Recorder, /, *, for_owners: bool = False
) -> Record:
    """Return the platform's view of a run that `recorder` observed."""
    if result.algorithm == SEALED:
        return sealed_record(problem, result, for_owners=for_owners)
    return recorder.record(result.plan)


def record_of_plans(
    problem: Problem,
    plans: Sequence[Sequence[int]],
    /,
    *,
    search: dict[str, bool | int | str],
    value: float | bool | None = None,
) -> Record:
    """A record from what a sealed search opened: its plans and, where that was agreed, a value."""
    nothing = deflated(np.empty(0), "<u2")
    objectives = []
    for each in problem.objectives:
        disclosed: list[int | bool | None] = []
        if each.best_mode.value == "value" and value is not None:
            disclosed = [each.sign * round(value * each.scale)]
        objectives.append(
            RecordedObjective(
                name=each.name,
                sense=each.sense,
                weight_bound=each.weight_bound,
                disclosure=SEALED,
                best=each.best_mode.value,
                disclosed_best=disclosed,
                disclosed=nothing,
                scale=each.scale,
            )
        )
    first, *others = [[int(column) for column in plan] for plan in plans] or [[]]
    return Record(
        problem=recorded_problem(problem),
        objectives=objectives,
        search=search,
        sizes=[],
        plans=nothing,
        published=first,
        published_too=others,
    )


NO_PLAN = "this run has found no plan, so there is nothing to audit; give one that has"


def record_of_agreed(
    agreement: Agreement,
    log: Log,
    ledger: bytes,
    plan: Sequence[int] | None,
    /,
    *,
    public: Mapping[int, NDArray[np.int64]] | None = None,
) -> Record:
    """Return the platform's view of a run; log and ledger are checked, `plan` is its result.

    `public` has the weights of public objectives.
    """
    if agreement.sealed:
        return _sealed(agreement, read_ledger(ledger))
    if plan is None:
        raise InputError(NO_PLAN)
    # Without an agreed seed it follows from all manifests and the nodes' contributions, which the
    # log has since the inputs were frozen.
    frozen = frozen_inputs(agreement, log) if agreement.search.seed is None else {}
    digests = {k: each.manifests for k, each in frozen.items()}
    contributions = {k: each.seed_contribution for k, each in frozen.items()}
    seed = search_seed(agreement, digests, contributions)
    recorder = Recorder()
    with tempfile.TemporaryDirectory() as folder:
        # A ledger has answers and no candidates. Replaying the agreed search derives them from the
        # seed, exactly as nodes do, so a platform cannot leave any out.
        path = Path(folder, LEDGER)
        path.write_bytes(ledger)
        run_from_ledger(agreement, path, seed=seed, observe=recorder, public=public)
    return recorder.record(plan)


def _sealed(agreement: Agreement, ledger: Sequence[Disclosed]) -> Record:
    """The record of a sealed search: the opened plans and, if agreed, their value."""
    opened = [each.payload for each in ledger if isinstance(each.payload, DisclosedPlan)]
    if not any(each.kind.opens_plan for each in ledger):
        raise InputError(NO_PLAN)
    problem, value = agreement.known_problem, None
    if len(problem.objectives) == 1 and opened and opened[0].value is not None:
        only = problem.objectives[0]
        value = only.sign * opened[0].value / only.scale
    return record_of_plans(
        problem,
        [each.plan for each in opened],
        search={"algorithm": agreement.search.algorithm, **agreement.search.parameters},
        value=value,
    )
