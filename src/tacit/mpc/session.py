"""One evaluation as one party sees it: its messages, its masks, its measured cost.

A session hands out each label's mask once per component and refuses a repeat. It counts the bytes
it sends, and tracks the depth of the longest chain of messages so far, so that rounds are
measured and not assumed.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tacit.errors import AbortError, MaskReuseError, ParameterError, PeerError
from tacit.mpc.masks import MaskSource
from tacit.mpc.ring import Words
from tacit.mpc.shares import COORDINATOR, ArithmeticShare, BitShare, party_name
from tacit.mpc.transport.frame import HEADER_BYTES, Buffer, Channel, Frame

T = TypeVar("T")
DEFAULT_TIMEOUT = 10.0


@dataclass(frozen=True, slots=True)
class Context:
    """What identifies an evaluation: every subkey is derived from all of it."""

    agreement: bytes
    objective: int
    evaluation: int
    attempt: int
    request: bytes

    def __post_init__(self) -> None:
        for name, limit in (("objective", 16), ("evaluation", 64), ("attempt", 16)):
            if not 0 <= getattr(self, name) < 1 << limit:
                raise ParameterError(
                    f"{name} is {getattr(self, name)}; frames hold 0..2^{limit} - 1"
                )

    def info(self) -> bytes:
        """All fields in one unambiguous string of bytes."""
        agreement = hashlib.sha256(self.agreement).digest()
        request = hashlib.sha256(self.request).digest()
        numbers = self.objective.to_bytes(2, "little"), self.evaluation.to_bytes(8, "little")
        return agreement + b"".join(numbers) + self.attempt.to_bytes(4, "little") + request

    @property
    def tag(self) -> bytes:
        """What frames carry, so that nodes with different requests notice at once."""
        return hashlib.sha256(b"tag" + self.info()).digest()[:8]

    def channel(self, substream: int) -> Channel:
        """The conversation of one substream of this evaluation."""
        name = hashlib.sha256(self.agreement).digest()[:16]
        return Channel(name, self.objective, self.evaluation, self.attempt, substream)


class Wire(Protocol):
    """One substream's way to one peer; a `Conversation` of a `Mux` is one."""

    async def send(self, depth: int, payload: Buffer, *, timeout: float) -> None:
        """Send a message."""
        ...

    async def receive(self, *, timeout: float) -> Frame:
        """Wait for the next message."""
        ...

    def fail(self, error: PeerError) -> None:
        """Raise this error in the receiver that waits for a message."""
        ...

    def close(self) -> None:
        """No more messages."""
        ...


@dataclass(slots=True)
class _Shared:
    """What all substreams of a session have in common."""

    masks: MaskSource | None
    wire: Callable[[int, int], Wire]
    timeout: float
    names: dict[int, str]
    drawn: set[tuple[str, int]] = field(default_factory=set)
    wires: dict[tuple[int, int], Wire] = field(default_factory=dict)
    substreams: int = 1
    sent: int = 0
    told: dict[int, list[bytes]] = field(default_factory=dict)
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
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Session:
    """A party's side of one evaluation, or of one substream of it.

    `wire` opens the way to a peer for a substream. `masks` is None at the coordinator.
    """

    def __init__(
        self,
        me: int,
        *,
        masks: MaskSource | None,
        wire: Callable[[int, int], Wire],
        timeout: float = DEFAULT_TIMEOUT,
        names: Mapping[int, str] | None = None,
    ) -> None:
        self.me = me
        self.depth = 0
        self._substream = 0
        self._shared = _Shared(masks, wire, timeout, dict(names or {}))

    @property
    def next(self) -> int:
        """The node after this one."""
        return (self.me + 1) % 3

    @property
    def previous(self) -> int:
        """The node before this one."""
        return (self.me + 2) % 3

    def name_of(self, peer: int) -> str:
        """The name of a peer in errors: that of its link, if known."""
        return self._shared.names.get(peer, party_name(peer))

    @property
    def sent(self) -> int:
        """Bytes sent so far by all substreams, headers included."""
        return self._shared.sent

    @property
    def told(self) -> Mapping[int, Sequence[bytes]]:
        """What this node has sent to the coordinator so far, per substream."""
        return self._shared.told

    # Messages.

    def _wire(self, peer: int) -> Wire:
        key = (peer, self._substream)
        wire = self._shared.wires.get(key)
        if wire is None:
            wire = self._shared.wires[key] = self._shared.wire(*key)
            if self._shared.failure is not None:
                wire.fail(self._shared.failure)
        return wire

    async def send(self, peer: int, array: NDArray[Any]) -> None:
        """Send an array's raw bytes; the array must not be changed afterwards."""
        payload = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
        self._shared.sent += HEADER_BYTES + payload.nbytes
        if peer == COORDINATOR:
            self._shared.told.setdefault(self._substream, []).append(bytes(payload))
        await self._wire(peer).send(self.depth + 1, payload, timeout=self._shared.timeout)

    async def receive(
        self,
        peer: int,
        shape: int | tuple[int, ...],
        dtype: DTypeLike = np.uint64,
    ) -> NDArray[Any]:
        """Wait for an array of this shape; anything else aborts with the peer's name."""
        frame = await self._wire(peer).receive(timeout=self._shared.timeout)
        self.depth = max(self.depth, frame.header.depth)
        due = _bytes_of(shape, dtype)
        if frame.header.length != due:
            what = f"sent {frame.header.length} bytes where {due} were due"
            raise AbortError(self.name_of(peer), what)
        array = np.frombuffer(frame.payload, dtype=dtype).reshape(shape)
        # In memory the sender's own array arrives, so nobody may write into it.
        array.flags.writeable = False
        return array

    # Masks.

    def _draw(self, label: str, component: int) -> MaskSource:
        if self._shared.masks is None:
            raise MaskReuseError("the coordinator holds no keys and can draw no masks")
        key = (label, component)
        if key in self._shared.drawn:
            raise MaskReuseError(f"label {label!r} was already drawn; give each step its own label")
        self._shared.drawn.add(key)
        return self._shared.masks

    def words(
        self,
        label: str,
        component: int,
        shape: int | tuple[int, ...],
        dtype: DTypeLike = np.uint64,
    ) -> NDArray[Any]:
        """Uniform words, the same for both holders of the component."""
        size = _bytes_of(shape, dtype)
        words = self._draw(label, component).words(label, component, -(-size // 8))
        made: NDArray[Any] = words.view(np.uint8)[:size].view(dtype).reshape(shape)
        return made

    def permutation(self, label: str, component: int, size: int) -> NDArray[np.intp]:
        """A uniform permutation, the same for both holders of the component."""
        return self._draw(label, component).permutation(label, component, size)

    def zero_sum(
        self, label: str, shape: int | tuple[int, ...], dtype: DTypeLike = np.uint64
    ) -> NDArray[Any]:
        """The node's part of a fresh sharing of zero: the three parts add up to 0."""
        mine = self.words(label, self.me, shape, dtype)
        part: NDArray[Any] = mine - self.words(label, self.next, shape, dtype)
        return part

    def zero_xor(self, label: str, shape: int | tuple[int, ...]) -> Words:
        """The node's part of a fresh sharing of zero under XOR."""
        part: Words = self.words(label, self.me, shape) ^ self.words(label, self.next, shape)
        return part

    def share(self, components: dict[int, NDArray[Any]]) -> ArithmeticShare:
        """The node's arithmetic share from numbered components."""
        return ArithmeticShare.of(components, me=self.me)

    def bit_share(self, components: dict[int, NDArray[Any]]) -> BitShare:
        """The node's XOR share from numbered components."""
        return BitShare.of(components, me=self.me)

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
            substream.depth = self.depth
        results = await run_all(f(s) for f, s in zip(functions, substreams, strict=True))
        self.depth = max([self.depth, *(substream.depth for substream in substreams)])
        return results

    def _fork(self) -> Session:
        child = object.__new__(Session)
        child.me, child.depth, child._shared = self.me, self.depth, self._shared
        child._substream = self._shared.substreams
        self._shared.substreams += 1
        return child

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
        """End all conversations of this session."""
        for wire in self._shared.wires.values():
            wire.close()
