"""The record of a run that was agreed on, from what an audit bundle has of it.

The agreement, the seed that the nodes drew and the ledger give every candidate again, so whoever
has them can audit a run afterwards.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tacit.agreement import Agreement, search_seed
from tacit.audit.record.record import Record
from tacit.audit.record.recorder import Recorder
from tacit.audit.record.sealed_recording import record_of_plans
from tacit.errors import InputError
from tacit.records import (
    Disclosed,
    DisclosedPlan,
    Log,
    frozen_inputs,
    read_ledger,
)
from tacit.runs import LEDGER, run_from_ledger

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
    """What the platform saw of a run; log and ledger are checked, `plan` is its result.

    `public` has the weights of public objectives.
    """
    if agreement.sealed:
        return _sealed(agreement, read_ledger(ledger))
    if plan is None:
        raise InputError(NO_PLAN)
    frozen = frozen_inputs(agreement, log) if agreement.search.seed is None else {}
    digests = {k: each.manifests for k, each in frozen.items()}
    contributions = {k: each.seed_contribution for k, each in frozen.items()}
    seed = search_seed(agreement, digests, contributions)
    recorder = Recorder()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, LEDGER)
        path.write_bytes(ledger)
        run_from_ledger(agreement, path, seed=seed, observe=recorder, public=public)
    return recorder.record(plan)


def _sealed(agreement: Agreement, ledger: Sequence[Disclosed]) -> Record:
    """Of a sealed search: the opened plans, and what was agreed to be told besides."""
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
