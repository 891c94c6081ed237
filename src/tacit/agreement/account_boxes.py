"""What a participant is told of itself: each node seals its components, and the owner adds them up.

The components are of fresh shares, so without those of other nodes they tell nothing. A box stands
in the node's log, whose chain and signature say whose it is. The key is that which the participant
signs with, in its other form (`participant_keys`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec
import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from nacl.exceptions import CryptoError
from nacl.public import PublicKey, SealedBox

from tacit.agreement.equity_check import equity_shape, owners_by_name
from tacit.agreement.participant_keys import sealing_private, sealing_public
from tacit.agreement.terms import Agreement, agreement_hash
from tacit.equity import NEUTRAL
from tacit.errors import AgreementError, SealError
from tacit.mpc import ArithmeticShare, from_ring, held_by


class _Body(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """What is in a box: of one run, one node and one participant."""

    agreement: bytes
    node: int
    participant: str
    components: list[bytes]
    """Those that the node holds, in their order."""


_READ = msgspec.msgpack.Decoder(_Body)


@dataclass(frozen=True, slots=True)
class OwnAccount:
    """What a participant learns of itself."""

    saved: int
    """What it saved in this run, in 128ths of what it could save."""
    factor: int
    """By which its costs were multiplied in this run."""
    balance: int | None
    """After this run, if that is told."""

    @property
    def level(self) -> int:
        """Above 0 for who was behind."""
        return self.factor - NEUTRAL


def seal_told(agreement: Agreement, node: int, told: ArithmeticShare, /) -> list[str]:
    """A box for each who took a step, in hexadecimal; all have one size but for their names."""
    names = owners_by_name(agreement, equity_shape(agreement))
    digest, boxes = agreement_hash(agreement), []
    for at, name in enumerate(names):
        words = [told.parts[c][at].astype("<u8").tobytes() for c in sorted(told.parts)]
        body = msgspec.msgpack.encode(_Body(digest, node, name, words))
        key = sealing_public(agreement.participant(name).signing_key)
        boxes.append(SealedBox(PublicKey(bytes.fromhex(key))).encrypt(body).hex())
    return boxes


def open_told(
    agreement: Agreement,
    name: str,
    boxes: Mapping[int, str],
    /,
    *,
    place: int,
    key: Ed25519PrivateKey,
) -> OwnAccount:
    """What a participant is told, from the box of each node; a `SealError` says why not.

    `place` is which of the counted runs it is.

    Of each component what two of its holders say counts: with three nodes that is all of them, with
    four the majority.
    """
    if agreement.equity is None:
        raise AgreementError("the run is of no series with equity; there are no balances")
    telling = agreement.equity.terms.telling(place)
    nodes = len(agreement.nodes)
    said: dict[int, list[bytes]] = {c: [] for c in range(nodes)}
    trouble = ""
    for node, box in boxes.items():
        try:
            words = _opened(agreement, name, node, box, key)
        except SealError as error:
            trouble = f" ({error})"
            continue
        for component, word in zip(sorted(held_by(node, nodes)), words, strict=True):
            said[component].append(word)
    numbers = np.zeros(telling.numbers, dtype=np.uint64)
    for component, words in said.items():
        word, count = Counter(words).most_common(1)[0] if words else (b"", 0)
        if count < 2 or len(word) != 8 * telling.numbers:
            raise SealError(
                f"no two nodes sealed the same as component {component} of your balance{trouble}; "
                "tell the others"
            )
        numbers += np.frombuffer(word, dtype="<u8")
    found = [int(number) for number in from_ring(numbers)]
    return OwnAccount(found[0], found[1], found[2] if telling.balance else None)


def _opened(
    agreement: Agreement, name: str, node: int, box: str, key: Ed25519PrivateKey
) -> list[bytes]:
    try:
        body = _READ.decode(SealedBox(sealing_private(key)).decrypt(bytes.fromhex(box)))
    except (CryptoError, ValueError, TypeError, msgspec.DecodeError):
        raise SealError(
            f"node {node}: the box with your balance does not open with your key"
        ) from None
    expected = agreement_hash(agreement), node, name
    if (body.agreement, body.node, body.participant) != expected:
        raise SealError(f"node {node}: the box with your balance is of another run, or not yours")
    if len(body.components) != len(agreement.nodes) - 1:
        raise SealError(f"node {node}: the box with your balance lacks a component")
    return body.components
