"""How a node takes part in a computation: begun in its log, computed, logged as sent, answered.

::

    begins      allowed, and counted in the log      a crash after it: the same request comes again
    session     computed with the peers; parts go to the platform as they are ready
    log_sent    all is out                           a crash before it: nothing proves this attempt,
                                                     so the coordinator asks for another
    reply       what the next request builds on is kept

The line that counts comes first, since otherwise a crash would give away an answer that nobody
counted. The line with the hash comes last, since a log must not claim what never left: then a
platform could be blamed for hiding an answer that it does not have.

How all four nodes compute on from a state that three of them left.

The three hand it over in the first round of the computation, under the keys of the epoch that the
fourth is back with. Whether they do is part of what all nodes must agree on before they speak.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from tacit.agreement.terms import Agreement
from tacit.errors import AbortError, EngineError
from tacit.identity.config import NodeConfig
from tacit.mpc import (
    CLUSTER_SIZES,
    COORDINATOR,
    ArithmeticShare,
    Epoch,
    Session,
    SessionMux,
    Size,
    hand_over,
    left_without,
    open_session,
    refuse_session,
    share_without,
)
from tacit.node.agreement_state import AgreementState
from tacit.node.counters import BestSoFar
from tacit.node.keys import OwnKeys
from tacit.node.limits import KeptWeights, MemoryBudget
from tacit.node.links import PeerLinks
from tacit.node.policy import refuse
from tacit.node.sealed_progress import SealedProgress
from tacit.node.series import KeptBook
from tacit.node.threads import BridgedMux, WorkerLoops
from tacit.records.events import BuiltOnThree, LogEvent
from tacit.records.evidence import FrameSigner
from tacit.records.ledger import DisclosedProof, DisclosureKind
from tacit.records.messages import Computation, Computed, attempt_of, context_of
from tacit.records.recording_mux import RecordingMux
from tacit.records.requests import Attempt

T = TypeVar("T")
R = TypeVar("R", bound=Computed)

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

    def note(self, event: LogEvent, /) -> None:
        """Write a line in the node's own log."""
        ...


class NodeComputation:
    """One computation at this node, from the request to the reply."""

    def __init__(
        self,
        node: ComputingNode,
        agreement_state: AgreementState,
        request: Computation[Any],
        digest: bytes,
        platform: SessionMux | None,
        /,
    ) -> None:
        """`digest` names the request; `platform` is None if nothing is sent to it."""
        self._node, self._state, self._request = node, agreement_state, request
        self._digest, self._context = digest, context_of(request, digest)
        self._sent = None if platform is None else RecordingMux(platform)
        self._away = False
        self._session: Session | None = None
        self.attempt = attempt_of(request)

    @asynccontextmanager
    async def begins(self) -> AsyncIterator[None]:
        """Decide on the request and log it; if it is refused, the others are told at once.

        They may have begun already, and what they send must not pile up.
        """
        try:
            yield
        except EngineError:
            await self._refuse(dict(self._node.peers.current()))
            raise

    async def _refuse(self, muxes: dict[int, SessionMux]) -> None:
        """Tell the others that nothing will come from us."""
        if self._sent is not None:
            muxes[COORDINATOR] = self._sent
        await refuse_session(self._context, muxes=muxes)

    @asynccontextmanager
    async def session(
        self, *, size: int, away: bool, agreed: bytes = b"", frozen: bool = True
    ) -> AsyncIterator[Session]:
        """Open the session with peers and platform, with room for so many bytes.

        Where inputs are `frozen`, nothing is computed with a node that has frozen others; `agreed`
        is what the nodes must agree on besides. What takes long is computed `away` from the node's
        event loop, and its messages still go by way of that. In a signed attempt of four nodes,
        each signs what it sends the others, once inputs are frozen.
        """
        self._away = away
        async with AsyncExitStack() as stack:
            try:
                room = self._node.memory.reserve(self._state.agreement.platform, size)
                await stack.enter_async_context(room)
            except AbortError:
                await self._refuse(dict(self._node.peers.current()))
                raise
            self._node.weights.use(self._state)
            epoch, muxes = await self._met()
            signer = None
            if frozen and self._request.signed and epoch.nodes == max(CLUSTER_SIZES):
                async with self.begins():
                    self._state.epochs.check_signs()
                agreement = self._state.agreement
                signer = FrameSigner(agreement, self._node.own_keys.signing(agreement))
            if away:
                muxes = {peer: BridgedMux(mux) for peer, mux in muxes.items()}
            self._session = await stack.enter_async_context(
                open_session(
                    self._context,
                    me=epoch.members.index(self._node.number),
                    muxes=muxes,
                    epoch=epoch,
                    state=(self._state.inputs.digest() if frozen else b"") + agreed,
                    signer=signer,
                    timeout=self._node.config.timeout_seconds,
                )
            )
            yield self._session

    async def _met(self) -> tuple[Epoch, dict[int, SessionMux]]:
        """Return the epoch, and the links to those who take part in it."""
        epoch = self._epoch
        nodes = len(self._state.agreement.nodes)
        members = left_without(nodes, None) if epoch is None else epoch.members
        links = await self._node.peers.all(
            timeout=EPOCH_SECONDS, without=_missing_from(members, nodes)
        )
        muxes: dict[int, SessionMux] = {members.index(peer): mux for peer, mux in links.items()}
        if epoch is None or epoch.closed:
            # The others may have begun: nobody waits for what will not come.
            await self._refuse(muxes)
            raise AbortError(self._node.name, "the epoch has ended; open a new one")
        if self._sent is not None:
            muxes[COORDINATOR] = self._sent
        return epoch, muxes

    @property
    def _epoch(self) -> Epoch | None:
        return self._node.epochs.get((self._state.hash, self._request.epoch))

    async def run(self, work: Callable[[], Coroutine[Any, Any, T]], /) -> T:
        """Do the work of the session, away from the node's event loop or here."""
        if not self._away:
            return await work()
        return await self._node.workers.run(self._state.agreement.platform, work)

    def fit(self, share: ArithmeticShare, /) -> ArithmeticShare:
        """Return a share as the nodes of the epoch hold it: three of four, if one was lost."""
        epoch = self._epoch
        if epoch is None or len(share.parts) == epoch.nodes - 1:
            return share
        lost = _missing_from(epoch.members, len(self._state.agreement.nodes))
        if lost is None:
            raise refuse("three nodes have this state; they hand it over before it is used")
        return share_without(share, me=self._node.number, lost=lost)

    def log_sent(
        self, kind: DisclosureKind, about: int, /, *, known: DisclosedProof | None = None
    ) -> None:
        """Log that everything has left the node, which is so once the session has ended."""
        assert self._sent is not None
        self._state.store.log_sent(
            kind, about, self.attempt, self._digest, self._sent.digest, known=known
        )

    def reply(self, kind: Callable[..., R], /, **fields: object) -> R:
        """Return the reply, with what the computation cost."""
        assert self._session is not None
        return kind(
            id=self._request.id, sent=self._session.sent, rounds=self._session.depth, **fields
        )


def _missing_from(members: tuple[int, ...], nodes: int) -> int | None:
    return next((node for node in range(nodes) if node not in members), None)


@dataclass(frozen=True, slots=True)
class Handover:
    """Which state is handed over, and to whom; none where all that compute have it."""

    parent: Attempt
    lost: int | None = None

    @classmethod
    def find(
        cls,
        node: ComputingNode,
        agreement_state: AgreementState,
        epoch: int,
        parent: Attempt,
        states: BestSoFar | SealedProgress | None,
        /,
    ) -> Handover:
        """What an attempt in this epoch takes, if it builds on `parent`."""
        held = node.epochs.get((agreement_state.hash, epoch))
        everybody = held is not None and held.nodes == len(agreement_state.agreement.nodes)
        if states is None or not everybody:
            return cls(parent)
        if parent in states.from_peers:
            return cls(parent, node.number)
        return cls(parent, agreement_state.epochs.lost if parent in states.of_three else None)

    def agreed(self) -> bytes:
        """What the nodes must agree on."""
        return b"" if self.lost is None else f"node {self.lost} gets {self.parent}".encode()

    def log(self, agreement_state: AgreementState, attempt: Attempt, /) -> None:
        """Write down that what is computed from now on is not checked all the way."""
        if self.lost is not None:
            agreement_state.store.log.append(BuiltOnThree(attempt, self.parent))

    async def to_all(
        self, session: Session, held: Sequence[ArithmeticShare], sizes: Sequence[Size], /
    ) -> list[ArithmeticShare]:
        """The state as all nodes hold it; `held` is empty at the one that lacks it. 1 round."""
        if self.lost is None:
            return list(held)
        return await hand_over(session, held, sizes, lost=self.lost, label="return")
