"""Drawing up agreements: the nodes draw sealing keys for each, so they have to be there.

A node that is away delays an agreement and loses none: what could not be drawn up is retried.
"""

from __future__ import annotations

import asyncio
import logging

from tacit.coordinator import head_of_series
from tacit.derived import check_nodes_allow
from tacit.errors import (
    FencedError,
    MpcError,
    RefusedError,
    StorageError,
    TacitError,
    WrongStateError,
)
from tacit.records import RefusalKind
from tacit.service.execution.cluster_links import ClusterLinks
from tacit.service.execution.ended_runs import TELL_SECONDS, end_of
from tacit.service.execution.held_run import HeldRun
from tacit.service.execution.patience import AGAIN, Patience
from tacit.service.storage import set_state
from tacit.service.workflow.inviting import begin_draft, drafted, keep_draft, room_for

log = logging.getLogger("tacit.service.execution")


class Drafter:
    """Draws up the agreements of one process."""

    def __init__(self) -> None:
        self._patience: dict[str, Patience] = {}

    async def draw_up(self, run: HeldRun, links: ClusterLinks, /) -> bool:
        """Draft a run's agreement if all have joined; False if it has to be retried."""
        patience = self._patience.setdefault(run.id, Patience())
        try:
            await self._once(run, links)
        except FencedError:
            raise
        except WrongStateError:
            pass  # it has come to an end meanwhile
        except (TacitError, TimeoutError, OSError) as error:
            if not patience.is_over(error):
                await self._warn(run, error)
                return False
            await run.write(set_state, run.id, "failed", reason=f"{error}; {AGAIN}")
        del self._patience[run.id]
        return True

    async def _once(self, run: HeldRun, links: ClusterLinks) -> None:
        ready = await run.write(begin_draft, run.id)
        if ready is None:
            return
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
        try:
            await run.write(keep_draft, run.id, agreement)
        except FencedError:
            # If it was cancelled meanwhile, its keys were perhaps given back before they came.
            end = await run.read(end_of, run.id)
            if end is not None:
                await links.end_run(end, within=TELL_SECONDS)
            raise

    async def _warn(self, run: HeldRun, error: BaseException) -> None:
        what = str(error) or "a node did not answer in time"
        log.warning("no agreement yet", extra={"fields": {"run": run.id, "what": what}})
        later = "; this is retried" if _may_pass(error) else ""
        if not isinstance(error, StorageError):  # which takes no warning
            await run.trouble(f"the agreement cannot be drawn up: {what}{later}")


def _may_pass(error: BaseException) -> bool:
    if isinstance(error, RefusedError):
        return error.kind == RefusalKind.FULL
    return isinstance(error, MpcError | StorageError | TimeoutError | OSError)
