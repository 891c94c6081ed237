"""Execute runs: claim those that something is to be done for, do it, and give them back.

What is to be done follows from a run's row alone (`storage/claims.py`). So whatever ends a worker,
another one finds what it had, or this one does after its restart. It looks every second, and
whenever a run has changed.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import secrets
import socket
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from sqlalchemy.orm import Session

from tacit.client import ClusterView
from tacit.errors import FencedError, StorageError
from tacit.service.execution.cluster_links import links_of
from tacit.service.execution.drafter import Drafter
from tacit.service.execution.ended_runs import tell_nodes
from tacit.service.execution.held_run import HeldRun
from tacit.service.execution.provisioner import Provisioner
from tacit.service.execution.report import Report, report_part
from tacit.service.execution.run_files import RunFiles
from tacit.service.execution.run_supervisor import RunServices, RunSupervisor
from tacit.service.execution.series_schedule import SeriesClock
from tacit.service.execution.worker_handle import WorkerPool
from tacit.service.notices.notifier import Notifier
from tacit.service.server.metrics import ServiceMetrics
from tacit.service.server.settings import Settings
from tacit.service.storage import (
    Database,
    RunClaim,
    claim_work,
    fences_held,
    release,
    release_all,
    renew_leases,
    set_progress,
    store_part,
)
from tacit.service.storage.claims import LEASE_SECONDS, Work, next_late
from tacit.supervisor import Supervisor, log_failures

LOOK_EVERY_SECONDS = 1.0
LATE_SECONDS = 0.05
"""So long after it is late a run is looked for whose process does not answer."""
CLAIMS_AT_ONCE = 20
"""After so many claims the leases are renewed."""
WRITE_EVERY_SECONDS = 0.5
"""How often the progress of all runs is written, together."""
QUIET_SECONDS = 0.3
"""No progress is written in this time before an answer is due."""
LONGEST_SILENCE_SECONDS = 1.0
RETRY_SECONDS = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
"""Pauses before what failed is tried again."""
log = logging.getLogger("tacit.service.execution")


async def _at_once() -> None:
    """Requests are served on the same loop, or by other processes."""


def process_name() -> str:
    """The name of this process as an owner of runs, different after each start.

    >>> process_name() != process_name()
    True
    """
    return f"{socket.gethostname()[:60]}:{os.getpid()}:{secrets.token_hex(4)}"


@dataclass
class _Held:
    """A run that this process has, with the task that works on it."""

    run: HeldRun
    task: asyncio.Task[None] | None = None
    supervisor: RunSupervisor | None = None


class Executor:
    """Executes runs of one platform, beside any number of others."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        /,
        *,
        until_served: Callable[[], Awaitable[None]] = _at_once,
        metrics: ServiceMetrics | None = None,
    ) -> None:
        self._database, self.name = database, process_name()
        self._links = links_of(settings)
        self._slots = {cluster.name: cluster.slots for cluster in settings.cluster}
        self._progress: dict[str, Report] = {}
        self.metrics = metrics or ServiceMetrics()
        self.tasks = Supervisor(log_failures(log))
        self._services = RunServices(
            files=RunFiles(database, self._lost),
            workers=WorkerPool(),
            on_progress=lambda run, report: self._progress.__setitem__(run.id, report),
            metrics=self.metrics,
            tasks=self.tasks,
            until_served=until_served,
        )
        self._drafter = Drafter()
        self._schedule = SeriesClock(settings, database)
        self._notifier = Notifier(settings, database, self.clusters, name=self.name)
        self._provisioners: dict[str, Provisioner] = {}
        """Per run that is being handed over, what its nodes have."""
        self._held: dict[str, _Held] = {}
        self._failures: dict[str, tuple[Work, int]] = {}
        """Per run, how often in a row it had to be given back with this work."""
        self._news = asyncio.Event()
        self._progress_written = 0.0
        self._takes_over_from = 0.0
        """By the monotonic clock: leases that expired while the database was away say nothing."""
        self._stopping = False

    # Beginning and ending.

    async def start(self) -> None:
        """Begin to work."""
        if self._database.server is None:
            # Whatever has an owner had one that is gone: there is one process at a time.
            await self._database.write(release_all)
        for links in self._links.values():
            links.start(self.tasks)
        self.tasks.once("workers", self._services.workers.open())
        self._services.files.start(self.tasks)
        self.tasks.every(LOOK_EVERY_SECONDS, "work", self._look, early=self._news)
        self.tasks.every(WRITE_EVERY_SECONDS, "progress of runs", self._write_progress)
        self._schedule.start(self.tasks)
        self._notifier.start(self.tasks)

    async def stop(self) -> None:
        """End all workers, and give their runs back: they go on elsewhere, or after a restart."""
        self._stopping = True
        await self.tasks.close()
        self._services.workers.close()
        await self._database.write(release_all, self.name)
        await asyncio.gather(*(links.stop() for links in self._links.values()))

    def look_now(self) -> None:
        """A run was changed."""
        self._news.set()

    def clusters(self) -> list[ClusterView]:
        """All clusters, as this process sees them; without figures of runs."""
        return [links.status() for links in self._links.values()]

    # Claims.

    async def _look(self) -> None:
        """Renew the leases, stop what is lost, and claim what is free."""
        takes_over = time.monotonic() >= self._takes_over_from
        claim = partial(claim_work, owner=self.name, slots=self._slots, takes_over=takes_over)
        fences = {name: held.run.claim.fence for name, held in self._held.items()}
        try:
            held = await self._database.write(renew_leases, self.name, fences)
            if self._takes_over_from == math.inf:
                # Now that it is back, each process first has the time to renew its leases.
                self._takes_over_from = time.monotonic() + LEASE_SECONDS
            for run_id in fences.keys() - held:
                self._lost(run_id, fences[run_id])
            for _ in range(CLAIMS_AT_ONCE):
                claimed = await self._database.write(claim, held=list(self._held))
                if claimed is None or self._stopping:
                    break
                self._begin(claimed)
            else:
                self.look_now()  # the leases first, then what is left
            late = await self._database.read(next_late, self.name, list(self._held))
        except StorageError:
            self._takes_over_from = math.inf
            raise
        if late is not None and late < LOOK_EVERY_SECONDS:
            asyncio.get_running_loop().call_later(max(late, 0.0) + LATE_SECONDS, self.look_now)

    def _lost(self, run_id: str, fence: int) -> None:
        """Stop to work on a run that is another process's now, or was cancelled."""
        held = self._held.get(run_id)
        if held is not None and held.run.claim.fence == fence and held.task is not None:
            log.warning("another process has the run now", extra={"fields": {"run": run_id}})
            held.task.cancel()

    def _begin(self, claim: RunClaim) -> None:
        held = _Held(HeldRun(self._database, claim))
        before = self._held.get(claim.run_id)
        if before is not None and before.task is not None:
            before.task.cancel()  # it was taken over and is back, before that one noticed
        self._held[claim.run_id] = held
        held.task = self.tasks.once(claim.work, self._work(held))
        self._count()

    def _count(self) -> None:
        works = [held.run.claim.work for held in self._held.values()]
        self.metrics.handing_over(works.count("hand over"))

    async def _work(self, held: _Held) -> None:
        """Do what the run was claimed for, and give it back."""
        run = held.run
        try:
            is_done = await self._once(held)
        except FencedError:
            self._lost(run.id, run.claim.fence)
            return
        except StorageError as error:
            self._note(run, error)
            is_done = False
        except Exception as error:
            log.error("internal error", exc_info=error, extra={"fields": {"run": run.id}})
            is_done = False
        finally:
            if self._held.get(run.id) is held:
                del self._held[run.id]
                self._count()
        work, before = self._failures.pop(run.id, (run.claim.work, 0))
        failures = 0 if is_done else 1 + before * (work == run.claim.work)
        pause = RETRY_SECONDS[min(failures, len(RETRY_SECONDS)) - 1] if failures else None
        if failures:
            self._failures[run.id] = (run.claim.work, failures)
        try:
            await run.write_surely(release, run.claim, again_in=pause)
        except FencedError:
            return  # it was cancelled meanwhile, or taken over
        self.look_now()

    def _note(self, run: HeldRun, error: Exception) -> None:
        fields = {"run": run.id, "work": run.claim.work, "what": str(error)}
        log.warning("it is tried again", extra={"fields": fields})

    async def _once(self, held: _Held) -> bool:
        """Do it; False if it has to be tried again."""
        run = held.run
        links = self._links[run.cluster]
        match run.claim.work:
            case "draft":
                return await self._drafter.draw_up(run, links)
            case "hand over":
                # Not while it works: one that was cancelled or fenced knows too much of what is
                # at the nodes, and too little of what is stored.
                provisioner = self._provisioners.pop(run.id, None) or Provisioner(run.id, links)
                is_done = await provisioner.hand_over(run)
                if not provisioner.is_over:
                    self._provisioners[run.id] = provisioner
                return is_done
            case "end":
                self._provisioners.pop(run.id, None)
                return await tell_nodes(run, links)
            case "run" | "take up":
                self._provisioners.pop(run.id, None)
                held.supervisor = RunSupervisor(run, links, self._services)
                return await held.supervisor.run()

    # Progress.

    async def _write_progress(self) -> None:
        running = {k: v for k, v in self._held.items() if v.supervisor is not None}
        soon = any(
            each.supervisor is not None and each.supervisor.is_due_within(QUIET_SECONDS)
            for each in running.values()
        )
        if soon and time.monotonic() - self._progress_written < LONGEST_SILENCE_SECONDS:
            return  # answers come first, and writers take turns
        reports = {k: v for k, v in self._progress.items() if k in running}
        self._progress.clear()
        if reports:
            fences = {k: running[k].run.claim.fence for k in reports}
            supervisors = {k: running[k].supervisor for k in reports}
            await self._database.write(
                partial(_store_progress, reports=reports, fences=fences, supervisors=supervisors)
            )
            self._progress_written = time.monotonic()


def _store_progress(
    session: Session,
    *,
    reports: dict[str, Report],
    fences: dict[str, int],
    supervisors: dict[str, RunSupervisor | None],
) -> None:
    for run_id in fences_held(session, fences):
        # Asked under the lock that whoever stores a last report needs: it may be there already,
        # and its plan must not be replaced by that of an earlier report.
        supervisor = supervisors[run_id]
        if supervisor is not None and supervisor.has_reported_its_end:
            continue
        if set_progress(session, run_id, reports[run_id].progress()):
            store_part(session, run_id, report_part(reports[run_id]))
