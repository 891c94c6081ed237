"""A link that is slow or faulty on purpose, to test the layers above."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from tacit.errors import PeerError
from tacit.mpc.transport.frame import Buffer, Frame
from tacit.mpc.transport.link import Link


@dataclass(frozen=True, slots=True)
class Faults:
    """What goes wrong with the frames sent; they are counted from 0."""

    delay: float = 0.0
    """Delay of every frame in seconds, without blocking the sender."""
    drop: frozenset[int] = frozenset()
    """Frames that are lost."""
    stall_after: int | None = None
    """From this frame on all frames are lost silently."""
    corrupt: dict[int, int] = field(default_factory=dict)
    """Frames of which one byte is flipped, and at which offset, the header included."""


class FaultyLink:
    """Wraps a link and applies the faults to what is sent through it."""

    def __init__(self, link: Link, faults: Faults) -> None:
        self._link = link
        self._faults = faults
        self._count = 0
        self._late: asyncio.Queue[tuple[float, bytes, Buffer]] = asyncio.Queue()
        self._courier: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def peer(self) -> str:
        """The name of the other side."""
        return self._link.peer

    async def send(self, header: bytes, payload: Buffer, *, timeout: float) -> None:
        """Send the frame, or what the faults leave of it."""
        faults, number = self._faults, self._count
        self._count += 1
        if number in faults.drop:
            return
        if faults.stall_after is not None and number >= faults.stall_after:
            return
        if number in faults.corrupt:
            header, payload = _flip(header, payload, faults.corrupt[number])
        if not faults.delay or self._closed:
            await self._link.send(header, payload, timeout=timeout)
            return
        loop = asyncio.get_running_loop()
        self._late.put_nowait((loop.time() + faults.delay, header, payload))
        if self._courier is None or self._courier.done():
            self._courier = loop.create_task(self._deliver(timeout))

    async def _deliver(self, timeout: float) -> None:
        loop = asyncio.get_running_loop()
        while not self._late.empty():
            due, header, payload = self._late.get_nowait()
            await asyncio.sleep(max(0.0, due - loop.time()))
            try:
                await self._link.send(header, payload, timeout=timeout)
            except PeerError:
                return  # the sender has gone on; the next user of the link gets the error

    async def receive(self, *, timeout: float | None) -> Frame:
        """The next frame of the wrapped link."""
        return await self._link.receive(timeout=timeout)

    async def close(self) -> None:
        """Deliver what is under way, then close the wrapped link."""
        self._closed = True
        if self._courier is not None:
            await self._courier
        await self._link.close()


def delayed(link: Link, delay_ms: float, /) -> Link:
    """The link itself, or one that is slower by so much, for measuring.

    >>> from tacit.mpc.transport.memory import memory_pair
    >>> link = memory_pair("a", "b")[0]
    >>> delayed(link, 0) is link, delayed(link, 5) is link
    (True, False)
    """
    return FaultyLink(link, Faults(delay=delay_ms / 1000)) if delay_ms else link


def _flip(header: bytes, payload: Buffer, offset: int) -> tuple[bytes, Buffer]:
    whole = bytearray(header) + bytearray(payload)
    whole[offset] ^= 0xFF
    return bytes(whole[: len(header)]), whole[len(header) :]
