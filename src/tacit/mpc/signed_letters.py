"""Letters of an attempt in which every node signs what it sends to other nodes.

After a mismatch nobody knows which of two nodes lied, and a hash on a link proves nothing to
others. So the next attempt is signed. With each frame a sender signs a `Statement`: the hashes of
its own pieces and of those that it vouches for, per group of letters with the same senders. All
senders of a letter know all of it, so the statements of two honest nodes about the same place never
differ. The receiver checks all signatures before it uses anything. Where two statements contradict
each other, it holds the proof that one of their authors lies.

The hashes go into logs, and short contents could be guessed. They are salted with words from the
keys that all senders of the letters hold and no other node holds all of; the receiver is sent the
salt, together with the pieces. Letters to the coordinator are not signed.

Learns   nothing beyond the unsigned letters
Rounds   those of the unsigned letters
Bytes    a signature (64) per frame and a salt (32) per group of letters on top
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Protocol

from tacit.errors import AbortError, MismatchError
from tacit.mpc.letters import Array, Letter, cut, flat_bytes, frames, joined, outside
from tacit.mpc.shares import COORDINATOR, party_name
from tacit.mpc.transport.frame import Buffer

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
        # Exactly one encoding for each statement: else one statement could be shown as two.
        if not groups or alone or not fits or masks != sorted(set(masks)) or made.encode() != data:
            raise ValueError("not a statement of one sender of letters to another node")
        return made


SALT_BYTES = 32
Senders = tuple[int, ...]
Salt = Callable[[int, Senders], bytes]
"""The salt of the letters to a receiver from these senders, one of whom we are."""
Words = Callable[[str, int, int], Array]


class Signer(Protocol):
    """A node's signing key, and the public ones of all."""

    def sign(self, statement: bytes, /) -> bytes: ...

    def is_signed(self, by: int, statement: bytes, signature: bytes, /) -> bool: ...


def groups_of(letters: Sequence[Letter], sender: int, to: int) -> list[Senders]:
    """The sets of senders of letters to a node that one of them sends together with others."""
    if to == COORDINATOR:
        return []
    shared = {e.senders for e in letters if e.to == to and sender in e.senders}
    return sorted(
        (senders for senders in shared if len(senders) > 1),
        key=lambda senders: sum(1 << node for node in senders),
    )


def _digest(salt: bytes, pieces: Sequence[Buffer]) -> bytes:
    whole = hashlib.sha256(b"tacit pieces/1" + salt)
    for piece in pieces:
        whole.update(piece)
    return whole.digest()


def _numbers(letters: Sequence[Letter], senders: Senders, to: int) -> list[int]:
    return [k for k, letter in enumerate(letters) if (letter.senders, letter.to) == (senders, to)]


def salted_frames(
    letters: Sequence[Letter], contents: Mapping[int, Any], me: int, salt: Salt
) -> dict[int, list[Buffer]]:
    """What a node sends in a round, by receiver: its pieces and the salted hashes of others'."""
    made = frames(letters, contents, me)
    for to in made:
        groups = groups_of(letters, me, to)
        if not groups:
            continue
        # Salted hashes replace the plain ones: both together would undo the salt.
        made[to] = [
            cut(flat_bytes(contents[number]), letter, me)
            for number, letter in enumerate(letters)
            if letter.to == to and me in letter.senders
        ]
        for senders in groups:
            numbers = _numbers(letters, senders, to)
            for other in (each for each in senders if each != me):
                pieces = [cut(flat_bytes(contents[n]), letters[n], other) for n in numbers]
                made[to].append(_digest(salt(to, senders), pieces))
    return made


def signed_frame_bytes(letters: Sequence[Letter], sender: int, to: int) -> int:
    """The size of what one node sends another in a round of a signed attempt.

    >>> from tacit.mpc.letters import frame_bytes
    >>> letters = [Letter((2, 3), 0, (5,))]
    >>> signed_frame_bytes(letters, 3, 0) - frame_bytes(letters, 3, 0)  # a salt and a signature
    96
    """
    groups = groups_of(letters, sender, to)
    pieces = sum(e.piece_bytes(sender) for e in letters if e.to == to and sender in e.senders)
    hashes = sum(len(senders) - 1 for senders in groups)
    more = DIGEST_BYTES * hashes + SALT_BYTES * len(groups) + SIGNATURE_BYTES
    return pieces + (more if groups else 0)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a round is: what the nodes agree on, the substream, and the number of its round."""

    about: bytes
    substream: int
    exchange: int


@dataclass(frozen=True, slots=True)
class _Signed:
    """A frame that arrived, taken apart."""

    pieces: dict[int, Buffer]
    statement: Statement | None
    signature: bytes


@dataclass(frozen=True, slots=True)
class SignedRound:
    """One round of a signed attempt at one node."""

    letters: Sequence[Letter]
    me: int
    nodes: int
    place: Place
    signer: Signer

    def _salt(self, words: Words, to: int, senders: Senders) -> bytes:
        # A salt serves one group of one round: with the same one, equal hashes would tell of equal
        # letters.
        label = f"salt {self.place.substream} {self.place.exchange} {to} {senders}"
        # The keys that all of these senders hold. No other node has all of them, so nobody else can
        # test guesses of a short letter against a hash in a log.
        held = outside(self.nodes, *senders)
        drawn = [words(label, c, SALT_BYTES // 8).tobytes() for c in held]
        return hashlib.sha256(b"".join(drawn)).digest()

    def frames(self, contents: Mapping[int, Any], words: Words) -> dict[int, list[Buffer]]:
        """What we send, by receiver: pieces, salted hashes, salts, and our signature.

        `words` draws words from the key of a component under a label, once.
        """
        salt = cache(partial(self._salt, words))
        made = salted_frames(self.letters, contents, self.me, salt)
        for to, parts in made.items():
            groups = groups_of(self.letters, self.me, to)
            if groups:
                salts = [salt(to, senders) for senders in groups]
                sent = self._sent(self.me, to)
                pieces = dict(zip(sent, parts[: len(sent)], strict=True))
                said = [bytes(part) for part in parts[len(sent) :]]
                statement = self._statement(self.me, to, pieces, said, salts)
                parts += [*salts, self.signer.sign(statement.encode())]
        return made

    def _sent(self, sender: int, to: int) -> list[int]:
        """The numbers of the letters from a node to another."""
        return [k for k, e in enumerate(self.letters) if e.to == to and sender in e.senders]

    def _statement(
        self,
        author: int,
        to: int,
        pieces: Mapping[int, Buffer],
        said: Sequence[bytes],
        salts: Sequence[bytes],
    ) -> Statement:
        """What a frame says: hashes of its own pieces, and those that it has of the others'."""
        vouched = iter(said)
        groups = []
        for senders, salt in zip(groups_of(self.letters, author, to), salts, strict=True):
            own = _digest(salt, [pieces[n] for n in _numbers(self.letters, senders, to)])
            digests = tuple(own if each == author else next(vouched) for each in senders)
            groups.append(Group(senders, digests))
        place = self.place
        return Statement(place.about, author, to, place.substream, place.exchange, tuple(groups))

    def opened(self, payloads: Mapping[int, Buffer], names: Mapping[int, str]) -> dict[int, Array]:
        """The letters that arrived, once every signature is right and all fits together.

        Raises `MismatchError` with the statements that prove it, or `AbortError` for a wrong size
        or a wrong signature.
        """
        arrived = {
            sender: self._read(sender, memoryview(payload), names.get(sender, party_name(sender)))
            for sender, payload in payloads.items()
        }
        # Signatures before contents: a contradiction with an unsigned statement would prove
        # nothing, and could accuse an honest node.
        statements = {s: each.statement for s, each in arrived.items() if each.statement}
        for author, statement in statements.items():
            if not self.signer.is_signed(author, statement.encode(), arrived[author].signature):
                name = names.get(author, party_name(author))
                raise AbortError(name, "sent a frame without its valid signature under it")
        if pair := _contradiction(statements):
            sender, voucher = (names.get(each, party_name(each)) for each in pair)
            # All statements of the round, so that whoever judges them sees every voucher.
            evidence = [e.encode() + arrived[author].signature for author, e in statements.items()]
            raise MismatchError(sender, voucher, evidence=evidence)
        return {
            number: joined([memoryview(arrived[s].pieces[number]) for s in each.senders], each)
            for number, each in enumerate(self.letters)
            if each.to == self.me
        }

    def _read(self, sender: int, rest: memoryview, name: str) -> _Signed:
        groups, sent = groups_of(self.letters, sender, self.me), self._sent(sender, self.me)
        due = signed_frame_bytes(self.letters, sender, self.me)
        if rest.nbytes != due:
            raise AbortError(name, f"sent {rest.nbytes} bytes where {due} were due")
        rest, pieces = rest.cast("B"), dict[int, Buffer]()
        for number in sent:
            size = self.letters[number].piece_bytes(sender)
            pieces[number], rest = rest[:size], rest[size:]
        if not groups:
            return _Signed(pieces, None, b"")
        # Hashes and salts have 32 bytes each; hashes come first.
        words = [bytes(rest[at : at + 32]) for at in range(0, rest.nbytes - SIGNATURE_BYTES, 32)]
        hashes = len(words) - len(groups)
        statement = self._statement(sender, self.me, pieces, words[:hashes], words[hashes:])
        return _Signed(pieces, statement, bytes(rest[-SIGNATURE_BYTES:]))


def _contradiction(statements: Mapping[int, Statement]) -> tuple[int, int] | None:
    """A sender and one that vouches for something else, if there are two."""
    said = {
        (author, group.senders, sender): digest
        for author, statement in statements.items()
        for group in statement.groups
        for sender, digest in zip(group.senders, group.digests, strict=True)
    }
    for (voucher, senders, sender), digest in said.items():
        if not hmac.compare_digest(digest, said[sender, senders, sender]):
            return sender, voucher
    return None
