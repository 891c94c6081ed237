"""How a node takes part in one computation, and how it says no to one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, cast

from tacit.engine.node.state.agreement_state import AgreementState
from tacit.engine.wire.recording_mux import RecordingMux
from tacit.errors import AbortError, EngineError
from tacit.mpc import COORDINATOR, Context, Session, open_session, refuse_session
from tacit.mpc.transport import Mux

if TYPE_CHECKING:
    from tacit.engine.node.node import Node

EPOCH_SECONDS = 3.0
"""So long a node waits for its peers to be there."""


@asynccontextmanager
async def node_session(
    node: Node,
    agreement_state: AgreementState,
    context: Context,
    epoch_number: int,
    platform: Mux | RecordingMux | None,
    /,
) -> AsyncIterator[Session]:
    """A session in an agreement's epoch, with the platform if it takes part."""
    epoch = node.epochs.get((agreement_state.hash, epoch_number))
    muxes = await node.peers.both(timeout=EPOCH_SECONDS)
    if platform is not None:
        muxes[COORDINATOR] = cast(Mux, platform)
    if epoch is None or epoch.closed:
        # The others may have begun: nobody waits for what will not come.
        await refuse_session(context, muxes=muxes)
        raise AbortError(node.name, "the epoch has ended; open a new one")
    timeout = node.config.timeout_seconds
    async with open_session(
        context, me=node.number, muxes=muxes, epoch=epoch, timeout=timeout
    ) as session:
        yield session


@asynccontextmanager
async def refusals_told(
    node: Node, context: Context, platform: Mux | None, /
) -> AsyncIterator[None]:
    """Where we refuse, the others are told at once, and what they send must not pile up."""
    try:
        yield
    except EngineError:
        muxes = node.peers.current()
        if platform is not None:
            muxes[COORDINATOR] = platform
        await refuse_session(context, muxes=muxes)
        raise
