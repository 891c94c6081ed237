"""What a node signs of a frame: a hash of each sender's pieces, as it knows them.

All senders of a letter know all of it, so the statements of two honest ones about the same place
never differ: if two do, one of their authors departed from the protocol, whoever shows them.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

DIGEST_BYTES = 32
SIGNATURE_BYTES = 64
_HEAD = struct.Struct("<32sBBBIB")
_MOST_NODES = 8


def _mask(nodes: tuple[int, ...]) -> int:
    return sum(1 << node for node in nodes)


@dataclass(frozen=True, slots=True)
class Group:
    """The letters of a round that the same nodes send to the same receiver."""

    senders: tuple[int, ...]
    digests: tuple[bytes, ...]
    """Of the pieces of each sender, in the same order."""


@dataclass(frozen=True, slots=True)
class Statement:
    """What one node says of the letters that it sends another in a round, together with others."""

    about: bytes
    """A hash of all that the nodes agree on: agreement, epoch, evaluation, attempt, inputs."""
    author: int
    to: int
    substream: int
    exchange: int
    """The number of the round with letters in this substream, counted from 1."""
    groups: tuple[Group, ...]

    @property
    def place(self) -> tuple[bytes, int, int, int]:
        """What it is about: of one place, a node makes one statement."""
        return self.about, self.to, self.substream, self.exchange

    def encode(self) -> bytes:
        """The bytes that are signed."""
        numbers = self.author, self.to, self.substream, self.exchange, len(self.groups)
        groups = (bytes([_mask(e.senders)]) + b"".join(e.digests) for e in self.groups)
        return _HEAD.pack(self.about, *numbers) + b"".join(groups)

    @classmethod
    def decode(cls, data: bytes) -> Statement:
        """A statement from its bytes; a `ValueError` if these are not one that a node makes.

        >>> group = Group((1, 2), (bytes(32), bytes(32)))
        >>> statement = Statement(bytes(32), 1, 0, 0, 5, (group,))
        >>> Statement.decode(statement.encode()) == statement
        True
        """
        if len(data) < _HEAD.size:
            raise ValueError("too short for a statement")
        about, author, to, substream, exchange, count = _HEAD.unpack(data[: _HEAD.size])
        rest, groups = data[_HEAD.size :], []
        for _ in range(count):
            senders = tuple(n for n in range(_MOST_NODES) if rest[:1] and rest[0] >> n & 1)
            size = 1 + DIGEST_BYTES * len(senders)
            cuts = range(1, size, DIGEST_BYTES)
            groups.append(Group(senders, tuple(rest[at : at + DIGEST_BYTES] for at in cuts)))
            rest = rest[size:]
        made = cls(about, author, to, substream, exchange, tuple(groups))
        masks = [_mask(group.senders) for group in groups]
        fits = all(author in e.senders and to not in e.senders for e in groups)
        alone = any(len(group.senders) == 1 for group in groups)
        if not groups or alone or not fits or masks != sorted(set(masks)) or made.encode() != data:
            raise ValueError("not a statement of one sender of letters to another node")
        return made
