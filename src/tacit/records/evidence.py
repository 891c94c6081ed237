"""Evidence that a node departed from the protocol: signed statements that contradict each other.

A statement is about letters, about what a node told all others, or a vote in a ballot. All senders
of a letter know all of it. So honest nodes that agree on what is computed never sign different
hashes of the same pieces, and never two statements of the same place; they vote once in each phase
of a ballot. Each contradiction gives a set of nodes of whom one lies, whoever shows it; at most one
of four lies, so it is in all of these sets. A node is named if it is the only one that is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.agreement.signatures import is_signed, sign
from tacit.agreement.terms import Agreement, agreement_hash
from tacit.errors import LogError
from tacit.mpc import SIGNATURE_BYTES, Statement, Told, is_told
from tacit.records.ballots import Vote, is_vote, read_vote

Shown = Statement | Vote | Told
"""What a node signed: of letters that it sent, in a ballot, or of what it told all others."""


class NodeSigner:
    """Signs what a node sends other nodes, for one agreement, and checks what they signed."""

    def __init__(
        self,
        agreement: Agreement,
        purpose: Literal["frame", "told"],
        key: Ed25519PrivateKey | None = None,
        /,
    ) -> None:
        self._keys = [node.signing_key for node in agreement.nodes]
        self._agreement, self._purpose, self._key = agreement_hash(agreement), purpose, key

    def sign(self, statement: bytes, /) -> bytes:
        if self._key is None:
            raise ValueError("whoever only checks has no key to sign with")
        return sign(self._key, self._purpose, self._agreement + statement)

    def is_signed(self, by: int, statement: bytes, signature: bytes, /) -> bool:
        # The number comes from a statement that anybody may have written.
        if not 0 <= by < len(self._keys):
            return False
        return is_signed(self._keys[by], self._purpose, self._agreement + statement, signature)


def read_evidence(agreement: Agreement, evidence: Iterable[bytes], /) -> list[Shown]:
    """Read the statements; a `LogError` if a node of this agreement did not sign one.

    Each comes as its bytes with the signature of its author behind.
    """
    return [_shown(agreement, signed) for signed in evidence]


def _shown(agreement: Agreement, signed: bytes) -> Shown:
    if is_vote(signed):
        return read_vote(agreement, signed)
    data, signature = signed[:-SIGNATURE_BYTES], signed[-SIGNATURE_BYTES:]
    shown = Told.decode(data) if is_told(signed) else _statement(data)
    signer = NodeSigner(agreement, "told" if isinstance(shown, Told) else "frame")
    # Whoever shows evidence may have made it up. Only what a node of this agreement signed counts.
    if not _is_known(agreement, shown) or not signer.is_signed(shown.author, data, signature):
        raise LogError(
            f"evidence shows a statement that node {shown.author} did not sign in this "
            "run; it was made up, or is of another run"
        )
    return shown


def _is_known(agreement: Agreement, shown: Told | Statement) -> bool:
    if isinstance(shown, Told):
        return True
    named = [shown.to, *(n for group in shown.groups for n in group.senders)]
    return max(named) < len(agreement.nodes)


def _statement(data: bytes) -> Statement:
    try:
        return Statement.decode(data)
    except ValueError as error:
        raise LogError(f"what is shown as evidence is {error}; it was made up") from None


def suspects(statements: Sequence[Shown], /) -> frozenset[int]:
    """Return the nodes of whom one departed from the protocol; a `LogError` if none is shown to."""
    found = _contradictions(statements)
    if not found:
        raise LogError("the statements that are shown as evidence do not contradict each other")
    # At most one of four nodes departs from the protocol, so it is in every one of these sets.
    left = frozenset.intersection(*found)
    if not left:
        raise LogError("more than one node departed from the protocol, so none can be named")
    return left


def _contradictions(statements: Sequence[Shown]) -> list[frozenset[int]]:
    """Return sets of nodes; of each set one lies."""
    made: dict[tuple[object, ...], Shown] = {}
    found: list[frozenset[int]] = []
    said: dict[tuple[object, ...], dict[bytes, set[int]]] = {}
    for each in statements:
        # Two different statements of one place: their author lies, whoever is right otherwise.
        if made.setdefault((type(each), each.place, each.author), each) != each:
            found.append(frozenset({each.author}))
        for group in each.groups if isinstance(each, Statement) else ():
            for sender, digest in zip(group.senders, group.digests, strict=True):
                authors = said.setdefault((each.place, group.senders, sender), {})
                authors.setdefault(digest, set()).add(each.author)
    # Honest nodes never differ here, since all senders of a group know the same pieces. So one of
    # these authors lies, and nobody else needs to be believed for that.
    found += [_liars(list(claims.values())) for claims in said.values() if len(claims) > 1]
    return found


def _liars(sides: list[set[int]]) -> frozenset[int]:
    """Return who lies among nodes that say different things: one against two, or any of them."""
    fewer, *more = sorted(sides, key=len)
    # With one liar at most, two that say the same are right.
    outvoted = len(fewer) == 1 and len(more) == 1 and len(more[0]) > 1
    return frozenset(fewer) if outvoted else frozenset().union(*sides)


def describe_suspects(nodes: frozenset[int], /) -> str:
    """Say in words which nodes departed from the protocol.

    >>> describe_suspects(frozenset({2, 1}))
    'node 1 or node 2 departed from the protocol: their signed statements contradict each other'
    >>> describe_suspects(frozenset({3}))
    'node 3 departed from the protocol: its signed statements contradict those of others'
    """
    names = " or ".join(f"node {node}" for node in sorted(nodes))
    if len(nodes) == 1:
        return (
            f"{names} departed from the protocol: its signed statements contradict those of others"
        )
    return f"{names} departed from the protocol: their signed statements contradict each other"
