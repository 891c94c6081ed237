"""Drawing up agreements: the nodes draw sealing keys for each, so they have to be there.

A node that is away delays an agreement and loses none: what could not be drawn up is retried.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress

from tacit.coordinator import head_of_series
from tacit.derived import check_nodes_allow
from tacit.errors import MpcError, RefusedError, StorageError, TacitError, WrongStateError
from tacit.records import RefusalKind
from tacit.service.execution.cluster_links import ClusterLinks
from tacit.service.execution.patience import AGAIN, Patience
from tacit.service.storage import Database, add_warning, set_state
from tacit.service.workflow.inviting import (
    begin_draft,
    drafted,
    keep_draft,
    ready_to_draft,
    room_for,
)

RETRY_SECONDS = (1.0, 2.0, 5.0, 10.0, 30.0)
log = logging.getLogger("tacit.service.execution")


class Drafter:
    """Draws up the agreements of one service."""

    def __init__(
        self,
        database: Database,
        links_of: Callable[[str], ClusterLinks],
        ended: Callable[[str], None],
        /,
    ) -> None:
        """`ended` is called with a run that failed, whose keys are to be given back."""
        self._database, self._links_of, self._ended = database, links_of, ended
        self._retrying: set[str] = set()

    async def draw_up(self, run_id: str, /) -> bool:
        """Draft a run's agreement if all have joined; False if it has to be retried."""
        try:
            await self._once(run_id)
        except (TacitError, TimeoutError, OSError) as error:
            await self._warn(run_id, error)
            return not _may_pass(error)
        return True

    async def retry(self, run_id: str, /) -> None:
        """Try until it works, or there is nothing to draw up any more."""
        if run_id in self._retrying:
            return
        self._retrying.add(run_id)
        pauses, patience = iter(RETRY_SECONDS), Patience()
        try:
            while True:
                await asyncio.sleep(next(pauses, RETRY_SECONDS[-1]))
                try:
                    await self._once(run_id)
                except (TacitError, TimeoutError, OSError) as error:
                    if patience.is_over(error):
                        await self._fail(run_id, error)
                        return
                    if not _may_pass(error):
                        await self._warn(run_id, error)
                        return
                else:
                    return
        finally:
            self._retrying.discard(run_id)

    async def _fail(self, run_id: str, error: BaseException) -> None:
        try:
            await self._database.write(set_state, run_id, "failed", reason=f"{error}; {AGAIN}")
        except WrongStateError:
            return  # it has come to another end meanwhile
        self._ended(run_id)

    async def _once(self, run_id: str) -> None:
        if await self._database.read(ready_to_draft, run_id) is None:
            return
        ready = await self._database.write(begin_draft, run_id)
        if ready is None:
            return
        links = self._links_of(ready.cluster)
        text, rows = await asyncio.to_thread(room_for, ready, nodes=links.nodes)
        # The nodes draw sealing keys for the nonce of the run, once, however often this is retried.
        offers, platform = await links.offered_nodes(
            ready.nonce, text=text, rows=rows, series=ready.counted_series
        )
        nodes, head = [each.node for each in offers], head_of_series(offers)
        agreement = await asyncio.to_thread(
            drafted,
            ready,
            nodes=nodes,
            platform=platform,
            delay=links.delay,
            head=head,
        )
        allowed = [each.allows for each in offers]
        await asyncio.to_thread(check_nodes_allow, agreement, allowed)
        if not await self._database.write(keep_draft, run_id, agreement):
            # If it was cancelled meanwhile, its keys were perhaps given back before they came.
            self._ended(run_id)

    async def _warn(self, run_id: str, error: BaseException) -> None:
        what = str(error) or "a node did not answer in time"
        log.warning("no agreement yet", extra={"fields": {"run": run_id, "what": what}})
        later = "; this is retried" if _may_pass(error) else ""
        warning = f"the agreement cannot be drawn up: {what}{later}"
        # A database that is away takes no warning; it is the reason.
        with suppress(StorageError):
            await self._database.write(add_warning, run_id, warning)


def _may_pass(error: BaseException) -> bool:
    if isinstance(error, RefusedError):
        return error.kind == RefusalKind.FULL
    return isinstance(error, MpcError | StorageError | TimeoutError | OSError)
