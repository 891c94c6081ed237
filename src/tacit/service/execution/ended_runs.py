"""Tell nodes that a run is over, so that they delete its inputs and all that came of them.

They give up the sealing keys that were drawn for it, too, whether it came to an agreement or not. A
node that is away is told when it is back; one that is never told deletes everything when the
agreement expires. An interrupted run is not over, since it can be resumed.
"""

from __future__ import annotations

import logging

from sqlalchemy import update
from sqlalchemy.orm import Session

from tacit.errors import TacitError
from tacit.records import End
from tacit.service.execution.cluster_links import ClusterLinks
from tacit.service.execution.held_run import HeldRun
from tacit.service.storage import Run, read_run
from tacit.service.storage.claims import OVER

TELL_SECONDS = 5.0
log = logging.getLogger("tacit.service.execution")


def end_of(session: Session, run_id: str, /) -> End | None:
    """What the nodes of a run that is over are told; None if they know nothing."""
    run = read_run(session, run_id)
    if run.state not in OVER or run.nonce is None:
        return None
    return End(agreement=bytes.fromhex(run.agreement_hash or ""), nonce=run.nonce)


def set_done(session: Session, run_id: str, /) -> None:
    """Store that nothing is left to be done for a run."""
    session.execute(update(Run).where(Run.id == run_id).values(work_left=False))


async def tell_nodes(run: HeldRun, links: ClusterLinks, /) -> bool:
    """Tell the nodes of a run that it is over; False if one does not confirm."""
    end = await run.read(end_of, run.id)
    try:
        if end is not None:
            await links.end_run(end, within=TELL_SECONDS)
    except (TacitError, TimeoutError, OSError) as error:
        fields = {"run": run.id, "what": str(error) or "a node did not answer in time"}
        log.warning("the end of a run is told again", extra={"fields": fields})
        return False
    await run.write(set_done, run.id)
    return True
