"""How far a log has come: its size and the hash of its last line, signed by its node.

Whoever remembers a head of a log can tell whether a later log still contains it: the line that ends
at that size must have that hash, and through the chain so has everything before it.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.agreement.signatures import is_signed, sign
from tacit.agreement.terms import Agreement, agreement_hash
from tacit.records.node_log import FIRST, NodeLog, line_hash

_CHUNK = 1 << 16


class LogHead(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A point that a log has reached."""

    size: int
    """Bytes up to the end of its last line."""
    head: str
    """The hash of that line."""

    def _signed(self, agreement: bytes) -> bytes:
        return agreement + f"\n{self.size}\n{self.head}\n".encode()

    def sign(self, key: Ed25519PrivateKey, agreement: bytes, /) -> bytes:
        """A node's signature under the head of its log of an agreement, for its peers."""
        return sign(key, "log head", self._signed(agreement))

    def is_signed(self, agreement: Agreement, node: int, signature: bytes, /) -> bool:
        """Whether this node of the agreement says that its log has come so far."""
        key, about = agreement.nodes[node].signing_key, self._signed(agreement_hash(agreement))
        return is_signed(key, "log head", about, signature)


NOWHERE = LogHead(0, FIRST)
"""Where every log begins."""


def head_of(log: NodeLog, /) -> LogHead:
    """The head of a log, which is on the disk when this returns."""
    log.sync()
    return LogHead(log.size, log.head)


def has_reached(path: Path, head: LogHead, /) -> bool:
    """Whether the log in a file contains a head."""
    if head.size == 0:
        return head == NOWHERE
    with path.open("rb") as file:
        line, end = b"", head.size
        while end > 0 and b"\n" not in line[:-1]:
            begin = max(0, end - _CHUNK)
            file.seek(begin)
            data = file.read(end - begin)
            if len(data) < end - begin:
                return False
            line, end = data + line, begin
    if not line.endswith(b"\n"):
        return False
    return line_hash(line[:-1].rpartition(b"\n")[2]) == head.head
