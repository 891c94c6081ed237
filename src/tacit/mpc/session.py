"""One evaluation as one party sees it: its letters, its masks, its measured cost.

A session hands out each label's mask once per component and refuses a repeat. It counts the bytes
it sends, and tracks the depth of the longest chain of messages so far, so that rounds are
measured and not assumed.

Nodes must agree on everything before they speak: where the states of honest nodes differ, one
node's piece and another's hash would tell two values under one mask. So the first frame to every
other node begins with a greeting, a hash of all that they must agree on, and nothing more leaves
before the same greeting has come from all of them. What goes with it is masked, and the masks
depend on all that too; what is opened waits (`meet`).
"""

from __future__ import annotations

import asyncio
import hashlib
import math
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tacit.errors import AbortError, MaskReuseError, PeerError
from tacit.mpc.letters import Letter, frames, opened
from tacit.mpc.masks import MaskSource
from tacit.mpc.shares import COORDINATOR, held_by, party_name
from tacit.mpc.signed_letters import Place, SignedRound, Signer
from tacit.mpc.told import tell_signed
from tacit.mpc.transport.frame import HEADER_BYTES, Buffer, Frame


class Wire(Protocol):
    """One substream's way to one peer; a `Conversation` of a `Mux` is one."""

    async def send(self, depth: int, payload: Buffer, *, timeout: float) -> None: ...

    async def receive(self, *, timeout: float) -> Frame: ...

    def fail(self, error: PeerError) -> None: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class SessionTerms:
    """What makes a session, except for its wires: another process can carry it on from here."""

    me: int
    nodes: int
    masks: MaskSource
    greeting: bytes
    timeout: float
    names: Mapping[int, str]

    @property
    def own_name(self) -> str:
        return party_name(self.me)

    def session(self, wire: Callable[[int, int], Wire], /) -> Session:
        return Session(
            self.me,
            nodes=self.nodes,
            masks=self.masks,
            wire=wire,
            timeout=self.timeout,
            names=self.names,
            greeting=self.greeting,
        )


T = TypeVar("T")
DEFAULT_TIMEOUT = 10.0


@dataclass(slots=True)
class _Shared:
    """What all substreams of a session have in common."""

    nodes: int
    masks: MaskSource | None
    wire: Callable[[int, int], Wire]
    timeout: float
    names: dict[int, str]
    greeting: bytes
    signer: Signer | None
    teller: Signer | None
    signed: Counter[int] = field(default_factory=Counter)
    is_greeting: bool = False
    met: asyncio.Event = field(default_factory=asyncio.Event)
    drawn: set[tuple[str, int]] = field(default_factory=set)
    wires: dict[tuple[int, int], Wire] = field(default_factory=dict)
    substreams: int = 1
    sent: int = 0
    failure: PeerError | None = None


def _bytes_of(shape: int | tuple[int, ...], dtype: DTypeLike) -> int:
    entries = shape if isinstance(shape, int) else math.prod(shape)
    return entries * np.dtype(dtype).itemsize


async def run_all(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Run coroutines at the same time; if one fails, the others are cancelled first."""
    tasks = [asyncio.ensure_future(each) for each in work]
    try:
        return await asyncio.gather(*tasks)
    finally:
        # A task that went on alone would draw masks and send under a session that has failed.
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Session:
    """A party's side of one evaluation, or of one substream of it.

    `wire` opens the way to a peer for a substream. `masks` is None at the coordinator. `greeting`
    is the hash of what the nodes must agree on; without one, as at the coordinator, none is sent.
    With a `signer`, frames to other nodes are signed (see `signed_letters`), with a `teller` what a
    node tells all of them (see `told`).
    """

    def __init__(
        self,
        me: int,
        *,
        nodes: int,
        masks: MaskSource | None,
        wire: Callable[[int, int], Wire],
        timeout: float = DEFAULT_TIMEOUT,
        names: Mapping[int, str] | None = None,
        greeting: bytes = b"",
        signer: Signer | None = None,
        teller: Signer | None = None,
    ) -> None:
        self.me = me
        self.depth = 0
        self.exchanges = 0
        """Rounds so far, whether or not a message came in each: no depth is above that."""
        self._substream = 0
        named = dict(names or {})
        self._shared = _Shared(nodes, masks, wire, timeout, named, greeting, signer, teller)

    @property
    def nodes(self) -> int:
        return self._shared.nodes

    @property
    def peers(self) -> list[int]:
        return [node for node in range(self.nodes) if node != self.me]

    @property
    def held(self) -> tuple[int, ...]:
        return held_by(self.me, self.nodes)

    def name_of(self, peer: int) -> str:
        """The name of a peer in errors: that of its link, if known."""
        return self._shared.names.get(peer, party_name(peer))

    @property
    def sent(self) -> int:
        """Bytes sent so far by all substreams, headers included."""
        return self._shared.sent

    # Messages.

    def _wire(self, peer: int) -> Wire:
        key = (peer, self._substream)
        wire = self._shared.wires.get(key)
        if wire is None:
            wire = self._shared.wires[key] = self._shared.wire(*key)
            # A substream that is opened after a notice must fail as well: its peer has given up.
            if self._shared.failure is not None:
                wire.fail(self._shared.failure)
        return wire

    async def exchange(
        self, letters: Sequence[Letter], contents: Mapping[int, NDArray[Any]]
    ) -> dict[int, NDArray[Any]]:
        """One round: send the letters that we know, and get those that are for us.

        All nodes list the same letters in the same order, and the coordinator its own. `contents`
        has the letters that we know, by number; they must not be changed afterwards. Nothing is
        returned before all that arrived fits together (see `letters`).
        """
        # All parties count every exchange, whether or not they send in it, so that their counts
        # agree.
        self.exchanges += 1
        signed = self._signed(letters)
        if signed is not None:
            ours = signed.frames(contents, self.words)
        else:
            ours = frames(letters, contents, self.me)
        senders = {sender for each in letters if each.to == self.me for sender in each.senders}
        # Nothing that is opened may leave before the greetings: it has no mask, and to a node in
        # another state it would be a second value of the same secret.
        if await self._is_first():
            greeting = self._shared.greeting
            # A letter to a node may go with the greeting: it is masked by keys that depend on what
            # is greeted, so to a node that disagrees it is noise.
            for peer in self.peers:
                await self._send(peer, [greeting, *ours.pop(peer, [])])
            arrived = await self._receive_all(self.peers)
            arrived = {peer: self._without_greeting(peer, arrived[peer]) for peer in arrived}
            self._shared.met.set()
        else:
            arrived = {}
        # In the first round only letters to the coordinator are left: they go once all nodes have
        # met.
        for peer, payload in ours.items():
            await self._send(peer, payload)
        arrived |= await self._receive_all(sorted(senders - arrived.keys()))
        if signed is not None:
            return signed.opened(arrived, self._shared.names)
        return opened(letters, arrived, self.me, self._shared.names)

    def _signed(self, letters: Sequence[Letter]) -> SignedRound | None:
        shared, substream = self._shared, self._substream
        if shared.signer is None or not letters:  # who had to `meet` is a matter of time
            return None
        # All count alike, and the count is signed: an old statement fits no later round.
        shared.signed[substream] += 1
        place = self._place(shared.signed[substream])
        return SignedRound(letters, self.me, self.nodes, place, shared.signer)

    def _place(self, exchange: int) -> Place:
        about = hashlib.sha256(self._shared.greeting).digest()
        return Place(about, self._substream, exchange)

    async def meet(self) -> None:
        """Return once all nodes agree with us: what is opened has no mask that would differ.

        1 round where nothing was sent before, and none otherwise.
        """
        if self._shared.greeting and not self._shared.met.is_set():
            await self.exchange([], {})

    async def _is_first(self) -> bool:
        """Whether to greet now; if another substream does, this waits until all have met."""
        shared = self._shared
        if not shared.greeting:
            return False
        if not shared.is_greeting:
            shared.is_greeting = True
            return True
        # Other substreams wait: their frames could overtake the greeting.
        await shared.met.wait()
        return False

    def _without_greeting(self, peer: int, payload: Buffer) -> Buffer:
        greeting, data = self._shared.greeting, memoryview(payload)
        # States of honest nodes may differ after a crash. Going on would mask two values alike.
        if data[: len(greeting)] != greeting:
            what = "does not agree with us on what is computed; nothing was sent that tells more"
            raise AbortError(self.name_of(peer), what)
        return data[len(greeting) :]

    async def _send(self, peer: int, parts: Sequence[Buffer]) -> None:
        payload = parts[0] if len(parts) == 1 else b"".join(parts)
        self._shared.sent += HEADER_BYTES + memoryview(payload).nbytes
        await self._wire(peer).send(self.depth + 1, payload, timeout=self._shared.timeout)

    async def _receive_all(self, peers: Iterable[int]) -> dict[int, Buffer]:
        arrived: dict[int, Buffer] = {}
        depth = self.depth
        for peer in peers:
            # One after the other: frames of later peers wait in their inboxes, so nothing is lost
            # by it.
            frame = await self._wire(peer).receive(timeout=self._shared.timeout)
            self._check_depth(peer, frame.header.depth)
            depth = max(depth, frame.header.depth)
            arrived[peer] = frame.payload
        self.depth = depth
        return arrived

    def _check_depth(self, peer: int, depth: int) -> None:
        """Refuse a depth that cannot be: what we send next would have to say more than fits.

        The coordinator sends nothing, and does not know how many rounds the nodes need.
        """
        if self.me != COORDINATOR and depth > self.exchanges:
            what = f"counts {depth} messages one after the other in {self.exchanges} rounds"
            raise AbortError(self.name_of(peer), what)

    async def tell(self, message: bytes) -> dict[int, bytes]:
        """Tell every other node the same, and hear as much from each. 1 round.

        What a node tells is its own word: nobody else knows it, so nobody vouches. One of four may
        tell each another thing.
        """
        # Each letter has one sender, so nobody vouches for it and no hash is sent.
        letters = [
            Letter((sender,), to, (len(message),), np.dtype(np.uint8))
            for sender in range(self.nodes)
            for to in range(self.nodes)
            if sender != to
        ]
        ours = np.frombuffer(message, dtype=np.uint8)
        mine = {k: ours for k, letter in enumerate(letters) if letter.senders == (self.me,)}
        heard = await self.exchange(letters, mine)
        return {letters[k].senders[0]: data.tobytes() for k, data in heard.items()}

    async def tell_alike(self, message: bytes) -> dict[int, bytes]:
        """Tell every node the same; return what each told, this one too, alike at all honest nodes.

        1 round where all follow the protocol, 2 with a `teller`.
        """
        teller = self._shared.teller
        if teller is None:
            return {self.me: message, **await self.tell(message)}
        place = self._place(self.exchanges + 1)
        return await tell_signed(self, message, place=place, signer=teller)

    # Masks.

    def _draw(self, label: str, component: int) -> MaskSource:
        if self._shared.masks is None:
            raise MaskReuseError("the coordinator holds no keys and can draw no masks")
        key = (label, component)
        # Two values under one mask would give away their difference.
        if key in self._shared.drawn:
            raise MaskReuseError(f"label {label!r} was already drawn; give each step its own label")
        # Noted before it is drawn, so that a step that fails in between cannot draw it again.
        self._shared.drawn.add(key)
        return self._shared.masks

    def words(
        self,
        label: str,
        component: int,
        shape: int | tuple[int, ...],
        dtype: DTypeLike = np.uint64,
    ) -> NDArray[Any]:
        size = _bytes_of(shape, dtype)
        words = self._draw(label, component).words(label, component, -(-size // 8))
        made: NDArray[Any] = words.view(np.uint8)[:size].view(dtype).reshape(shape)
        return made

    def permutation(self, label: str, component: int, size: int) -> NDArray[np.intp]:
        return self._draw(label, component).permutation(label, component, size)

    # Substreams.

    def substreams(self, count: int) -> list[Session]:
        """Substreams for protocols that run in parallel more than once."""
        return [self._fork() for _ in range(count)]

    async def in_parallel(
        self,
        *functions: Callable[[Session], Coroutine[Any, Any, T]],
        substreams: Sequence[Session] | None = None,
    ) -> list[T]:
        """Run protocols in parallel, each with its own messages and rounds.

        All parties must start the same functions in the same order. The session's depth is then
        that of the longest. If one fails, the others are cancelled. A session has 255 substreams;
        pass the same `substreams` again to reuse them.
        """
        substreams = self.substreams(len(functions)) if substreams is None else substreams
        for substream in substreams:
            # A substream begins where the session stands: what it sends depends on all that arrived
            # so far.
            substream.depth, substream.exchanges = self.depth, self.exchanges
        results = await run_all(f(s) for f, s in zip(functions, substreams, strict=True))
        self.depth = max([self.depth, *(substream.depth for substream in substreams)])
        self.exchanges = max([self.exchanges, *(each.exchanges for each in substreams)])
        return results

    def _fork(self) -> Session:
        # The same masks, greeting and counters: only its wires, and its place in time, are its own.
        child = object.__new__(Session)
        child.me, child.depth, child._shared = self.me, self.depth, self._shared
        child._substream, child.exchanges = self._shared.substreams, self.exchanges
        self._shared.substreams += 1
        return child

    # Carried on elsewhere.

    @property
    def timeout(self) -> float:
        return self._shared.timeout

    @property
    def is_signed(self) -> bool:
        return self._shared.signer is not None or self._shared.teller is not None

    def hand_over(self) -> SessionTerms:
        """Give away what is needed to carry the session on; nothing is drawn or sent here then."""
        shared = self._shared
        if shared.masks is None or shared.drawn or shared.wires or self.is_signed:
            raise MaskReuseError(
                "a session is handed over before it begins, and only if it signs nothing"
            )
        terms = SessionTerms(
            self.me, shared.nodes, shared.masks, shared.greeting, shared.timeout, shared.names
        )
        # Two that draw from these keys could mask two values alike.
        shared.masks = None
        return terms

    def open_wire(self, peer: int, substream: int) -> Wire:
        """Open the way to a peer for whoever carries the session on."""
        key = (peer, substream)
        if key in self._shared.wires:
            raise AbortError(self.name_of(peer), f"substream {substream} was opened before")
        wire = self._shared.wires[key] = self._shared.wire(*key)
        if self._shared.failure is not None:
            wire.fail(self._shared.failure)
        return wire

    def carried_on(self, *, sent: int, depth: int) -> None:
        """Count what was sent elsewhere."""
        self._shared.sent, self.depth = sent, depth

    @property
    def failure(self) -> PeerError | None:
        """The error that a peer gave notice of, if any."""
        return self._shared.failure

    def fail(self, error: PeerError) -> None:
        """End the session from outside: a receiver that waits for a message gets this error."""
        self._shared.failure = error
        for wire in self._shared.wires.values():
            wire.fail(error)

    def close(self) -> None:
        for wire in self._shared.wires.values():
            wire.close()
