"""Letters: the one way in which nodes send each other what they compute.

A letter is an array that all of its senders know and its receiver does not. It is cut into as many
pieces as it has senders. Each sends its own piece, and in the same round the hash of every other
sender's pieces. A receiver uses nothing that arrived in a round before all pieces fit all hashes.

With four nodes every letter of a protocol has two or three senders, at most one of whom lies: the
receiver gets the right array, or it stops, before anything depends on what was wrong. Bytes are
compared, so this holds for numbers and for bits alike. With three nodes most letters have one
sender, and nobody vouches for it.

A hash serves as well as a MAC would: whoever vouches sends it by a link of its own, and it tells
the receiver nothing that the pieces do not.
"""

from __future__ import annotations

import hashlib
import hmac
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import AbortError, MismatchError
from tacit.mpc.shares import party_name
from tacit.mpc.transport.frame import Buffer

Array = NDArray[Any]
HASH_BYTES = 32
WORD = np.dtype(np.uint64)


@dataclass(frozen=True, slots=True)
class Letter:
    """What is public of a letter: who knows it, who is to get it, and its size."""

    senders: tuple[int, ...]
    to: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any] = WORD

    @property
    def entries(self) -> int:
        return math.prod(self.shape)

    def piece(self, sender: int) -> slice:
        """Which of the words, counted one after the other, a sender sends.

        >>> letter = Letter((2, 3), 0, (5,))
        >>> letter.piece(2), letter.piece(3)
        (slice(0, 2, None), slice(2, 5, None))
        """
        at, count = self.senders.index(sender), len(self.senders)
        return slice(self.entries * at // count, self.entries * (at + 1) // count)

    def piece_bytes(self, sender: int) -> int:
        piece = self.piece(sender)
        words: int = piece.stop - piece.start
        return words * self.dtype.itemsize


def outside(nodes: int, *components: int) -> tuple[int, ...]:
    """The nodes that hold all of these components.

    >>> outside(4, 0, 1), outside(3, 0, 1)
    ((2, 3), (2,))
    """
    return tuple(node for node in range(nodes) if node not in components)


def flat_bytes(array: Array) -> Array:
    """The bytes of an array, one after the other."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def others_of(letters: Iterable[Letter], me: int, to: int) -> list[int]:
    """For whose pieces node `me` vouches to a receiver."""
    shared = (letter for letter in letters if letter.to == to and me in letter.senders)
    return sorted({other for letter in shared for other in letter.senders} - {me})


def _vouched(letters: Iterable[Letter], voucher: int, sender: int, to: int) -> list[int]:
    """The numbers of the letters of which one vouches for the other's pieces."""
    return [
        number
        for number, letter in enumerate(letters)
        if letter.to == to and voucher in letter.senders and sender in letter.senders
    ]


def frame_bytes(letters: Sequence[Letter], sender: int, to: int) -> int:
    """The size of what one party sends another in a round; 0 for no frame at all.

    >>> frame_bytes([Letter((2, 3), 0, (5,))], 3, 0)  # three words, and a hash of the other two
    56
    """
    pieces = [e.piece_bytes(sender) for e in letters if e.to == to and sender in e.senders]
    return sum(pieces) + HASH_BYTES * len(others_of(letters, sender, to))


def frames(
    letters: Sequence[Letter], contents: Mapping[int, Array], me: int
) -> dict[int, list[Buffer]]:
    """What a party sends in a round, by receiver; `contents` has the letters that it knows."""
    made: dict[int, list[Buffer]] = {}
    # Bytes and not words: pieces of narrow words need no padding.
    known = {number: flat_bytes(content) for number, content in contents.items()}
    for to in dict.fromkeys(letter.to for letter in letters if me in letter.senders):
        mine: list[Buffer] = [
            cut(known[number], letter, me)
            for number, letter in enumerate(letters)
            if letter.to == to and me in letter.senders
        ]
        # One hash for all pieces of another sender: the receiver needs to know only whether all
        # fit.
        for other in others_of(letters, me, to):
            numbers = _vouched(letters, me, other, to)
            mine.append(_hash(cut(known[n], letters[n], other) for n in numbers))
        made[to] = mine
    return made


def cut(content: Array, letter: Letter, sender: int) -> memoryview:
    """A sender's piece of a letter, from its bytes."""
    piece, size = letter.piece(sender), letter.dtype.itemsize
    return content[piece.start * size : piece.stop * size].data


def _hash(pieces: Iterable[Buffer]) -> bytes:
    whole = hashlib.sha256()
    for piece in pieces:
        whole.update(piece)
    return whole.digest()


def opened(
    letters: Sequence[Letter], payloads: Mapping[int, Buffer], me: int, names: Mapping[int, str]
) -> dict[int, Array]:
    """The letters that arrived, by number, once everything that came in the round fits together.

    `payloads` has what each sender sent. Raises `MismatchError` with the two of whom one lies, or
    `AbortError` for a wrong size.
    """
    # Sizes first: everything below cuts by them.
    rests = {sender: memoryview(payload) for sender, payload in payloads.items()}
    for sender, payload in rests.items():
        due = frame_bytes(letters, sender, me)
        if payload.nbytes != due:
            what = f"sent {payload.nbytes} bytes where {due} were due"
            raise AbortError(names.get(sender, party_name(sender)), what)
    pieces: dict[tuple[int, int], memoryview] = {}
    ours = [(number, letter) for number, letter in enumerate(letters) if letter.to == me]
    for number, letter in ours:
        for sender in letter.senders:
            size = letter.piece_bytes(sender)
            pieces[number, sender] = rests[sender][:size]
            rests[sender] = rests[sender][size:]
    # All hashes are compared before any letter is returned. A protocol that went on with one wrong
    # letter could send something that depends on it, and show the liar a bit of a secret.
    for voucher, rest in rests.items():
        for at, sender in enumerate(others_of(letters, voucher, me)):
            said = rest[HASH_BYTES * at : HASH_BYTES * (at + 1)]
            numbers = _vouched(letters, voucher, sender, me)
            if not hmac.compare_digest(said, _hash(pieces[n, sender] for n in numbers)):
                name = names.get(sender, party_name(sender))
                other = names.get(voucher, party_name(voucher))
                # Which of the two lies cannot be seen from an unsigned frame; a signed attempt
                # follows.
                raise MismatchError(name, other)
    return {
        number: joined([pieces[number, sender] for sender in letter.senders], letter)
        for number, letter in ours
    }


def joined(pieces: list[memoryview], letter: Letter) -> Array:
    """A letter from the pieces of all its senders."""
    data = pieces[0] if len(pieces) == 1 else b"".join(pieces)
    array = np.frombuffer(data, dtype=letter.dtype).reshape(letter.shape)
    # In memory the sender's own array arrives, so nobody may write into it.
    array.flags.writeable = False
    return array
