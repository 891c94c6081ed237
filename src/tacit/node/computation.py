"""Take part in a computation: log that it begins, compute with the peers, log what was sent, reply.

::

    begins      allowed, and counted in the log      a crash after it: the same request comes again
    session     computed with the peers; parts go to the platform as they are ready
    log_sent    all is out                           a crash before it: nothing proves this attempt,
                                                     so the coordinator asks for another
    reply       what the next request builds on is kept

The line that counts comes first, since otherwise a crash would give away an answer that nobody
counted. The line with the hash comes last, since a log must not claim what never left: then a
platform could be blamed for hiding an answer that it does not have.

A computation of four nodes may build on a state that three of them left. The three hand it over in
the first round, under the keys of the epoch with which the fourth is back (`StateHandover`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

import msgspec

from tacit.agreement.sizes import working_bytes
from tacit.errors import AbortError, EngineError
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
from tacit.node.policy import refuse
from tacit.node.sealed_progress import SealedProgress
from tacit.node.threads import BridgedMux
from tacit.node.worker import Task
from tacit.records.events import BuiltOnThree
from tacit.records.evidence import NodeSigner
from tacit.records.ledger import DisclosedProof, DisclosureKind
from tacit.records.messages import Computation, Computed, attempt_of, context_of
from tacit.records.recording_mux import RecordingMux
from tacit.records.requests import Attempt

if TYPE_CHECKING:
    from tacit.node.server import Node

T = TypeVar("T")
R = TypeVar("R", bound=Computed)
K = TypeVar("K", bound=msgspec.Struct)

EPOCH_SECONDS = 3.0
"""So long a node waits for its peers to be there."""


class NodeComputation:
    """One computation at this node, from the request to the reply."""

    def __init__(
        self,
        node: Node,
        state: AgreementState,
        request: Computation[Any],
        digest: bytes,
        platform: SessionMux | None,
        /,
    ) -> None:
        """`digest` is the request's hash; `platform` is None if nothing is sent to it."""
        self._node, self._state, self._request = node, state, request
        self._digest, self._context = digest, context_of(request, digest)
        self._sent = None if platform is None else RecordingMux(platform)
        self._away = False
        self._session: Session | None = None
        self.attempt = attempt_of(request)

    @asynccontextmanager
    async def begins(self) -> AsyncIterator[None]:
        """Decide on the request and log it; if it is refused, notify the others at once.

        They may have begun already, and what they send must not pile up.
        """
        try:
            yield
        except EngineError:
            await self._refuse(dict(self._node.peers.current()))
            raise

    async def _refuse(self, muxes: dict[int, SessionMux]) -> None:
        """Notify the others that nothing will come from this node."""
        if self._sent is not None:
            muxes[COORDINATOR] = self._sent
        await refuse_session(self._context, muxes=muxes)

    @asynccontextmanager
    async def session(
        self,
        *,
        size: int,
        away: bool,
        agreed: bytes = b"",
        frozen: bool = True,
        tells: bool = False,
    ) -> AsyncIterator[Session]:
        """Open the session with peers and platform, with room for `size` bytes.

        If inputs are `frozen`, a node that has frozen others is refused; `agreed` is what the nodes
        must agree on besides. A long computation runs `away` from the node's event loop, which
        still carries its messages. In a signed attempt of four nodes, each signs what it sends the
        others, once inputs are frozen. In one that `tells` it signs what it tells all of them.
        """
        self._away = away
        async with AsyncExitStack() as stack:
            # Memory first: a computation that waits for it must not have opened a session yet, or
            # the others would time out within it and end the epoch.
            try:
                room = self._node.memory.reserve(self._state.agreement.platform, size)
                await stack.enter_async_context(room)
            except AbortError:
                await self._refuse(dict(self._node.peers.current()))
                raise
            self._node.weights.use(self._state)
            epoch, muxes = await self._met()
            of_four, signer, teller = epoch.nodes == max(CLUSTER_SIZES), None, None
            async with self.begins():
                # Before inputs are frozen no letters are signed: what honest nodes say of different
                # inputs would look like a lie.
                if of_four and frozen and self._request.signed:
                    self._state.epochs.check_signs()
                    signer = self._signer("frame")
                if of_four and tells:
                    teller = self._signer("told")
            if away:
                muxes = {peer: BridgedMux(mux) for peer, mux in muxes.items()}
            self._session = await stack.enter_async_context(
                open_session(
                    self._context,
                    me=epoch.members.index(self._node.number),
                    muxes=muxes,
                    epoch=epoch,
                    # Nodes with another digest draw other masks, and the first message fails.
                    state=(self._state.inputs.digest() if frozen else b"") + agreed,
                    signer=signer,
                    teller=teller,
                    timeout=self._node.config.timeout_seconds,
                )
            )
            yield self._session

    def _signer(self, purpose: Literal["frame", "told"]) -> NodeSigner:
        agreement = self._state.agreement
        return NodeSigner(agreement, purpose, self._node.own_keys.signing(agreement))

    async def _met(self) -> tuple[Epoch, dict[int, SessionMux]]:
        """Return the epoch, and the links to its members."""
        epoch = self._epoch
        nodes = len(self._state.agreement.nodes)
        members = left_without(nodes, None) if epoch is None else epoch.members
        links = await self._node.peers.all(
            timeout=EPOCH_SECONDS, without=_missing_from(members, nodes)
        )
        muxes: dict[int, SessionMux] = {members.index(peer): mux for peer, mux in links.items()}
        if epoch is None or epoch.closed:
            # The others may have begun: without notice they would wait for their timeout.
            await self._refuse(muxes)
            raise AbortError(self._node.name, "the epoch has ended; open a new one")
        if self._sent is not None:
            muxes[COORDINATOR] = self._sent
        return epoch, muxes

    @property
    def _epoch(self) -> Epoch | None:
        return self._node.epochs.get((self._state.hash, self._request.epoch))

    async def run(self, work: Callable[[], Coroutine[Any, Any, T]], /) -> T:
        if not self._away:
            return await work()
        return await self._node.workers.run(self._state.agreement.platform, work)

    async def compute(
        self, task: Task, decoder: msgspec.msgpack.Decoder[K], /, *, is_long: bool
    ) -> K:
        """Compute a task here, or in the process of its agreement; `decoder` reads its result."""
        assert self._session is not None
        name = self._state.hash
        async with self._node.processes.worker_for(name, is_long=is_long) as worker:
            # What is signed is signed here: no other process has the key.
            if worker is None or self._session.is_signed:
                return cast(K, await task.compute(self._session))
            memory = working_bytes(self._state.agreement)
            return await worker.compute(self._session, task, decoder, memory=memory)

    def fit(self, share: ArithmeticShare, /) -> ArithmeticShare:
        """Return a share as the members of the epoch hold it: three of four, if one was lost."""
        return self.fitting(share)

    @property
    def fitting(self) -> Fitting:
        epoch, nodes = self._epoch, len(self._state.agreement.nodes)
        members = left_without(nodes, None) if epoch is None else epoch.members
        return Fitting(self._node.number, len(members), _missing_from(members, nodes))

    def log_sent(
        self, kind: DisclosureKind, about: int, /, *, known: DisclosedProof | None = None
    ) -> None:
        """Log what has left the node: all of it, once the session has ended."""
        assert self._sent is not None
        self._state.store.log_sent(
            kind, about, self.attempt, self._digest, self._sent.digest, known=known
        )

    def reply(self, kind: Callable[..., R], /, **fields: object) -> R:
        assert self._session is not None
        return kind(
            id=self._request.id, sent=self._session.sent, rounds=self._session.depth, **fields
        )


def _missing_from(members: tuple[int, ...], nodes: int) -> int | None:
    return next((node for node in range(nodes) if node not in members), None)


@dataclass(frozen=True, slots=True)
class Fitting:
    """Fits shares to the members of an epoch: three of four, if one was lost."""

    me: int
    members: int
    lost: int | None

    def __call__(self, share: ArithmeticShare, /) -> ArithmeticShare:
        if len(share.parts) == self.members - 1:
            return share
        if self.lost is None:
            raise refuse("three nodes have this state; they hand it over before it is used")
        return share_without(share, me=self.me, lost=self.lost)


@dataclass(frozen=True, slots=True)
class StateHandover:
    """The state that a computation builds on, and the node to which the others hand it over."""

    parent: Attempt
    lost: int | None = None
    """The node that lacks the state; None where all that compute have it."""

    @classmethod
    def find(
        cls,
        node: Node,
        state: AgreementState,
        epoch: int,
        parent: Attempt,
        states: BestSoFar | SealedProgress | None,
        /,
    ) -> StateHandover:
        """Find which node lacks the state that `parent` left, for a computation in this epoch."""
        held = node.epochs.get((state.hash, epoch))
        everybody = held is not None and held.nodes == len(state.agreement.nodes)
        if states is None or not everybody:
            return cls(parent)
        if parent in states.from_peers:
            return cls(parent, node.number)
        return cls(parent, state.epochs.lost if parent in states.of_three else None)

    def agreed(self) -> bytes:
        """What the nodes must agree on: otherwise some would send in the round and others not."""
        return b"" if self.lost is None else f"node {self.lost} gets {self.parent}".encode()

    def log(self, state: AgreementState, attempt: Attempt, /) -> None:
        if self.lost is not None:
            state.store.log.append(BuiltOnThree(attempt, self.parent))

    async def to_all(
        self, session: Session, held: Sequence[ArithmeticShare], sizes: Sequence[Size], /
    ) -> list[ArithmeticShare]:
        """Return the state as all nodes hold it; `held` is empty at the one without. 1 round."""
        if self.lost is None:
            return list(held)
        return await hand_over(session, held, sizes, lost=self.lost, label="return")
