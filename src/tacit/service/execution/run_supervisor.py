"""One run from its slot to its end, which comes at its deadline at the latest."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.orm import Session

from tacit.errors import WrongStateError
from tacit.service.execution.agreed_runs import StoredAgreement, stored_agreement
from tacit.service.execution.answer import Answer, answer_of
from tacit.service.execution.cluster_links import ClusterLinks
from tacit.service.execution.report import Report, RunRequest, run_folder
from tacit.service.execution.retry_until_written import retry_until_written
from tacit.service.execution.worker_handle import WorkerHandle, WorkerPool
from tacit.service.server.metrics import ServiceMetrics
from tacit.service.storage import (
    Database,
    add_warning,
    set_lateness,
    set_progress,
    set_state,
)
from tacit.supervisor import Supervisor

PREPARE_SECONDS = 60.0
"""A worker that is not ready after so long is started again."""
PASS_ON_SECONDS = 0.25
LATENESS_SECONDS = 0.01
"""An answer that became available later than it says is corrected."""
log = logging.getLogger("tacit.service.execution")


@dataclass(frozen=True)
class RunServices:
    """What all runs of a service have in common."""

    database: Database
    data: Path
    workers: WorkerPool
    on_progress: Callable[[str, Report], None]
    metrics: ServiceMetrics
    tasks: Supervisor
    until_served: Callable[[], Awaitable[None]]
    """Waits until a request could be answered, which a busy platform does late."""


def late_by(until: float, /) -> float:
    """Return how many seconds ago this instant was, by a clock that nothing stops."""
    return max(0.0, time.monotonic() - until)


class RunSupervisor:
    """One run that has its slot."""

    def __init__(self, run_id: str, links: ClusterLinks, services: RunServices, /) -> None:
        self._run_id, self._links, self._services = run_id, links, services
        self._worker: WorkerHandle | None = None
        self._until: float | None = None

    def is_due_within(self, seconds: float, /) -> bool:
        """Whether the answer is due so soon."""
        return self._until is not None and self._until - time.monotonic() < seconds

    @property
    def last(self) -> Report | None:
        """The last report, if there is one."""
        return None if self._worker is None else self._worker.last

    async def run(self) -> bool:
        """Supervise the run; False if it could not begin and may be retried later."""
        stored = await self._services.database.read(stored_agreement, self._run_id)
        if stored.state != "submitted":
            return True
        request = await asyncio.to_thread(self._request, stored)
        worker = self._worker = WorkerHandle(self._services.workers, request)
        try:
            await worker.start()
            if not await self._is_ready(worker):
                return False
            await self._search(worker, stored)
        except WrongStateError:
            return True  # it was cancelled meanwhile
        finally:
            # Also when the run is cancelled, which must not leave its worker behind.
            await asyncio.shield(worker.end())
        return True

    def _request(self, stored: StoredAgreement) -> RunRequest:
        folder = run_folder(self._services.data, self._run_id)
        return RunRequest(
            run_id=self._run_id,
            folder=str(folder.absolute()),
            cluster=str(self._links.file.absolute()),
            agreement=stored.data,
            signatures=stored.signatures,
            manifests=stored.manifests(),
            # Row by row, so that other threads have their turn.
            public={k: [row.tolist() for row in each] for k, each in stored.public.items()},
        )

    async def _is_ready(self, worker: WorkerHandle) -> bool:
        try:
            async with asyncio.timeout(PREPARE_SECONDS):
                await worker.is_ready.wait()
        except TimeoutError:
            await self._warn("its worker did not become ready; it starts again")
            return False
        report = worker.last
        if report.stage == "failed" and not report.can_retry:
            await self._services.database.write(
                set_state, self._run_id, "failed", reason=report.error
            )
            return True
        if worker.has_ended.is_set():
            await self._warn(f"it cannot begin yet: {report.error or 'its worker ended'}")
            return False
        return True

    async def _warn(self, message: str) -> None:
        log.warning(message, extra={"fields": {"run": self._run_id}})
        await self._services.database.write(add_warning, self._run_id, message)

    async def _search(self, worker: WorkerHandle, stored: StoredAgreement) -> None:
        if worker.has_ended.is_set():
            return
        for warning in self._links.clock_warnings().values():
            await self._services.database.write(add_warning, self._run_id, warning)
        since, begun = time.time(), time.monotonic()
        until = self._until = begun + stored.deadline_seconds
        await self._services.database.write(
            set_state,
            self._run_id,
            "running",
            running_since=since,
            deadline_at=since + stored.deadline_seconds,
        )
        worker.begin(until)
        watching = self._services.tasks.every(
            PASS_ON_SECONDS, "reports of runs", lambda: self._pass_on(worker)
        )
        try:
            # The event loop's clock is CLOCK_MONOTONIC, as the worker's is. The platform does not
            # wait for the worker beyond the deadline: whatever it does, it may hang or be stopped.
            async with asyncio.timeout_at(until):
                await worker.has_ended.wait()
        except TimeoutError:
            log.info("answered from the last report", extra={"fields": {"run": self._run_id}})
        finally:
            watching.cancel()
        await self._answer(worker.last, stored, until)

    def _pass_on(self, worker: WorkerHandle) -> None:
        if worker.last.stage == "running":
            self._services.on_progress(self._run_id, worker.last)

    async def _answer(self, report: Report, stored: StoredAgreement, until: float) -> None:
        # Fixed before the write, which may be repeated for as long as the database is away.
        is_due, ended = time.monotonic() > until, time.time()

        def write(session: Session) -> Answer:
            # In the writer's thread: naming large plans takes longer than the event loop may stop.
            answer = answer_of(report, stored.agreement, is_due=is_due, late_by=late_by(until))
            if report.generation >= 0:
                set_progress(session, self._run_id, report.progress())
            set_state(
                session,
                self._run_id,
                answer.state,
                reason=answer.reason,
                result=answer.result,
                ended=ended,
            )
            return answer

        answer = await retry_until_written(
            lambda: self._services.database.write_first(write), run=self._run_id
        )
        # The run has its slot until this returns, and those that wait for it have deadlines.
        self._services.tasks.once("lateness", self._note_lateness(answer, report, until))

    async def _note_lateness(self, answer: Answer, report: Report, until: float) -> None:
        """Count, log and store when the answer could be fetched, at the end of everything."""
        await self._services.until_served()
        late = late_by(until)
        self._services.metrics.run_ended(answer.state, late_by=late, evaluations=report.evaluations)
        fields = {"run": self._run_id, "state": answer.state, "late_by": round(late, 4)}
        log.info("run ended", extra={"fields": fields})
        # What the answer says was measured before it was on disk. Whoever waited longer for it than
        # it says must be able to see that.
        said = 0.0 if answer.result is None else answer.result.late_by_seconds or 0.0
        if answer.result is not None and late - said > LATENESS_SECONDS:
            await retry_until_written(
                lambda: self._services.database.write(set_lateness, self._run_id, late),
                run=self._run_id,
            )
