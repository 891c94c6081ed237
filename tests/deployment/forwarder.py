"""What a Kubernetes service does for its pods: one address, and connections to one that answers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from contextlib import suppress

from tacit.identity.config import parse_address

CONNECT_SECONDS = 1.0


class Forwarder:
    """Passes connections on to the first of several addresses that takes them; in a thread."""

    def __init__(self, listen: str, targets: Sequence[str]) -> None:
        self._listen, self._targets = parse_address(listen), [parse_address(t) for t in targets]
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        serving = asyncio.start_server(self._pass_on, *self._listen)
        self._server = asyncio.run_coroutine_threadsafe(serving, self._loop).result()

    def close(self) -> None:
        """Listen no more; connections end with the process."""
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _end(self) -> None:
        self._server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for each in others:
            each.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for target in self._targets:
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(CONNECT_SECONDS):
                    there = await asyncio.open_connection(*target)
                break
        else:
            writer.close()
            return
        await asyncio.gather(_copy(reader, there[1]), _copy(there[0], writer))


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    writer.close()
