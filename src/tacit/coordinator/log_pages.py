"""A node's log, which comes in pages."""

from __future__ import annotations

import msgspec

from tacit.coordinator.node_client import NodeClient
from tacit.wire.messages import FetchLog
from tacit.wire.replies import LogPage


async def fetched_log(client: NodeClient, agreement: bytes, nonce: bytes, /) -> LogPage:
    """A log, page by page; the signature of the last page is that of the whole."""
    log = bytearray()
    while True:
        request = FetchLog(agreement=agreement, offset=len(log), nonce=nonce)
        page = await (await client.ask(request))
        log += page.log
        if not page.more or not page.log:
            return msgspec.structs.replace(page, log=bytes(log))
