"""Tell nodes that a run is over, so that they delete its inputs and all that came of them.

They give up the sealing keys that were drawn for it, too, whether it came to an agreement or not. A
node that is away is told when it is back; one that is never told deletes everything when the
agreement expires. An interrupted run is not over, since it can be resumed.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from sqlalchemy import select
from sqlalchemy.orm import Session

from tacit.errors import NotThereError, TacitError
from tacit.records import End
from tacit.service.execution.cluster_links import ClusterLinks
from tacit.service.storage import Database, Run, read_run
from tacit.supervisor import Supervisor

OVER = ("finished", "failed", "cancelled")
TELL_SECONDS = 5.0
RETRY_SECONDS = 10.0
LOOK_BACK_SECONDS = 86400.0
"""After a start, runs that ended since then may not have been told everywhere."""
MARGIN_SECONDS = 60.0
"""A run is stored with the time of its end a moment later, or much later on a slow disk."""
log = logging.getLogger("tacit.service.execution")


def ended_since(session: Session, since: float, /) -> set[str]:
    """The runs that have ended since then."""
    query = select(Run.id).where(Run.state.in_(OVER), Run.ended > since)
    return set(session.scalars(query))


def end_of(session: Session, run_id: str, /) -> tuple[str, End] | None:
    """The cluster of a run that is over, and what its nodes are told; None if they know nothing."""
    run = read_run(session, run_id)
    if run.state not in OVER or run.cluster is None or run.nonce is None:
        return None
    return run.cluster, End(agreement=bytes.fromhex(run.agreement_hash or ""), nonce=run.nonce)


class EndedRuns:
    """What the nodes are still to be told."""

    def __init__(self, database: Database, links_of: Callable[[str], ClusterLinks], /) -> None:
        self._database, self._links_of = database, links_of
        self._untold: set[str] = set()
        self._told: set[str] = set()
        """Those that the next look at the database would find again."""
        self._since = time.time() - LOOK_BACK_SECONDS
        self._news = asyncio.Event()

    def add(self, run_id: str, /) -> None:
        """A run may be over; it need not wait for the next look at the database."""
        self._untold.add(run_id)
        self._news.set()

    def start(self, tasks: Supervisor, /) -> None:
        """Tell the nodes, for as long as the platform runs."""
        tasks.every(RETRY_SECONDS, "ended runs", self.tell, early=self._news)

    async def tell(self) -> None:
        """Tell the nodes of all runs that they do not know of yet, once."""
        begun = time.time()
        # A run may also end in the database alone, as one of a series whose agreement expires.
        found = await self._database.read(ended_since, self._since)
        self._told &= found
        self._untold |= found - self._told
        self._since = max(self._since, begun - MARGIN_SECONDS)
        for run_id in list(self._untold):
            if await self._tell_about(run_id):
                self._untold.discard(run_id)
                self._told.add(run_id)

    async def _tell_about(self, run_id: str) -> bool:
        try:
            end = await self._database.read(end_of, run_id)
            if end is not None:
                cluster, message = end
                await self._links_of(cluster).end_run(message, within=TELL_SECONDS)
        except NotThereError:
            return True  # no cluster has the run
        except (TacitError, TimeoutError, OSError) as error:
            fields = {"run": run_id, "what": str(error) or "a node did not answer in time"}
            log.warning("the end of a run is told again", extra={"fields": fields})
            return False
        return True
