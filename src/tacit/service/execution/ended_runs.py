"""Tell nodes that a run is over, so that they delete its inputs and all that came of them.

A node that is away is told when it is back; one that is never told deletes everything when the
agreement expires. An interrupted run is not over, since it can be resumed.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from sqlalchemy.orm import Session

from tacit.errors import NotThereError, RefusedError, StorageError, TacitError
from tacit.service.execution.agreed_runs import stored_agreement
from tacit.service.execution.cluster_links import ClusterLinks
from tacit.service.storage import Database, list_runs

OVER = frozenset({"finished", "failed", "cancelled"})
TELL_SECONDS = 5.0
RETRY_SECONDS = 10.0
LOOK_BACK_SECONDS = 86400.0
"""After a start, runs that ended since then may not have been told everywhere."""
log = logging.getLogger("tacit.service.execution")


def lately_over(session: Session, now: float, /) -> list[str]:
    """The runs that have ended a short while ago."""
    return [
        run.id
        for run in list_runs(session)
        if run.state in OVER and run.ended is not None and run.ended > now - LOOK_BACK_SECONDS
    ]


class EndedRuns:
    """What the nodes are still to be told."""

    def __init__(self, database: Database, links_of: Callable[[str], ClusterLinks], /) -> None:
        self._database, self._links_of = database, links_of
        self._untold: set[str] = set()
        self._news = asyncio.Event()

    def add(self, run_id: str, /) -> None:
        """A run may be over."""
        self._untold.add(run_id)
        self._news.set()

    async def tell(self) -> None:
        """Tell the nodes, for as long as the platform runs."""
        await self._remember()
        while True:
            if not self._untold:
                self._news.clear()
                await self._news.wait()
            for run_id in list(self._untold):
                if await self._tell_about(run_id):
                    self._untold.discard(run_id)
            if self._untold:
                await asyncio.sleep(RETRY_SECONDS)

    async def _remember(self) -> None:
        while True:
            try:
                for run_id in await self._database.read(lately_over, time.time()):
                    self.add(run_id)
            except StorageError:
                await asyncio.sleep(RETRY_SECONDS)
            else:
                return

    async def _tell_about(self, run_id: str) -> bool:
        try:
            stored = await self._database.read(stored_agreement, run_id)
            if stored.state not in OVER or stored.agreement.limits.expires <= time.time():
                return True
            links = self._links_of(stored.cluster)
            await links.coordinator(stored).end_agreement(within=TELL_SECONDS)
        except (NotThereError, RefusedError):
            return True  # no cluster has the run, or a node has deleted everything already
        except (TacitError, TimeoutError, OSError) as error:
            fields = {"run": run_id, "what": str(error) or "a node did not answer in time"}
            log.warning("the end of a run is told again", extra={"fields": fields})
            return False
        return True
