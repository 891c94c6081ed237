"""Serve the API's questions about execution: store nothing, wake up workers, fetch logs.

Every process with an API has links of its own to the nodes. What executes runs may be in the same
process, in a thread of its own, or in others.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from sqlalchemy.orm import Session

from tacit.client import CarriedLog, CarriedLogs, ClusterView
from tacit.errors import NodesError, NotThereError, RefusedError, WrongStateError
from tacit.service.execution.agreed_runs import stored_agreement
from tacit.service.execution.cluster_links import ClusterLinks, links_of
from tacit.service.execution.worker_thread import WorkerThread
from tacit.service.server.metrics import ServiceMetrics
from tacit.service.server.settings import Settings
from tacit.service.storage import Database, loads, read_run, runs_in_state, workers_seen
from tacit.service.storage.states import BEFORE_RUNNING
from tacit.service.workflow.inviting import ready_to_draft
from tacit.supervisor import Supervisor, log_failures

LOADS_EVERY_SECONDS = 1.0
LOG_SECONDS = 10.0
DRAFT_SECONDS, DRAFT_LOOK_SECONDS = 5.0, 0.03
LOOK_AGAIN_SECONDS = 0.1
log = logging.getLogger("tacit.service.execution")
MakeWorker = Callable[[Settings, Database, ServiceMetrics], WorkerThread]


def _is_being_drafted(session: Session, run_id: str) -> bool:
    return not read_run(session, run_id).troubles and ready_to_draft(session, run_id) is not None


class ApiExecution:
    """What an API needs of execution; see `port.Execution`."""

    def __init__(
        self, settings: Settings, database: Database, /, *, worker: MakeWorker | None = None
    ) -> None:
        """`worker` makes what executes runs in this process, if something does."""
        self._database, self._links = database, links_of(settings)
        self._loads: dict[str, tuple[int, int]] = {}
        self.metrics = ServiceMetrics()
        self.tasks = Supervisor(log_failures(log))
        self.metrics.watch_clusters(self.clusters)
        self.metrics.watch_tasks(self.tasks)
        self._worker = None if worker is None else worker(settings, database, self.metrics)
        if self._worker is not None:
            # The figures have the tasks of both loops in one table.
            self._worker.tasks.health = self.tasks.health

    async def start(self) -> None:
        for links in self._links.values():
            links.start(self.tasks)
        await self._look()
        self.tasks.every(LOADS_EVERY_SECONDS, "load of clusters", self._look)
        if self._worker is not None:
            await self._worker.start()

    async def stop(self) -> None:
        await self.tasks.close()
        if self._worker is not None:
            await self._worker.stop()
        await asyncio.gather(*(links.stop() for links in self._links.values()))

    async def _look(self) -> None:
        self._loads = await self._database.read(loads)
        self.metrics.workers(len(await self._database.read(workers_seen)))

    async def changed(self, run_id: str, /) -> None:
        """Have the worker of this process look now; others hear of the change by its event.

        Whoever joins last, or invites, finds the agreement drawn up where nodes and workers answer.
        """
        if self._worker is not None:
            self._worker.look_now()
        until = asyncio.get_running_loop().time() + DRAFT_SECONDS
        while asyncio.get_running_loop().time() < until:
            if not await self._database.read(_is_being_drafted, run_id):
                return
            await asyncio.sleep(DRAFT_LOOK_SECONDS)

    async def cluster_for_new_run(self) -> str:
        def load(session: Session) -> dict[str, int]:
            found = dict.fromkeys(self._links, 0)
            for run in runs_in_state(session, ["invited", "agreed", "submitted", "running"]):
                if run.cluster in found:
                    found[run.cluster] += 1
            return found

        found = await self._database.read(load)
        return min(found, key=lambda name: found[name] / self._links[name].slots)

    def clusters(self) -> list[ClusterView]:
        """All clusters, as last seen; any thread may ask."""
        views = []
        for name, links in self._links.items():
            running, waiting = self._loads.get(name, (0, 0))
            views.append(links.status(running=running, waiting=waiting))
        return views

    def _links_of(self, cluster: str) -> ClusterLinks:
        if cluster not in self._links:
            raise NotThereError(
                f"there is no cluster {cluster!r} in service.toml any more; add it again"
            )
        return self._links[cluster]

    async def _until_given_back(self, run_id: str) -> None:
        """Wait until no process works on a run: nodes may be about to log their last answer."""

        def claim(session: Session) -> tuple[str | None, int]:
            run = read_run(session, run_id)
            return run.owner, run.fence

        first = await self._database.read(claim)
        until = asyncio.get_running_loop().time() + LOG_SECONDS
        while asyncio.get_running_loop().time() < until:
            owner, fence = await self._database.read(claim)
            if owner is None or fence != first[1]:
                return
            await asyncio.sleep(LOOK_AGAIN_SECONDS)

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
        if stored.state not in BEFORE_RUNNING | {"running"}:
            await self._until_given_back(run_id)
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
