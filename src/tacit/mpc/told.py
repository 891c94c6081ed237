"""Tell all nodes the same, and find out one of four that tells others different things.

What a node tells is its own word: no other node vouches for it. So each of four signs a hash of it,
and then passes on to all the hashes that it has heard, with their signatures. Whatever an honest
node has heard, all honest ones hear of: they go on with the same, or none does, and hold two
signatures of the node that told two things. Nobody can make up what another told.

Learns   what is told
Rounds   2, of three nodes or without signatures 1
Bytes    the message and a signature (64) to each peer, then a hash (32) and a signature per node
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tacit.errors import AbortError, MismatchError
from tacit.mpc.signed_letters import DIGEST_BYTES, SIGNATURE_BYTES, Place, Signer

if TYPE_CHECKING:
    from tacit.mpc.session import Session

_TOLD = struct.Struct("<8s32sBBI32s")
_MARK = b"told/1\n\0"
_ECHOED = DIGEST_BYTES + SIGNATURE_BYTES


@dataclass(frozen=True, slots=True)
class Told:
    """What one node told all others in a round, by its hash."""

    about: bytes
    """A hash of all that the nodes agree on: agreement, epoch, computation, attempt, inputs."""
    author: int
    substream: int
    exchange: int
    """The number of the round in this substream, counted from 1."""
    digest: bytes

    @property
    def place(self) -> tuple[bytes, int, int]:
        """A node tells one thing in each."""
        return self.about, self.substream, self.exchange

    def encode(self) -> bytes:
        """Return the bytes that are signed."""
        numbers = self.author, self.substream, self.exchange
        return _TOLD.pack(_MARK, self.about, *numbers, self.digest)

    @classmethod
    def decode(cls, data: bytes) -> Told:
        """Read the bytes that were signed.

        >>> told = Told(bytes(32), 1, 0, 5, b"d" * 32)
        >>> Told.decode(told.encode()) == told
        True
        """
        _, about, author, substream, exchange, digest = _TOLD.unpack(data)
        return cls(about, author, substream, exchange, digest)


def is_told(signed: bytes, /) -> bool:
    """Return whether signed bytes are to be read as `Told`; no letters' statement is so short."""
    return len(signed) == _TOLD.size + SIGNATURE_BYTES and signed.startswith(_MARK)


async def tell_signed(
    session: Session, message: bytes, /, *, place: Place, signer: Signer
) -> dict[int, bytes]:
    """Tell all nodes the same; return what each told, this one too, once all have heard alike."""

    def told_by(node: int, digest: bytes) -> Told:
        return Told(place.about, node, place.substream, place.exchange, digest)

    me = session.me
    ours = told_by(me, hashlib.sha256(message).digest())
    signed = {me: message + signer.sign(ours.encode())}
    signed |= await session.tell(signed[me])
    words = {node: signed[node][:-SIGNATURE_BYTES] for node in sorted(signed)}
    signatures = {node: signed[node][-SIGNATURE_BYTES:] for node in words}
    heard = {node: told_by(node, hashlib.sha256(words[node]).digest()) for node in words}
    for node, told in heard.items():
        # Before it is passed on: else this node would seem to have made it up.
        if not signer.is_signed(node, told.encode(), signatures[node]):
            raise AbortError(session.name_of(node), "told all something without its signature")
    echo = b"".join(heard[node].digest + signatures[node] for node in heard)
    for peer, data in (await session.tell(echo)).items():
        for node, told in heard.items():
            part = data[node * _ECHOED : (node + 1) * _ECHOED]
            theirs, signature = told_by(node, part[:DIGEST_BYTES]), part[DIGEST_BYTES:]
            if theirs == told:
                continue
            if not signer.is_signed(node, theirs.encode(), signature):
                what = f"passes on what {session.name_of(node)} did not sign"
                raise AbortError(session.name_of(peer), what)
            evidence = [told.encode() + signatures[node], theirs.encode() + signature]
            raise MismatchError(session.name_of(node), session.name_of(peer), evidence=evidence)
    return words
