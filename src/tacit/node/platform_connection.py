"""Serve one platform's link: requests come in, each gets one reply.

Requests are worked on side by side, up to a number and a size. Beyond that nothing more is read,
and the network slows the platform down. A refusal is logged with its reason, and so is a failure;
anything that is not a valid request ends the link.
"""

from __future__ import annotations

import asyncio
import os
import time
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec.structs import replace

from tacit.errors import (
    EngineError,
    FrameError,
    InputError,
    LinkClosedError,
    LogError,
    MismatchError,
    MpcError,
    PeerError,
    PeerTimeoutError,
    RefusedError,
    SealError,
    UnwrittenError,
)
from tacit.mpc.transport import EarlyLimits, Frame, Mux
from tacit.node import evaluating, opening, searching
from tacit.node.admission import agree, allowed_by
from tacit.node.epochs import open_epoch
from tacit.node.equity import count_run
from tacit.node.links import end_of_link
from tacit.node.own_log import shorten
from tacit.node.preparing import freeze, prepare
from tacit.node.threads import in_thread
from tacit.node.voting import cast_vote
from tacit.records.events import NodeFault, RequestFailed, RequestRefused
from tacit.records.log import sign_head
from tacit.records.messages import (
    TALK,
    Advance,
    Agree,
    Cancel,
    CastVote,
    CountRun,
    Done,
    End,
    Evaluate,
    Failed,
    FetchLog,
    Freeze,
    LogPage,
    OfferSealingKey,
    OpenEpoch,
    OpenPlan,
    Ping,
    Pong,
    Prepare,
    RefusalKind,
    Refused,
    Reply,
    Result,
    Reveal,
    SealingKeyOffered,
    Submit,
    decode_request,
    encode_message,
)
from tacit.records.node_log import NodeLog

if TYPE_CHECKING:
    from tacit.node.agreement_state import AgreementState
    from tacit.node.server import Node


PAGE_REST = 1.0
"""Pages of a platform take half of a node's time at most."""


async def log_page(key: Ed25519PrivateKey, log: NodeLog, request: FetchLog, /) -> LogPage:
    """A page of a log; the last one has a signature under the head of the log.

    What is signed is on the disk before: a power cut must not take lines that a participant has.
    """
    page, more = log.page(request.offset)
    if more:
        return LogPage(id=request.id, log=page, more=True, signature=b"", seconds=int(time.time()))
    if not log.is_synced:
        await in_thread(log.sync)
    # Whatever was added meanwhile belongs to the head that is signed, so it comes along.
    page, more = log.page(request.offset)
    head, now = log.head, int(time.time())
    signed = b"" if more else sign_head(key, head, nonce=request.nonce, seconds=now)
    return LogPage(id=request.id, log=page, more=more, signature=signed, seconds=now, head=head)


Work = (
    OfferSealingKey
    | Agree
    | Submit
    | FetchLog
    | OpenEpoch
    | Prepare
    | Freeze
    | Evaluate
    | Reveal
    | Advance
    | CountRun
    | CastVote
    | OpenPlan
    | End
)
"""Requests that are worked on in a task of their own."""
REPLY_SECONDS = 10.0
QUIET_SECONDS = 3600.0
"""A link is closed after so long without a request, if none is worked on."""
MOST_REQUESTS = 256
"""How many requests of one platform are worked on at the same time."""
MOST_BYTES = 64 << 20
"""The size of all these together; one alone may be larger."""
PENDING_LIMIT = 32 << 20
"""How many bytes may lie unread on the link of a platform; a peer may leave more."""


EARLY_NOTICES = EarlyLimits(channels=256, frames=256, size=1 << 20, dropped=1_000)
"""What a platform may send beside its requests: notices that it gave an evaluation up."""


class PlatformConnection:
    """One platform's link to a node."""

    def __init__(self, node: Node, mux: Mux, platform: str) -> None:
        self._node, self.mux, self.platform = node, mux, platform
        self._talk = mux.open(TALK)
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._bytes = 0
        self._room = asyncio.Event()

    async def serve(self) -> None:
        ended: PeerError = LinkClosedError(self.mux.link.peer, "the node stops")
        try:
            while True:
                await self._take_one()
        except PeerError as error:
            ended = error
        finally:
            for task in list(self._tasks.values()):
                task.cancel()
            await asyncio.gather(*self._tasks.values(), return_exceptions=True)
            self._node.note(end_of_link(self.mux.link.peer, ended))
            await self.mux.close()

    async def _take_one(self) -> None:
        try:
            frame = await self._talk.receive(timeout=QUIET_SECONDS)
        except PeerTimeoutError:
            if self._tasks:
                return
            raise
        request = decode_request(frame.payload, peer=self.mux.link.peer)
        if isinstance(request, Ping):
            await self._send(self._pong(request))
        elif isinstance(request, Cancel):
            # Here and not as a task: it must get through when all places for requests are taken.
            task = self._tasks.get(request.target)
            if task is not None:
                task.cancel()
        else:
            await self._begin(request, frame)

    def _pong(self, request: Ping) -> Pong:
        scarcest, used = self._node.quota.seen(self.platform).scarcest
        return Pong(
            id=request.id,
            clock=time.time(),
            round_trip=self._node.peers.round_trip,
            used=used,
            scarcest=scarcest,
        )

    async def _begin(self, request: Work, frame: Frame) -> None:
        """Start a request as soon as there is room for it; its frame counts until its end."""
        size = frame.header.length
        if request.id in self._tasks:
            raise FrameError(self.mux.link.peer, f"used the number {request.id} for two requests")
        # While this waits nothing is read from the link, and TCP makes the platform wait.
        while self._tasks and (
            len(self._tasks) >= MOST_REQUESTS or self._bytes + size > MOST_BYTES
        ):
            self._room.clear()
            await self._room.wait()
        task = asyncio.get_running_loop().create_task(self._answer(request))
        self._tasks[request.id] = task
        self._bytes += size

        def finished(_: asyncio.Task[None]) -> None:
            del self._tasks[request.id]
            self._bytes -= frame.header.length
            self._room.set()

        task.add_done_callback(finished)

    async def _send(self, reply: Reply) -> None:
        await self._talk.send(1, encode_message(reply), timeout=REPLY_SECONDS)

    async def _answer(self, request: Work) -> None:
        begun = time.monotonic()
        reply = await self._reply_to(request)
        if self._node.metrics is not None:
            outcome = {Refused: "refused", Failed: "failed"}.get(type(reply), "done")
            kind = type(request).__name__.lower()
            self._node.metrics.answered(kind, outcome, time.monotonic() - begun)
        if isinstance(reply, Refused | Failed):
            self._log_trouble(request, reply)
        try:
            await self._send(reply)
        except PeerTimeoutError:
            # The platform takes no replies. They would pile up here.
            await self.mux.link.close()
        except PeerError:
            return  # the link is gone, and `serve` says so in the log

    async def _reply_to(self, request: Work) -> Reply:
        try:
            return await self._carry_out(request)
        except RefusedError as error:
            return Refused(
                id=request.id,
                reason=shorten(error.reason),
                kind=error.kind,
                participants=list(error.participants),
            )
        except UnwrittenError as error:
            # No refusal, which would end the run or, of its end, leave its inputs here: with room
            # on the disk the same request is carried out.
            return Failed(id=request.id, peer=self._node.name, what=shorten(str(error)))
        except (EngineError, InputError) as error:
            kind = RefusalKind.ROWS if isinstance(error, SealError) else ""
            return Refused(id=request.id, reason=shorten(str(error)), kind=kind)
        except PeerError as error:
            if isinstance(error, PeerTimeoutError):
                self._node.peers.check(error.peer)
            reply = Failed(id=request.id, peer=error.peer, what=shorten(error.what))
            if isinstance(error, MismatchError):
                reply = replace(reply, voucher=error.voucher, evidence=list(error.evidence))
            return reply
        except MpcError as error:
            return Failed(id=request.id, peer=self._node.name, what=shorten(str(error)))
        except Exception as error:
            # An internal error: the platform must not wait for an answer, and the node goes on. The
            # platform gets its kind alone, since the text may contain what is not for it.
            self._node.note(NodeFault(self.mux.link.peer, shorten(repr(error))))
            cause = type(error).__name__
            if isinstance(error, OSError) and error.errno is not None:
                cause = os.strerror(error.errno)
            what = f"failed itself ({cause}); its own log says more"
            return Failed(id=request.id, peer=self._node.name, what=what)

    def _log_trouble(self, request: Work, reply: Refused | Failed) -> None:
        """Log a refusal or failure: here alone, limited in number, and never for strangers."""
        kind = type(request).__name__.lower()
        event: RequestRefused | RequestFailed
        if isinstance(reply, Refused):
            event = RequestRefused(kind, reply.reason)
        else:
            evidence = [each.hex() for each in reply.evidence]
            event = RequestFailed(
                kind, reply.peer, reply.what, voucher=reply.voucher, evidence=evidence
            )
        state = self._node.agreement_states.get(getattr(request, "agreement", b""))
        if (
            state is None
            or not self._node.parties.are_one_platform(state.agreement.platform, self.platform)
            or self._node.quota.is_full(self.platform)
        ):
            # Not into the log of the agreement: a stranger or a full quota must not make it grow.
            self._node.note(replace(event, peer=self.mux.link.peer))
            return
        left_out = state.trouble_lines.admit()
        if left_out is None:
            return
        try:
            state.store.log.append(replace(event, left_out=left_out))
        except LogError as error:
            self._node.note(NodeFault(self.mux.link.peer, str(error)))

    async def _carry_out(self, request: Work) -> Result:
        node = self._node
        if isinstance(request, OfferSealingKey):
            return self._offer(request)
        if isinstance(request, Agree):
            return await agree(node, request, self.platform)
        if isinstance(request, End):
            node.end_run(request, self.platform)
            return Done(id=request.id)
        if isinstance(request, FetchLog | OpenPlan) and (found := await self._of_ended(request)):
            return found
        state = node.agreement_state(request.agreement, self.platform)
        if not isinstance(request, FetchLog):
            state.pass_fence(request.fence)
        if isinstance(request, OpenPlan) and (again := opening.released_before(state, request)):
            return again
        if not isinstance(request, FetchLog):
            node.quota.check_room(self.platform, state.growth(len(getattr(request, "box", b""))))
        with node.searches.used(state, self.platform):
            match request:
                case Submit():
                    return await self._submit(state, request)
                case FetchLog():
                    return await self._page(state, request)
                case OpenEpoch():
                    return await open_epoch(node, state, request)
                case Prepare():
                    return await prepare(node, state, request)
                case Freeze():
                    return await freeze(node, state, request)
                case Evaluate():
                    return await evaluating.evaluate(node, state, request, self.mux)
                case Reveal():
                    return await evaluating.reveal(node, state, request, self.mux)
                case Advance():
                    return await searching.advance(node, state, request, self.mux)
                case CountRun():
                    return await count_run(node, state, request)
                case CastVote():
                    return await cast_vote(node, state, request)
                case OpenPlan():
                    return await opening.open_plan(node, state, request)

    async def _of_ended(self, request: FetchLog | OpenPlan) -> Result | None:
        """What stays when an agreement has ended: its log, and the boxes of plans for their owners.

        An owner whose box was lost on the way gets it again. None if it has not ended.
        """
        state = self._node.agreement_states.get(request.agreement)
        if state is None:
            async with self._node.turns.of(self.platform):
                state = await self._node.ended_state(request.agreement, self.platform)
        if state is None or not state.ended:
            return None
        if isinstance(request, FetchLog):
            return await self._page(state, request)
        return opening.released_before(state, request)

    async def _page(self, state: AgreementState, request: FetchLog) -> LogPage:
        key = self._node.own_keys.signing(state.agreement)
        async with self._node.pages.of(self.platform, rest=PAGE_REST):
            return await log_page(key, state.store.log, request)

    async def _submit(self, state: AgreementState, request: Submit) -> Done:
        """Open a box in a thread, one of a platform at a time.

        Not beside a check of the inputs: that is of the rows that are here when it ends.
        """
        inputs = state.inputs
        async with inputs.preparing, self._node.turns.of(self.platform):
            manifest = await in_thread(inputs.examine, request)
            if manifest is not None:
                inputs.keep(request, manifest, voted=state.has_voted(manifest.objective))
        return Done(id=request.id)

    def _offer(self, request: OfferSealingKey) -> SealingKeyOffered:
        public, signature = self._node.offer_sealing_key(request, self.platform)
        head, counted = self._node.series.head(request.series)
        return SealingKeyOffered(
            id=request.id,
            sealing_key=public,
            signature=signature,
            allows=allowed_by(self._node.config),
            head=head,
            counted=counted,
        )
