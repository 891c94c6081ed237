"""One run from its slot to its end, which comes at its deadline at the latest.

The run has a process that searches. Should that end before the deadline and without a result for
good, another one continues from what is stored; so does one in another worker, if this one dies.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace
from sqlalchemy.orm import Session

from tacit.errors import WrongStateError
from tacit.service.execution.agreed_runs import StoredAgreement, stored_agreement
from tacit.service.execution.answer import Answer, answer_of
from tacit.service.execution.cluster_links import ClusterLinks
from tacit.service.execution.held_run import HeldRun
from tacit.service.execution.report import Report, RunRequest, decode_report, report_part
from tacit.service.execution.run_files import RunFiles
from tacit.service.execution.worker_handle import WorkerHandle, WorkerPool
from tacit.service.server.metrics import ServiceMetrics
from tacit.service.storage import (
    FilePart,
    database_time,
    end_trouble,
    read_run,
    read_run_file,
    restore_files,
    set_lateness,
    set_progress,
    set_state,
    store_part,
)
from tacit.service.storage.run_files import REPORT
from tacit.supervisor import Supervisor

PREPARE_SECONDS = 60.0
"""A worker that is not ready after so long is started again."""
PASS_ON_SECONDS = 0.25
LATENESS_SECONDS = 0.01
"""An answer that became available later than it says is corrected."""
LEAST_SECONDS = 1.0
"""With less time left no process is started any more."""
RETRY_SECONDS = (0.5, 1.0, 2.0, 5.0, 10.0)
"""Pauses before another process continues a run whose process has ended."""
log = logging.getLogger("tacit.service.execution")


@dataclass(frozen=True)
class RunServices:
    """What all runs of a service have in common."""

    files: RunFiles
    workers: WorkerPool
    on_progress: Callable[[HeldRun, Report], None]
    metrics: ServiceMetrics
    tasks: Supervisor
    until_served: Callable[[], Awaitable[None]]
    """Waits until a request could be answered, which a busy platform does late."""


def late_by(until: float, /) -> float:
    """Return how many seconds ago this instant was, by a clock that nothing stops."""
    return max(0.0, time.monotonic() - until)


def _standing(session: Session, run_id: str) -> tuple[float | None, Report | None]:
    """The seconds that a run has left if it is running, and its last report."""
    run, report = read_run(session, run_id), read_run_file(session, run_id, REPORT)
    left = None if run.deadline_at is None else run.deadline_at - database_time(session)
    return left, decode_report(report)


class RunSupervisor:
    """One run that has its slot."""

    def __init__(self, run: HeldRun, links: ClusterLinks, services: RunServices, /) -> None:
        self._run, self._links, self._services = run, links, services
        self._worker: WorkerHandle | None = None
        self._until: float | None = None
        self._is_held_up = False
        self._earlier = Report(stage="ready")
        """The last report of the process before this one."""

    def is_due_within(self, seconds: float, /) -> bool:
        """Whether the answer is due so soon."""
        return self._until is not None and self._until - time.monotonic() < seconds

    @property
    def has_reported_its_end(self) -> bool:
        """Whether its last report is here, which is stored with the entries that it is made of."""
        return self._worker is not None and self._worker.last.stage == "ended"

    @property
    def last(self) -> Report:
        """The last report that has a plan, or else the last."""
        worker, earlier = self._worker, self._earlier
        if worker is None:
            return earlier
        if worker.last.has_plan or not earlier.has_plan:
            return worker.last
        said = worker.last
        return replace(earlier, stage=said.stage, error=said.error, notes=said.notes)

    async def run(self) -> bool:
        """Supervise the run; False if it could not begin and may be retried later."""
        stored = await self._run.read(stored_agreement, self._run.id)
        if stored.state not in ("submitted", "running"):
            return True
        left, report = await self._run.read(_standing, self._run.id)
        if stored.state == "running":
            self._until = time.monotonic() + (left or 0.0)
            self._earlier = report or self._earlier
            fields = {"run": self._run.id, "left": round(left or 0.0, 2)}
            log.info("taken up", extra={"fields": fields})
        try:
            if self._until is not None and self._earlier.is_over and self._earlier.has_plan:
                # Whoever had the run died after its last report was stored. Another process would
                # have nothing to add, and its first reports lack what was revealed.
                await self._answer(stored)
                return True
            return await self._execute(stored)
        except WrongStateError:
            return True  # it was cancelled meanwhile

    async def _execute(self, stored: StoredAgreement) -> bool:
        pauses = iter(RETRY_SECONDS)
        while not self._is_over(LEAST_SECONDS):
            if await self._one_process(stored):
                return True
            if self._until is None:
                return False
            self._earlier, self._worker = self.last, None
            await self._sleep(next(pauses, RETRY_SECONDS[-1]))
        assert self._until is not None
        await self._sleep(self._until - time.monotonic())
        await self._answer(stored)
        return True

    def _is_over(self, margin: float) -> bool:
        return self._until is not None and self._until - time.monotonic() < margin

    async def _sleep(self, seconds: float) -> None:
        left = seconds if self._until is None else min(seconds, self._until - time.monotonic())
        await asyncio.sleep(max(0.0, left))

    async def _one_process(self, stored: StoredAgreement) -> bool:
        """Let a process search; False if another one is to continue."""
        folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix=f"tacit-{self._run.id}-"))
        request = await asyncio.to_thread(self._request, stored, folder)
        worker = self._worker = WorkerHandle(self._services.workers, request, self._store)
        try:
            await self._run.read(restore_files, self._run.id, folder)
            await worker.start()
            if not await self._is_ready(worker):
                return self._until is not None and await self._answered(worker, stored)
            if worker.has_ended.is_set():
                return True
            await self._search(worker, stored)
            return await self._answered(worker, stored)
        finally:
            # Also when the run is cancelled, which must not leave its worker behind.
            await asyncio.shield(self._end(worker, folder))

    async def _end(self, worker: WorkerHandle, folder: Path) -> None:
        await worker.end()
        await self._services.files.flush()
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    def _store(self, part: FilePart) -> None:
        if (worker := self._worker) is not None:
            files, claim = self._services.files, self._run.claim
            files.add(claim, part, stored=worker.kept, refused=worker.give_up)

    def _request(self, stored: StoredAgreement, folder: Path) -> RunRequest:
        return RunRequest(
            run_id=self._run.id,
            folder=str(folder),
            cluster=str(self._links.file.absolute()),
            agreement=stored.data,
            signatures=stored.signatures,
            manifests=stored.manifests(),
            # Row by row, so that other threads have their turn.
            public={k: [row.tolist() for row in each] for k, each in stored.public.items()},
            fence=self._run.claim.fence,
        )

    async def _is_ready(self, worker: WorkerHandle) -> bool:
        """Wait until it may begin; a run that cannot be is stored as failed before it runs."""
        until = time.monotonic() + PREPARE_SECONDS
        if self._until is not None:
            until = min(until, self._until)
        try:
            async with asyncio.timeout_at(until):
                await worker.is_ready.wait()
        except TimeoutError:
            await self._warn("its worker did not become ready; it starts again")
            return False
        report = worker.last
        if self._until is None and report.stage == "failed" and not report.can_retry:
            await self._run.write(set_state, self._run.id, "failed", reason=report.error)
            return True
        if worker.has_ended.is_set():
            await self._warn(f"it cannot begin yet: {report.error or 'its worker ended'}")
            return False
        return True

    async def _warn(self, message: str) -> None:
        log.warning(message, extra={"fields": {"run": self._run.id}})
        await self._run.trouble(message)
        self._is_held_up = True

    async def _search(self, worker: WorkerHandle, stored: StoredAgreement) -> None:
        """Let it search until it ends, or the deadline comes."""
        if self._until is None:
            for warning in self._links.clock_warnings().values():
                await self._run.warn(warning)
            self._until = await self._begin(stored)
        elif self._is_held_up:
            await self._run.write(end_trouble, self._run.id)
        self._is_held_up = False
        worker.begin(self._until)
        watching = self._services.tasks.every(
            PASS_ON_SECONDS, "reports of runs", lambda: self._pass_on(worker)
        )
        try:
            # The event loop's clock is CLOCK_MONOTONIC, as the worker's is. The platform does not
            # wait for the worker beyond the deadline: whatever it does, it may hang or be stopped.
            async with asyncio.timeout_at(self._until):
                await worker.has_ended.wait()
        except TimeoutError:
            log.info("answered from the last report", extra={"fields": {"run": self._run.id}})
        finally:
            watching.cancel()

    async def _begin(self, stored: StoredAgreement) -> float:
        """Store that it runs; its deadline counts from this instant."""
        begun = time.monotonic()

        def write(session: Session) -> None:
            # By the clock that whoever takes the run over reads, too.
            since = database_time(session) - (time.monotonic() - begun)
            due = since + stored.deadline_seconds
            set_state(session, self._run.id, "running", running_since=since, deadline_at=due)

        await self._run.write(write)
        return begun + stored.deadline_seconds

    def _pass_on(self, worker: WorkerHandle) -> None:
        if worker.last.stage == "running":
            self._services.on_progress(self._run, worker.last)

    async def _answered(self, worker: WorkerHandle, stored: StoredAgreement) -> bool:
        """Store the answer, unless another process is to continue."""
        failed = worker.last.stage == "failed" and not worker.last.can_retry
        if not (worker.last.is_over or failed or self._is_over(LEAST_SECONDS)):
            return False
        if not (worker.last.is_over or failed):
            assert self._until is not None
            await self._sleep(self._until - time.monotonic())
        await self._answer(stored)
        return True

    async def _answer(self, stored: StoredAgreement) -> None:
        # The report and what it was made of are fixed at one instant and stored together.
        if self._worker is not None:
            self._worker.close_reports()
        report, until = self.last, self._until
        assert until is not None
        # Fixed before the write, which may be repeated for as long as the database is away.
        is_due, ended = time.monotonic() >= until, time.time()

        def write(session: Session) -> Answer:
            # In the writer's thread: naming large plans takes longer than the event loop may stop.
            answer = answer_of(report, stored.agreement, is_due=is_due, late_by=late_by(until))
            # Looked up at each try: parts that the database refuses are given up meanwhile.
            for part in self._services.files.unstored(self._run.claim):
                store_part(session, self._run.id, part)
            if report.generation >= 0:
                set_progress(session, self._run.id, report.progress())
                store_part(session, self._run.id, report_part(report))
            set_state(
                session,
                self._run.id,
                answer.state,
                reason=answer.reason,
                result=answer.result,
                ended=ended,
            )
            return answer

        answer = await self._run.answer(write)
        # The run has its slot until this returns, and those that wait for it have deadlines.
        self._services.tasks.once("lateness", self._note_lateness(answer, report, until))

    async def _note_lateness(self, answer: Answer, report: Report, until: float) -> None:
        """Count, log and store when the answer could be fetched, at the end of everything."""
        await self._services.until_served()
        late = late_by(until)
        self._services.metrics.run_ended(answer.state, late_by=late, evaluations=report.evaluations)
        fields = {"run": self._run.id, "state": answer.state, "late_by": round(late, 4)}
        log.info("run ended", extra={"fields": fields})
        # What the answer says was measured before it was on disk. Whoever waited longer for it than
        # it says must be able to see that.
        said = 0.0 if answer.result is None else answer.result.late_by_seconds or 0.0
        if answer.result is not None and late - said > LATENESS_SECONDS:
            await self._run.correct(set_lateness, self._run.id, late)
