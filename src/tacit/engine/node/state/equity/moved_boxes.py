"""A book on its way to other nodes: signed by who gives it, sealed to who gets it.

A box is of one agreement, the first run of the series that the book moves to, and sealed to the key
that its node drew for that run; so whoever takes that node's keys later does not open it.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from nacl.exceptions import CryptoError
from nacl.public import PrivateKey, PublicKey, SealedBox

from tacit.engine.agreement.signatures import is_signed, sign
from tacit.engine.agreement.terms import Agreement, agreement_hash
from tacit.engine.node.state.equity.kept_book import StoredBook, book_from_file, book_to_file
from tacit.errors import SealError
from tacit.mpc.equity import BookPart, public_part


class _Body(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the earlier node signs."""

    agreement: bytes
    giver: int
    taker: int
    public: StoredBook
    pieces: list[tuple[int, int, bytes]]


class _Contents(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    body: bytes
    signature: bytes


_READ_BODY = msgspec.msgpack.Decoder(_Body)
_READ_CONTENTS = msgspec.msgpack.Decoder(_Contents)


def seal_parts(
    agreement: Agreement, parts: Sequence[BookPart], /, *, giver: int, key: Ed25519PrivateKey
) -> list[bytes]:
    """A box for each node of the agreement; `giver` is the number in the earlier series."""
    digest, boxes = agreement_hash(agreement), []
    for taker, (node, part) in enumerate(zip(agreement.nodes, parts, strict=True)):
        pieces = [(c, j, words.astype("<u8").tobytes()) for (c, j), words in part.pieces.items()]
        body = msgspec.msgpack.encode(
            _Body(digest, giver, taker, book_to_file(part.public), pieces)
        )
        contents = msgspec.msgpack.encode(_Contents(body, sign(key, "book", body)))
        to = PublicKey(bytes.fromhex(node.sealing_key))
        boxes.append(SealedBox(to).encrypt(contents))
    return boxes


def open_part(
    agreement: Agreement,
    signers: Sequence[str],
    box: bytes,
    /,
    *,
    giver: int,
    taker: int,
    key: X25519PrivateKey,
) -> BookPart:
    """What an earlier node gave this one, after checking everything that it is bound to.

    `signers` are the keys of the earlier nodes.
    """
    who = f"node {giver} of the earlier series"
    if not 0 <= giver < len(signers):
        raise SealError(f"there is no {who}")
    opener = SealedBox(PrivateKey(key.private_bytes_raw()))
    try:
        contents = _READ_CONTENTS.decode(opener.decrypt(box))
    except (CryptoError, ValueError, TypeError, msgspec.DecodeError):
        raise SealError(f"the book of {who} does not open: damaged, or not for us") from None
    if not is_signed(signers[giver], "book", contents.body, contents.signature):
        raise SealError(f"the book is not signed by {who}")
    try:
        body = _READ_BODY.decode(contents.body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise SealError(f"{who} gave something else than a book") from None
    if (body.agreement, body.giver, body.taker) != (agreement_hash(agreement), giver, taker):
        raise SealError(f"the book of {who} is for another run, or another node")
    try:
        pieces = {(c, j): np.frombuffer(words, dtype="<u8") for c, j, words in body.pieces}
        return BookPart(public_part(book_from_file(body.public)), pieces)
    except (ValueError, TypeError):
        raise SealError(f"{who} gave a book of other sizes than it says") from None
