"""Promises of an answer in time, held to what the machine gave to the processes of the test."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import pytest

from tacit.errors import MpcError
from tests.support.cpu_waits import CpuWaits

LATE = 2.0
"""Seconds after a deadline; benchmarks allow 0.1."""
AMPLE = 120.0
"""Seconds for what takes a moment on an idle machine."""
LONGER = 4.0


@contextmanager
def takes_at_most(seconds: float) -> Iterator[None]:
    """Check how long something took, without the time that it waited for a core."""
    begun = time.monotonic()
    with CpuWaits() as waits:
        yield
        ended = time.monotonic()
    took, waited = ended - begun, waits.between(begun, ended)
    assert took - waited < seconds, f"took {took:.2f} s, of which {waited:.2f} s for a core"


async def raises_in_time(
    work: Callable[[float], Awaitable[object]], match: str, *, seconds: float
) -> None:
    """Check that work which a node holds up raises at its deadline, and names that node.

    Whoever waits for a core looks like a node that hangs. If the processes waited for as long as
    they had time, nobody can tell the one from the others, and the work gets more time.
    """
    while True:
        until = time.monotonic() + seconds
        with CpuWaits() as waits:
            with pytest.raises(MpcError) as raised:
                await work(until)
            ended = time.monotonic()
        assert ended - until - waits.between(until, ended) < LATE
        waited = waits.between(until - seconds, ended)
        if match in str(raised.value) or waited < seconds or seconds > AMPLE:
            assert match in str(raised.value)
            return
        seconds *= LONGER
