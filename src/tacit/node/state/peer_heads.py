"""How far the peers' logs of an agreement have come, as this node heard and remembers it.

A node that comes back with less than that has lost what it has promised: which numbers are used,
what it is bound to, what it has told. It is refused. That its log contains what a peer remembers it
says itself, and signs: nodes are trusted to follow the protocol, not to have their disks intact.
Whoever remembers something shows that signature, so that nobody is blamed for what it never said.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from tacit.mpc import party_name
from tacit.node.state.policy import refuse
from tacit.node.state.store import Store
from tacit.node.state.stored import Stored
from tacit.records.log_heads import NOWHERE, LogHead, has_reached, head_of

HOW_TO_GO_ON = (
    "put the newest copy of its data back in place, or make a new agreement; see nodes.md"
)


class StoredPeerHead(Stored, frozen=True, tag="peer head/1"):
    """What a peer said last of its log, with its signature as evidence."""

    size: int
    head: str
    signature: bytes


@dataclass(frozen=True, slots=True)
class HeardOfLogs:
    """What a peer said when an epoch began."""

    ours: LogHead
    """How far our log has come at least, as the peer remembers it."""
    ours_signature: bytes
    """Our own, with which the peer shows that we said so."""
    theirs: LogHead
    """How far its own is."""
    signature: bytes
    contained: bool
    """Whether its own contains what we remember of it."""


_READ = msgspec.msgpack.Decoder(dict[int, StoredPeerHead])


class PeerHeads:
    """The heads of both peers' logs, on the disk."""

    def __init__(self, store: Store, /) -> None:
        self._store = store
        self.is_reported = False
        """Whether the operator was told, since this node runs, that a log was set back."""
        self._path = store.folder / "peer-heads"
        self._kept = _READ.decode(self._path.read_bytes()) if self._path.exists() else {}

    def remembered(self, peer: int, /) -> LogHead:
        """How far a peer's log has come at least."""
        kept = self._kept.get(peer)
        return LogHead(kept.size, kept.head) if kept is not None else NOWHERE

    def signature_of(self, peer: int, /) -> bytes:
        """The peer's own signature under what we remember of its log."""
        kept = self._kept.get(peer)
        return kept.signature if kept is not None else b""

    def own(self) -> LogHead:
        """How far our log is, on the disk."""
        return head_of(self._store.log)

    def contains(self, remembered: LogHead, /) -> bool:
        """Whether our log has come by the point that a peer remembers of it."""
        return has_reached(self._store.log.path, remembered)

    def check(self, peer: int, heard: HeardOfLogs, /, *, me: int) -> None:
        """Remember how far a peer is; refuse it, or ourselves, where a log was set back."""
        if not self.contains(heard.ours):
            if not heard.ours.is_signed(self._store.agreement, me, heard.ours_signature):
                raise refuse(
                    f"{party_name(peer)} says that this node's log had lines that it never had, "
                    "and cannot show this node's signature"
                )
            raise refuse(
                f"{party_name(peer)} remembers lines of this node's log that are not here: the "
                f"disk of this node was set back; {HOW_TO_GO_ON}"
            )
        head, before = heard.theirs, self.remembered(peer)
        if not head.is_signed(self._store.agreement, peer, heard.signature):
            raise refuse(f"{party_name(peer)} did not sign how far its log is; use its own keys")
        if not heard.contained or head.size < before.size:
            raise refuse(
                f"{party_name(peer)} has lost lines of its log that this node remembers: the disk "
                f"of {party_name(peer)} was set back; {HOW_TO_GO_ON}"
            )
        if head != before:
            self._kept = {**self._kept, peer: StoredPeerHead(head.size, head.head, heard.signature)}
            self._store.save_peer_heads(msgspec.msgpack.encode(self._kept))
