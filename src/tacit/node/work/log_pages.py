"""How a node hands out its log of an agreement: in pages, the last of which is signed."""

from __future__ import annotations

import time

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.node.work.off_loop import in_thread
from tacit.records.node_log import NodeLog, sign_head
from tacit.wire.messages import FetchLog
from tacit.wire.replies import LogPage

REST = 1.0
"""Pages of a platform take half of a node's time at most."""


async def log_page(key: Ed25519PrivateKey, log: NodeLog, request: FetchLog, /) -> LogPage:
    """A page of a log; with the last one comes the signature under the head of the whole.

    What is signed is on the disk before; other pages need neither.
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
