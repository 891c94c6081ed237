"""Running a study: compute what is missing, keep each run as it comes, then merge."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, as_completed
from dataclasses import dataclass
from pathlib import Path

from studies.execution.job import Job
from studies.execution.run_job import run_job_encoded
from studies.execution.store import Store
from studies.study.study import Study
from tacit.errors import TacitError

Advance = Callable[[int], None]
"""Told how many more runs are finished."""


@dataclass(frozen=True)
class StudyRun:
    """What was done."""

    store: Store
    computed: int
    reused: int
    seconds: float


def run_study(
    study: Study, out: Path, pool: Executor, /, *, advance: Advance | None = None
) -> StudyRun:
    """Bring a study to its end in the folder `out`/name; finished runs are not computed again."""
    started = time.monotonic()
    store = Store(out / study.name)
    jobs = list(study.jobs())
    missing = store.missing(jobs)
    store.describe(study)
    if advance is not None:
        advance(len(jobs) - len(missing))
    _compute(missing, store, pool, advance)
    store.merge(study)
    seconds = time.monotonic() - started
    return StudyRun(store, len(missing), len(jobs) - len(missing), seconds)


def _compute(missing: Sequence[Job], store: Store, pool: Executor, advance: Advance | None) -> None:
    futures: dict[Future[bytes], Job] = {pool.submit(run_job_encoded, job): job for job in missing}
    try:
        for future in as_completed(futures):
            job = futures.pop(future)
            store.keep(job, _result_of(future, job))
            if advance is not None:
                advance(1)
    except BaseException:
        for future in futures:
            future.cancel()
        raise


def _result_of(future: Future[bytes], job: Job) -> bytes:
    try:
        return future.result()
    except TacitError:
        raise
    except Exception as error:
        raise TacitError(
            f"the run with {job.disclosure} and seed {job.seed} failed ({error!r}); "
            "finished runs are kept, so correct the cause and start again"
        ) from error
