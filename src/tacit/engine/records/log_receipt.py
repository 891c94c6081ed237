"""A node's signature under its log: fresh for whoever asks, so that no old log passes for new.

A participant draws a nonce, has the log fetched with it, and checks what comes back. The platform
may carry both, since it can neither sign nor know the nonce beforehand.
"""

from __future__ import annotations

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.engine.agreement.signatures import is_signed, sign
from tacit.engine.agreement.terms import Agreement, agreement_hash
from tacit.engine.records.events import AgreementAccepted, Event
from tacit.engine.records.node_log import FIRST, Log, line_hash, verify_log
from tacit.errors import LogError


def _signed(head: str, nonce: bytes, seconds: int) -> bytes:
    return f"{head}\n{seconds}\n{nonce.hex()}\n".encode()


def sign_head(key: Ed25519PrivateKey, head: str, /, *, nonce: bytes, seconds: int) -> bytes:
    """A node's signature under the head of its log at a time, for whoever drew the nonce."""
    return sign(key, "log", _signed(head, nonce, seconds))


def check_log(
    agreement: Agreement,
    node: int,
    log: bytes,
    /,
    *,
    nonce: bytes,
    seconds: int,
    signature: bytes,
) -> list[Event]:
    """The events of a node's log, if it is whole, of this agreement, and signed for this nonce.

    `seconds` is the time that the node says it is, in seconds since 1970.
    """
    events = verify_log(log)
    if not is_of(agreement, events):
        raise LogError(f"this log is not of this agreement; ask node {node} for the right one")
    lines = log.splitlines()
    head = line_hash(lines[-1]) if lines else FIRST
    key = agreement.nodes[node].signing_key
    if not is_signed(key, "log", _signed(head, nonce, seconds), signature):
        raise LogError(
            f"node {node} did not sign this log for this question; it may be an old one, fetch it "
            "again with a new nonce"
        )
    return events


def is_of(agreement: Agreement, log: Log, /) -> bool:
    """Whether a log is about this agreement: its first line says so."""
    first = log[0] if log else None
    return (
        isinstance(first, AgreementAccepted) and first.agreement == agreement_hash(agreement).hex()
    )
