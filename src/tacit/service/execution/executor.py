"""The execution of a service: provisions, queues, supervises and recovers runs."""

from __future__ import annotations

import asyncio
import logging
import time

from sqlalchemy.orm import Session

from tacit.agreement import read_agreement
from tacit.client import CarriedLog, CarriedLogs, ClusterView
from tacit.errors import NodesError, NotThereError, RefusedError, WrongStateError
from tacit.service.execution.agreed_runs import stored_agreement
from tacit.service.execution.answer import result_of
from tacit.service.execution.cluster_links import ClusterLinks
from tacit.service.execution.drafter import Drafter
from tacit.service.execution.ended_runs import EndedRuns
from tacit.service.execution.execution_thread import UntilServed
from tacit.service.execution.provisioner import Provisioner
from tacit.service.execution.queue import FairQueue, Waiting
from tacit.service.execution.recovery import interrupt, recover
from tacit.service.execution.report import Report
from tacit.service.execution.retry_until_written import retry_until_written
from tacit.service.execution.run_supervisor import RunServices, RunSupervisor
from tacit.service.execution.series_schedule import SeriesClock
from tacit.service.execution.worker_handle import WorkerPool
from tacit.service.server.metrics import ServiceMetrics
from tacit.service.server.settings import Settings
from tacit.service.storage import Database, read_run, runs_in_state, set_progress, set_state
from tacit.service.storage.states import BEFORE_RUNNING
from tacit.service.workflow.inviting import undrafted_runs
from tacit.supervisor import Supervisor, log_failures

WRITE_EVERY_SECONDS = 0.5
"""How often the progress of all runs is written, together."""
QUIET_SECONDS = 0.3
"""No progress is written in this time before an answer is due."""
LONGEST_SILENCE_SECONDS = 3.0
RETRY_SECONDS = (1.0, 2.0, 5.0, 10.0, 30.0)
"""Pauses before retrying a run that could not begin."""
LOG_SECONDS = 10.0
log = logging.getLogger("tacit.service.execution")


async def _at_once() -> None:
    """Requests are served on the same loop, which is not busy with another while this runs."""


class Executor:
    """Executes the runs of one service; see `port.Execution`."""

    def __init__(
        self, settings: Settings, database: Database, until_served: UntilServed = _at_once, /
    ) -> None:
        self._database = database
        self._links = {
            cluster.name: ClusterLinks(
                cluster.name, settings.place(cluster.file), slots=cluster.slots
            )
            for cluster in settings.cluster
        }
        self._queue = FairQueue({cluster.name: cluster.slots for cluster in settings.cluster})
        self._progress: dict[str, Report] = {}
        self.metrics = ServiceMetrics()
        self.tasks = Supervisor(log_failures(log))
        self._services = RunServices(
            database=database,
            data=settings.data_folder,
            workers=WorkerPool(),
            on_progress=self._progress.__setitem__,
            metrics=self.metrics,
            tasks=self.tasks,
            until_served=until_served,
        )
        self._ended_runs = EndedRuns(database, self._links_of)
        self._drafter = Drafter(database, self._links_of, self._ended_runs.add)
        self._schedule = SeriesClock(settings, database, self.draw_up)
        self._provisioners: dict[str, Provisioner] = {}
        self._supervisors: dict[str, RunSupervisor] = {}
        self._of_runs: dict[str, asyncio.Task[None]] = {}
        """The tasks that hand runs over, or let them run."""
        self._progress_written = 0.0
        self._stopping = False
        self.metrics.watch_clusters(self.clusters)
        self.metrics.watch_tasks(self.tasks)

    # Beginning and ending.

    async def start(self) -> None:
        """Recover from the end of the last process, then begin to work."""
        # First of all, since whatever is stored as running now has no worker any more.
        found = await self._database.write(recover, self._services.data)
        for run_id in found.interrupted:
            log.info("interrupted by the end of the platform", extra={"fields": {"run": run_id}})
        for links in self._links.values():
            links.start(self.tasks)
        self.tasks.once("workers", self._services.workers.open())
        self.tasks.every(WRITE_EVERY_SECONDS, "progress of runs", self._write_progress)
        self._ended_runs.start(self.tasks)
        self._schedule.start(self.tasks)
        for run_id in await self._database.read(undrafted_runs):
            self._draft_later(run_id)
        for run_id, cluster in found.to_hand_over:
            self._hand_over(run_id, cluster)
        for waiting in found.to_queue:
            self._queue.add(waiting)
        self._dispatch()

    async def stop(self) -> None:
        """End all workers; their runs are `interrupted` with their best so far."""
        self._stopping = True
        await self.tasks.close()
        self._services.workers.close()
        # The runs whose tasks were cancelled are still stored as running. What recovers them after
        # a crash also ends them here, so that there is one way to do it.
        await self._database.write(recover, self._services.data)
        await asyncio.gather(*(links.stop() for links in self._links.values()))

    async def _write_progress(self) -> None:
        def write(session: Session, reports: dict[str, Report]) -> None:
            for run_id, report in reports.items():
                set_progress(session, run_id, report.progress())

        soon = any(each.is_due_within(QUIET_SECONDS) for each in self._supervisors.values())
        if soon and time.monotonic() - self._progress_written < LONGEST_SILENCE_SECONDS:
            return  # answers come first, and writers take turns
        reports = {k: v for k, v in self._progress.items() if k in self._supervisors}
        self._progress.clear()
        if reports:
            await self._database.write(write, reports)
            self._progress_written = time.monotonic()

    # Clusters.

    async def cluster_for_new_run(self) -> str:

        def load(session: Session) -> dict[str, int]:
            loads = dict.fromkeys(self._links, 0)
            for run in runs_in_state(session, ["invited", "agreed", "submitted", "running"]):
                if run.cluster in loads:
                    loads[run.cluster] += 1
            return loads

        loads = await self._database.read(load)
        return min(loads, key=lambda name: loads[name] / self._links[name].slots)

    def clusters(self) -> list[ClusterView]:
        return [
            links.status(running=self._queue.running(name), waiting=self._queue.waiting(name))
            for name, links in self._links.items()
        ]

    def _links_of(self, cluster: str) -> ClusterLinks:
        if cluster not in self._links:
            raise NotThereError(
                f"there is no cluster {cluster!r} in service.toml any more; add it again"
            )
        return self._links[cluster]

    # Drawing up and handing over.

    async def draw_up(self, run_id: str, /) -> None:
        if not await self._drafter.draw_up(run_id) and not self._stopping:
            self._draft_later(run_id)

    def _draft_later(self, run_id: str) -> None:
        self.tasks.until_done("drafting", lambda: self._drafter.retry(run_id))

    async def agreed(self, run_id: str, /) -> None:
        stored = await self._database.read(stored_agreement, run_id)
        self._hand_over(run_id, stored.cluster)

    async def submission(self, run_id: str, /) -> None:
        provisioner = self._provisioners.get(run_id)
        if provisioner is not None:
            provisioner.look_again()
        else:
            await self.agreed(run_id)

    def _hand_over(self, run_id: str, cluster: str) -> None:
        # Whoever signs last and whoever submits first may both come here.
        if run_id in self._of_runs or self._stopping:
            return
        provisioner = Provisioner(run_id, self._links_of(cluster), self._database)
        self._provisioners[run_id] = provisioner
        self.metrics.handing_over(len(self._provisioners))
        task = self.tasks.until_done("handing over", lambda: self._provision(run_id, provisioner))
        self._of_runs[run_id] = task
        task.add_done_callback(lambda task: self._handed_over(run_id, task))

    async def _provision(self, run_id: str, provisioner: Provisioner) -> None:
        if await provisioner.hand_over():
            # A database that is away now must not leave the run without a place in the queue.
            await retry_until_written(lambda: self.resume(run_id), run=run_id)
        else:
            self._ended_runs.add(run_id)

    def _handed_over(self, run_id: str, task: asyncio.Task[None]) -> None:
        self._provisioners.pop(run_id, None)
        self.metrics.handing_over(len(self._provisioners))
        # By now the run may have its slot, and the task of that in this place.
        if self._of_runs.get(run_id) is task:
            del self._of_runs[run_id]

    # Running.

    async def resume(self, run_id: str, /) -> None:
        """A run is `submitted`: let it wait for a slot."""
        stored = await self._database.read(stored_agreement, run_id)
        self._links_of(stored.cluster)
        self._queue.add(Waiting(run_id, stored.cluster, stored.operator))
        self._dispatch()

    def _dispatch(self) -> None:
        if self._stopping:
            return
        for waiting in self._queue.take():
            self._of_runs[waiting.run_id] = self.tasks.once("runs", self._supervise(waiting))

    async def _supervise(self, waiting: Waiting) -> None:
        run_id, pauses = waiting.run_id, iter(RETRY_SECONDS)
        supervisor = RunSupervisor(run_id, self._links_of(waiting.cluster), self._services)
        self._supervisors[run_id] = supervisor
        try:
            while not await self._attempt(supervisor, run_id):
                await asyncio.sleep(next(pauses, RETRY_SECONDS[-1]))
        finally:
            # The task forgets itself before it frees the slot. A run that was resumed meanwhile
            # gets its next task in `_dispatch`, which this one must not remove.
            self._supervisors.pop(run_id, None)
            self._of_runs.pop(run_id, None)
            self._queue.release(run_id)
            self._ended_runs.add(run_id)
            self._dispatch()

    async def _attempt(self, supervisor: RunSupervisor, run_id: str) -> bool:
        """One attempt; whatever goes wrong in it, the run is not left in between."""
        try:
            return await supervisor.run()
        except Exception as error:
            log.error("internal error", exc_info=error, extra={"fields": {"run": run_id}})
        # One that did not run yet is tried again.
        return await retry_until_written(
            lambda: self._database.write(
                interrupt, run_id, self._services.data, "an internal error"
            ),
            run=run_id,
        )

    async def cancel(self, run_id: str, reason: str, /) -> None:
        supervisor = self._supervisors.get(run_id)
        last = supervisor.last if supervisor is not None else None

        def write(session: Session) -> None:
            run = read_run(session, run_id, for_update=True)
            if run.state == "cancelled":
                # The API has done so where the run was not running yet, in one step with its check.
                return
            result = None
            if run.state == "running" and run.agreement is not None:
                result = result_of(last, read_agreement(run.agreement))
            set_state(session, run_id, "cancelled", reason=reason, result=result)

        # Stored before the worker is killed: if the platform crashes in between, the run is
        # cancelled and not interrupted.
        await self._database.write(write)
        self._queue.remove(run_id)
        task = self._of_runs.get(run_id)
        if task is not None:
            task.cancel()
        self._ended_runs.add(run_id)

    # Logs.

    async def fetch_logs(
        self, run_id: str, nonce: bytes, /, *, heads_only: bool = False
    ) -> CarriedLogs:
        stored = await self._database.read(stored_agreement, run_id)
        early = {"submitted", "agreed"} if heads_only else {"submitted"}
        if stored.state in BEFORE_RUNNING - early:
            raise WrongStateError("the nodes have no log of this run yet; wait until it runs")
        if len(stored.signatures) < len(stored.agreement.participants):
            raise WrongStateError(
                f"the run was {stored.state} before everybody had signed, so no node has a log of "
                "it; nothing was computed and nothing disclosed"
            )
        has_ended = stored.state not in BEFORE_RUNNING | {"running"}
        if has_ended and run_id in self._supervisors:
            # The nodes may be about to write down their last answer.
            await asyncio.wait([self._of_runs[run_id]], timeout=LOG_SECONDS)
        coordinator = self._links_of(stored.cluster).coordinator(stored)
        fetch = coordinator.fetch_heads if heads_only else coordinator.fetch_logs
        try:
            # Nodes take the same agreement again, and answer with what they drew for the seed.
            dones = await coordinator.start_agreement(stored.signatures, within=LOG_SECONDS)
            logs = await fetch(nonce)
        except TimeoutError:
            raise NodesError("a node did not answer in time") from None
        except RefusedError:
            if stored.state != "cancelled" or stored.is_complete:
                raise
            # Its sealing keys were given back before all nodes had taken the agreement.
            raise WrongStateError(
                "the run was cancelled before the nodes had it and its rows, so not all have a "
                "log of it; nothing was computed and nothing disclosed"
            ) from None
        return CarriedLogs(
            logs=[
                CarriedLog(
                    node=node,
                    log=done.log,
                    seconds=done.seconds,
                    nonce=nonce.hex(),
                    signature=done.signature.hex(),
                    head=done.head,
                )
                for node, done in enumerate(logs)
            ],
            manifests=stored.signed_manifests(),
            words=dones[0].seed_contributions,
        )
