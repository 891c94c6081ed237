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

from tacit.errors import NotThereError, RefusedError, TacitError
from tacit.service.execution.agreed_runs import stored_agreement
from tacit.service.execution.cluster_links import ClusterLinks
from tacit.service.storage import Database, list_runs, read_run
from tacit.supervisor import Supervisor

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


def drawn_in_vain(session: Session, run_id: str, /) -> tuple[str, str] | None:
    """The cluster and the nonce of a run that is over and was never drafted."""
    run = read_run(session, run_id)
    if run.state not in OVER or run.agreement is not None:
        return None
    return None if run.nonce is None or run.cluster is None else (run.cluster, run.nonce)


class EndedRuns:
    """What the nodes are still to be told."""

    def __init__(self, database: Database, links_of: Callable[[str], ClusterLinks], /) -> None:
        self._database, self._links_of = database, links_of
        self._untold: set[str] = set()
        self._remembered = False
        """Whether the runs that ended before the start are among these."""
        self._news = asyncio.Event()

    def add(self, run_id: str, /) -> None:
        """A run may be over."""
        self._untold.add(run_id)
        self._news.set()

    def start(self, tasks: Supervisor, /) -> None:
        """Tell the nodes, for as long as the platform runs."""
        tasks.every(RETRY_SECONDS, "ended runs", self.tell, early=self._news)

    async def tell(self) -> None:
        """Tell the nodes of all runs that they do not know of yet, once."""
        if not self._remembered:
            self._untold |= set(await self._database.read(lately_over, time.time()))
            self._remembered = True
        for run_id in list(self._untold):
            if await self._tell_about(run_id):
                self._untold.discard(run_id)

    async def _tell_about(self, run_id: str) -> bool:
        try:
            # Keys that were drawn for a run which came to no agreement.
            drawn = await self._database.read(drawn_in_vain, run_id)
            if drawn is not None:
                cluster, nonce = drawn
                await self._links_of(cluster).give_back(nonce, within=TELL_SECONDS)
                return True
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
