"""How a node takes part in one computation, and how it refuses one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Protocol, TypeVar

from tacit.engine.agreement.terms import Agreement
from tacit.engine.identity.config import NodeConfig
from tacit.engine.node.links.peer_links import PeerLinks
from tacit.engine.node.state.agreement_state import AgreementState
from tacit.engine.node.state.equity.kept_book import KeptBook
from tacit.engine.node.state.kept_weights import KeptWeights
from tacit.engine.node.state.own_keys import OwnKeys
from tacit.engine.node.state.policy import refuse
from tacit.engine.node.work.memory_budget import MemoryBudget
from tacit.engine.node.work.worker_loops import BridgedMux, WorkerLoops
from tacit.engine.records.events import Event
from tacit.engine.records.evidence import FrameSigner
from tacit.errors import AbortError, EngineError
from tacit.mpc import (
    CLUSTER_SIZES,
    COORDINATOR,
    ArithmeticShare,
    Context,
    Epoch,
    Session,
    SessionMux,
    left_without,
    open_session,
    refuse_session,
    share_without,
)

T = TypeVar("T")

EPOCH_SECONDS = 3.0
"""So long a node waits for its peers to be there."""


class BooksOfNode(Protocol):
    """What computations need of the series that the node knows."""

    def book_of(self, agreement: Agreement, /) -> KeptBook | None:
        """The book of the series that a run belongs to, where balances are kept."""
        ...


class ComputingNode(Protocol):
    """What computations need of the node that takes part in them."""

    number: int
    name: str
    config: NodeConfig
    own_keys: OwnKeys
    peers: PeerLinks
    epochs: dict[tuple[bytes, int], Epoch]
    agreement_states: dict[bytes, AgreementState]
    workers: WorkerLoops
    memory: MemoryBudget
    weights: KeptWeights

    @property
    def series(self) -> BooksOfNode:
        """The series that it knows."""
        ...

    def end_epoch(self, agreement: bytes, /) -> None:
        """Nothing is ever drawn again from the keys of this agreement's epoch."""
        ...

    def note(self, event: Event, /) -> None:
        """Write a line in the node's own log."""
        ...


def _nodes(agreement_state: AgreementState) -> int:
    return len(agreement_state.agreement.nodes)


def _lost(agreement_state: AgreementState, members: tuple[int, ...]) -> int | None:
    return next((n for n in range(_nodes(agreement_state)) if n not in members), None)


def fit_to_epoch(
    share: ArithmeticShare, node: ComputingNode, agreement_state: AgreementState, epoch: int, /
) -> ArithmeticShare:
    """A share as the nodes of an epoch hold it: among three, if one of four was lost."""
    held = node.epochs.get((agreement_state.hash, epoch))
    if held is None or len(share.parts) == held.nodes - 1:
        return share
    lost = _lost(agreement_state, held.members)
    if lost is None:
        raise refuse("three nodes have this state; they hand it over before it is used")
    return share_without(share, me=node.number, lost=lost)


@asynccontextmanager
async def node_session(
    node: ComputingNode,
    agreement_state: AgreementState,
    context: Context,
    epoch_number: int,
    platform: SessionMux | None,
    /,
    *,
    away: bool = False,
    frozen: bool = True,
    agreed: bytes = b"",
    signed: bool = False,
) -> AsyncIterator[Session]:
    """A session in an agreement's epoch, with the platform if it takes part.

    Where inputs are frozen, nothing is computed with a node that has frozen others; `agreed` is
    what the nodes must agree on besides. If it is for use `away` from the node's event loop, its
    messages still go by way of that. In a `signed` attempt of four nodes, each signs what it sends
    the others.
    """
    epoch = node.epochs.get((agreement_state.hash, epoch_number))
    members = epoch.members if epoch is not None else left_without(_nodes(agreement_state), None)
    links = await node.peers.all(timeout=EPOCH_SECONDS, without=_lost(agreement_state, members))
    muxes: dict[int, SessionMux] = {members.index(peer): mux for peer, mux in links.items()}
    if platform is not None:
        muxes[COORDINATOR] = platform
    if epoch is None or epoch.closed:
        # The others may have begun: nobody waits for what will not come.
        await refuse_session(context, muxes=muxes)
        raise AbortError(node.name, "the epoch has ended; open a new one")
    timeout = node.config.timeout_seconds
    signer = None
    if signed and epoch.nodes == max(CLUSTER_SIZES):
        async with refusals_told(node, context, platform):
            agreement_state.epochs.check_signs()
        agreement = agreement_state.agreement
        signer = FrameSigner(agreement, node.own_keys.signing(agreement))
    if away:
        muxes = {peer: BridgedMux(mux) for peer, mux in muxes.items()}
    async with open_session(
        context,
        me=members.index(node.number),
        muxes=muxes,
        epoch=epoch,
        state=(agreement_state.inputs.digest() if frozen else b"") + agreed,
        signer=signer,
        timeout=timeout,
    ) as session:
        yield session


@asynccontextmanager
async def memory_for(
    node: ComputingNode,
    agreement_state: AgreementState,
    size: int,
    context: Context,
    platform: SessionMux | None,
    /,
) -> AsyncIterator[None]:
    """Room for what a computation takes; the others hear if there is none."""
    async with AsyncExitStack() as stack:
        try:
            room = node.memory.reserve(agreement_state.agreement.platform, size)
            await stack.enter_async_context(room)
        except AbortError:
            muxes: dict[int, SessionMux] = {**node.peers.current()}
            if platform is not None:
                muxes[COORDINATOR] = platform
            await refuse_session(context, muxes=muxes)
            raise
        node.weights.use(agreement_state)
        yield


async def compute_away(
    node: ComputingNode,
    agreement_state: AgreementState,
    work: Callable[[], Coroutine[Any, Any, T]],
    /,
    *,
    away: bool,
) -> T:
    """Do the work of a session `away` from the node's event loop, or here if it is small."""
    if not away:
        return await work()
    return await node.workers.run(agreement_state.agreement.platform, work)


@asynccontextmanager
async def refusals_told(
    node: ComputingNode, context: Context, platform: SessionMux | None, /
) -> AsyncIterator[None]:
    """Where we refuse, the others are told at once, and what they send must not pile up."""
    try:
        yield
    except EngineError:
        muxes: dict[int, SessionMux] = {**node.peers.current()}
        if platform is not None:
            muxes[COORDINATOR] = platform
        await refuse_session(context, muxes=muxes)
        raise
