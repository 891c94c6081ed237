"""A computation in a process of its own: the main process has deadlines to keep."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import suppress

from tacit.errors import BusyError

BEHIND = 10
"""So far these are behind the main process, which may come before others."""


def _behind() -> int:
    return min(os.getpriority(os.PRIO_PROCESS, 0) + BEHIND, 19)


async def computed_elsewhere(module: str, given: bytes, /, *, within: float, failed: str) -> bytes:
    """What a module of ours prints about its input, run behind everything else.

    One that fails, or takes longer than `within` seconds, is a `BusyError` that says `failed`.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        module,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    with suppress(ProcessLookupError, PermissionError):
        os.setpriority(os.PRIO_PROCESS, process.pid, _behind())
    printed = b""
    try:
        async with asyncio.timeout(within):
            printed, _ = await process.communicate(given)
    except TimeoutError:
        pass  # said below
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode != 0:
        raise BusyError(failed)
    return printed
