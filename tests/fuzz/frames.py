"""Frames as bytes: to the decoder of headers, to the reader of a link, and to a mux behind it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from hypothesis import strategies as st

from tacit.errors import FrameError, PeerError, PeerLostError
from tacit.mpc.transport.early_frames import EarlyLimits
from tacit.mpc.transport.frame import HEADER_BYTES, Channel, FrameKind, Header, decode, encode
from tacit.mpc.transport.link import MemoryLink, memory_pair
from tacit.mpc.transport.mux import Mux
from tacit.mpc.transport.tls import Identity, TlsLink
from tests.fuzz.harness import FindingError, Target, Trial
from tests.mpc.waiting_clock import WaitingLoop

LIMIT = 4096
PENDING = 1 << 16
EARLY = EarlyLimits(size=PENDING, seconds=60)
FRAMES = 64
"""In one example, so that a million takes minutes."""
FIELDS = {
    "nothing": (0, 0), "kind": (4, 1), "substream": (5, 1), "depth": (6, 2), "objective": (8, 2),
    "attempt": (10, 2), "evaluation": (12, 8), "agreement": (20, 8), "tag": (36, 8),
    "sequence": (44, 4), "length": (48, 4), "magic": (0, 4), "cut": (0, -1), "long": (0, -2),
}  # fmt: skip
Edit = tuple[Channel, str, int]
HONEST = Channel(b"honest".ljust(16, b"."), evaluation=1)

_CHANNELS = [
    Channel(bytes([name]) * 16, evaluation=number, substream=substream, kind=kind)
    for name in (0, 1)
    for number in (0, 1, 2**63)
    for substream in (0, 1, 3, 255)
    for kind in FrameKind
]


def edits(*names: str) -> st.SearchStrategy[list[Edit]]:
    """Valid frames, each with one of these fields overwritten by a number.

    Seven bytes stand for a frame, since drawing them one by one takes longer than all the rest.
    """

    def decoded(drawn: bytes) -> list[Edit]:
        found = []
        for at in range(0, len(drawn) - 6, 7):
            channel, name, size, *number = drawn[at : at + 7]
            value = int.from_bytes(bytes(number[: size % 5]), "little")
            found.append((_CHANNELS[channel % len(_CHANNELS)], names[name % len(names)], value))
        return found

    return st.binary(min_size=7 * FRAMES, max_size=7 * FRAMES).map(decoded)


def written(edit: Edit, *, sequence: int = 0, length: int = 3) -> bytes:
    """The header of an edited frame."""
    channel, name, number = edit
    data = bytearray(encode(Header(channel, b"12345678", 1, sequence, length)))
    at, size = FIELDS[name]
    if name == "cut":
        return bytes(data[: number % HEADER_BYTES])
    if name == "long":
        return bytes(data) + bytes(1 + number % 9)
    data[at : at + size] = (number % 2 ** (8 * size)).to_bytes(size, "little")
    return bytes(data)


def read_headers(example: Sequence[Edit]) -> int:
    """Every header is a `FrameError`, or comes back as the same bytes."""
    for edit in example:
        data = written(edit)
        try:
            header = decode(data, peer="node 1", limit=LIMIT)
        except FrameError:
            continue
        if encode(header) != data:
            raise FindingError(f"{data.hex()} was read as {header}")
    return len(example)


@contextmanager
def headers() -> Iterator[Trial]:
    """The decoder."""
    yield Trial(edits(*FIELDS), read_headers)


@contextmanager
def streams() -> Iterator[Trial]:
    """A link that gets bytes in pieces, as a socket gives them."""
    with asyncio.Runner(loop_factory=WaitingLoop) as runner:

        def run(example: tuple[list[Edit], int]) -> int:
            return runner.run(_read_stream(*example))

        yield Trial(st.tuples(edits(*FIELDS), st.integers(1, 200)), run)


async def _read_stream(example: Sequence[Edit], piece: int) -> int:
    nobody = Identity(Path("none"), Path("none"), {})
    link = TlsLink(nobody, "node 1", lambda _: None, limit=LIMIT, frame_timeout=60)
    whole = [written(edit) + b"abc" for edit in example]
    data = b"".join(whole)
    inbox = link._inbox
    for at in range(0, len(data), piece):
        left = data[at : at + piece]
        while left and inbox.failure is None:
            buffer = link.get_buffer(len(left))
            taken = min(len(buffer), len(left))
            buffer[:taken] = left[:taken]
            link.buffer_updated(taken)
            left = left[taken:]
    same = True
    for edit, sent in zip(example, whole, strict=True):
        # Up to the first that is cut or says another length, what arrives is what was sent.
        same = same and edit[1] not in ("cut", "long", "length", "magic", "kind")
        if not same or not inbox._frames:
            break
        frame = await link.receive(timeout=1)
        if encode(frame.header) + bytes(frame.payload) != sent:
            raise FindingError(f"{sent.hex()} arrived as {frame}")
    link.connection_lost(None)
    return len(example)


@contextmanager
def muxes() -> Iterator[Trial]:
    """A mux whose peer sends frames of any conversation, in any order."""
    with asyncio.Runner(loop_factory=WaitingLoop) as runner:

        def run(example: list[Edit]) -> int:
            return runner.run(_sort(example))

        valid = (name for name in FIELDS if name not in ("cut", "long", "magic"))
        yield Trial(edits(*valid), run)


async def _sort(example: Sequence[Edit]) -> int:
    here, there = memory_pair("node 0", "node 1", limit=LIMIT)
    mux = Mux(here, pending_limit=PENDING, early=EARLY)
    try:
        # Half of the channels are open, some are done with, and of the others frames come early.
        for channel in _CHANNELS[::2]:
            mux.open(channel)
        for channel in _CHANNELS[::5]:
            mux.finish(channel)
        for number, edit in enumerate(example):
            header = written(edit, sequence=number)
            length = min(int.from_bytes(header[48:52], "little"), LIMIT + 1)
            try:
                await there.send(header, bytes(length), timeout=1)
            except PeerLostError:
                return len(example)
            await asyncio.sleep(0)
        await _still_works(mux, here, there)
        if mux._early._kept.size > PENDING:
            raise FindingError(f"{mux._early._kept.size} bytes of early frames are kept")
    finally:
        await mux.close()
    return len(example)


async def _still_works(mux: Mux, here: MemoryLink, there: MemoryLink) -> None:
    """An honest conversation goes on beside, unless the link has ended or waits for its reader."""
    while True:
        unread = sum(inbox.pending for inbox in mux._inboxes.values())
        if mux.failure is not None or unread > PENDING:
            return
        if not here._inbox._frames:
            break
        await asyncio.sleep(0)
    try:
        talk = mux.open(HONEST, tag=b"12345678")
        await there.send(encode(Header(HONEST, b"12345678", 1, 0, 5)), b"hello", timeout=1)
        frame = await talk.receive(timeout=20)
    except PeerError as error:
        raise FindingError(f"an honest frame did not arrive: {error}") from error
    if bytes(frame.payload) != b"hello":
        raise FindingError("an honest frame was changed")


TARGETS = [
    Target("headers", 1_000_000, headers, per_example=FRAMES),
    Target("streams", 200_000, streams, per_example=FRAMES),
    Target("muxes", 200_000, muxes, per_example=FRAMES),
]
