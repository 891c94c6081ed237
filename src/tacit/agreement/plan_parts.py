"""A plan for its owners: sealed to them part by part, committed to, and put together by each.

A commitment is the hash of a component of one row with a nonce, which all holders of the component
draw from their common key: so they are bound to the same numbers before anything is opened, and who
gets another number sees whose it is. Without the nonce a word of 32 bits would be guessed. A box
holds the components and nonces of one participant's rows, signed by the node. All boxes have one
size.
"""

from __future__ import annotations

import hashlib
import hmac
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import msgspec
import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from nacl.exceptions import CryptoError
from nacl.public import PublicKey, SealedBox
from numpy.typing import NDArray

from tacit.agreement.sealed_groups import ROOM
from tacit.agreement.signatures import is_signed, sealing_private, sealing_public, sign
from tacit.agreement.terms import Agreement, agreement_hash
from tacit.errors import AgreementError, SealError
from tacit.mpc import from_ring, held_by

NONCE_BYTES = 16
"""Of the nonce that keeps a component from being guessed from its commitment."""
HASH_BYTES = 32
_HEADER_BYTES = 512
"""More than everything in a box but its components and nonces takes."""


def rows_for(agreement: Agreement, participant: str, /) -> list[int]:
    """Return the rows that a participant gets: its own, or all of them where rows are places."""
    if agreement.known_problem.between_places:
        return list(range(agreement.problem.rows))
    owned = (agreement.rows_of(participant, k) for k in agreement.confidential())
    return sorted({row for rows in owned for row in rows})


def contents_size(agreement: Agreement, search: int, /) -> int:
    """Return the bytes in a box before it is sealed: the same for every owner and node."""
    most = max(len(rows_for(agreement, each.name)) for each in agreement.participants)
    word = agreement.sealed_run.group_of(search).word
    held = len(agreement.nodes) - 1
    return _HEADER_BYTES + held * (most * (word.itemsize + NONCE_BYTES) + HASH_BYTES)


def check_plan_for(agreement: Agreement, /) -> None:
    """Refuse a plan for its owners that cannot be kept from others, or sealed to them."""
    if not agreement.for_owners:
        if any(each.sealing_key for each in agreement.participants):
            raise AgreementError(
                "nothing is sealed to participants where everybody gets the plan; leave their "
                "sealing keys out"
            )
        return
    if not agreement.sealed:
        raise AgreementError(
            "only a sealed search can keep its plan for the owners: with other disclosures the "
            "platform finds it; take disclosure sealed, or plan everybody"
        )
    for each in agreement.participants:
        if each.sealing_key != sealing_public(each.signing_key):
            raise AgreementError(
                f"the sealing key of {each.name!r} is not that of its signing key; do not sign, "
                "and draft again"
            )
    for group in agreement.sealed_run.groups:
        hashes = (len(agreement.nodes) - 1) * agreement.problem.rows * HASH_BYTES
        # A node sends the boxes of all participants in one reply.
        size = len(agreement.participants) * contents_size(agreement, group.searches[0]) + hashes
        if size > ROOM:
            raise AgreementError(
                f"the boxes with the parts of the plan would take a message of {size >> 20} MB; "
                f"{ROOM >> 20} MB fit: take fewer participants, or give rows more evenly"
            )


_LENGTH_BYTES = 4


class PlanContext(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """Which plan it is: commitments and boxes of another one do not pass for it."""

    agreement: bytes
    search: int
    attempt: str
    """Whose state has the plan."""
    members: tuple[int, ...]
    """The nodes that hold it: all, or of four the three that went on without one."""

    @property
    def digest(self) -> bytes:
        return hashlib.sha256(b"tacit plan/1\n" + msgspec.msgpack.encode(self)).digest()

    def held_by(self, node: int, /) -> tuple[int, ...]:
        """Return the components that a node holds, in the order in which they are sent."""
        return held_by(self.members.index(node), len(self.members))


class SealedParts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one node sealed of a plan, for the platform to hand out."""

    boxes: list[bytes]
    """One per participant, in the agreement's order."""
    commitments: list[bytes]
    """Per component that the node holds: a hash per row."""

    @property
    def box_hashes(self) -> list[bytes]:
        return [_sha256(box) for box in self.boxes]

    @property
    def heads(self) -> PlanHeads:
        """Return the hashes that the node's log has of this."""
        roots = [commitments_root(each) for each in self.commitments]
        return PlanHeads(roots, boxes_root(self.box_hashes))


HexHash = Annotated[str, msgspec.Meta(max_length=64)]
"""What a hash fits in; others are refused before anybody passes them on."""


class PlanHeads(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hashes that bind a node to its parts of a plan and to the boxes that they are in."""

    commitments: Annotated[list[HexHash], msgspec.Meta(max_length=3)]
    """Per component that the node holds, the hash of its commitments to all rows."""
    boxes: HexHash
    """The hash of all its boxes."""


class CarriedPart(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one node sealed for one participant, as the platform brings it."""

    node: int
    box: bytes
    box_hashes: list[bytes]
    """Of all boxes of the node, in the agreement's order of participants."""
    commitments: list[bytes]


def carried_parts(sealed: Sequence[SealedParts | None], place: int, /) -> list[CarriedPart]:
    """Return what all nodes sealed for the participant at a place of the agreement's list."""
    return [
        CarriedPart(node, each.boxes[place], each.box_hashes, each.commitments)
        for node, each in enumerate(sealed)
        if each is not None
    ]


class _PartBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """What the node signs inside a box."""

    context: PlanContext
    node: int
    participant: int
    components: list[bytes]
    """Those that the node holds, one word for each row of the participant."""
    nonces: list[bytes]
    roots: list[str]
    """Of the node's commitments, one for each component."""


_READ_BODY = msgspec.msgpack.Decoder(_PartBody)


class _PartContents(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    body: bytes
    signature: bytes


_READ_CONTENTS = msgspec.msgpack.Decoder(_PartContents)


def _sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def commitments_root(commitments: bytes, /) -> str:
    """Return the hash that binds a node to its commitments to all rows of a component."""
    return hashlib.sha256(b"tacit plan commitments/1\n" + commitments).hexdigest()


def boxes_root(box_hashes: Sequence[bytes], /) -> str:
    """Return the hash that binds a node to its list of boxes."""
    return hashlib.sha256(b"tacit plan boxes/1\n" + b"".join(box_hashes)).hexdigest()


def row_nonce(key: bytes, context: bytes, row: int, /) -> bytes:
    """Return the nonce of a row, the same for all who hold the component's key."""
    about = b"tacit plan nonce/1\n" + context + row.to_bytes(4, "little")
    return hmac.digest(key, about, "sha256")[:NONCE_BYTES]


def commitment(context: bytes, row: int, component: int, nonce: bytes, word: bytes, /) -> bytes:
    """Commit to a component of a row; without the nonce this tells nothing of it."""
    about = context + row.to_bytes(4, "little") + bytes([component])
    return _sha256(b"tacit plan component/1\n" + about + nonce + word)


def seal_plan(
    agreement: Agreement,
    context: PlanContext,
    node: int,
    parts: Mapping[int, NDArray[np.unsignedinteger]],
    keys: Mapping[int, bytes],
    /,
    *,
    signing: Ed25519PrivateKey,
) -> SealedParts:
    """Commit to a node's components of a plan, a word per row, and seal each owner its own."""
    # All holders of a component draw its nonces from one key. So their commitments are equal, and
    # two that differ show a liar before anything is opened.
    held, about = context.held_by(node), context.digest
    words = {c: _words(parts[c]) for c in held}
    rows = range(agreement.problem.rows)
    nonces = {c: [row_nonce(keys[c], about, row) for row in rows] for c in held}
    commitments = [
        b"".join(commitment(about, row, c, nonces[c][row], words[c][row]) for row in rows)
        for c in held
    ]
    size = contents_size(agreement, context.search)
    boxes = []
    for number, participant in enumerate(agreement.participants):
        own = rows_for(agreement, participant.name)
        body = _PartBody(
            context,
            node,
            number,
            [b"".join(words[c][row] for row in own) for c in held],
            [b"".join(nonces[c][row] for row in own) for c in held],
            [commitments_root(each) for each in commitments],
        )
        to = PublicKey(bytes.fromhex(participant.sealing_key))
        boxes.append(SealedBox(to).encrypt(_padded(_signed(body, signing), size)))
    return SealedParts(boxes, commitments)


def _words(part: NDArray[np.unsignedinteger]) -> list[bytes]:
    size = part.dtype.itemsize
    data = np.ascontiguousarray(part).astype(part.dtype.newbyteorder("<")).tobytes()
    return [data[at : at + size] for at in range(0, len(data), size)]


def _signed(body: _PartBody, signing: Ed25519PrivateKey) -> bytes:
    # A sealed box does not say who closed it, so what is inside is signed.
    written = msgspec.msgpack.encode(body)
    return msgspec.msgpack.encode(_PartContents(written, sign(signing, "plan part", written)))


def _padded(contents: bytes, size: int) -> bytes:
    return len(contents).to_bytes(_LENGTH_BYTES, "little") + contents.ljust(size, b"\0")


@dataclass(frozen=True, slots=True)
class OpenedPart:
    """What one node says of a participant's rows; it fits what the node is bound to."""

    node: int
    context: PlanContext
    heads: PlanHeads
    components: dict[int, NDArray[np.unsignedinteger]]
    """A word for each row of the participant."""

    def root(self, component: int, /) -> str:
        """Return the commitments that the node is bound to for a component."""
        return self.heads.commitments[self.context.held_by(self.node).index(component)]


def open_part(
    agreement: Agreement,
    search: int,
    participant: str,
    part: CarriedPart,
    /,
    *,
    key: Ed25519PrivateKey,
) -> OpenedPart:
    """Open a node's components of a participant's rows, and check everything that binds them."""
    who = f"node {part.node}"
    names = [each.name for each in agreement.participants]
    place = names.index(participant)
    if part.node not in range(len(agreement.nodes)) or len(part.box_hashes) != len(names):
        raise SealError(f"{who}: the platform brings boxes that do not fit the agreement")
    # The node's log is bound to the list of its boxes: a box that is exchanged later contradicts
    # it.
    if _sha256(part.box) != part.box_hashes[place]:
        raise SealError(f"{who}: the box is not the one that the list of its boxes names for you")
    body = _opened(agreement, part, key)
    # A node's true box of another run or search would fit its own commitments too.
    if body.context.agreement != agreement_hash(agreement) or body.context.search != search:
        raise SealError(f"{who}: the box is of another run or another plan; ask for yours")
    if (body.node, body.participant) != (part.node, place):
        raise SealError(f"{who}: the box was sealed by another node, or for another participant")
    _check_members(agreement, body)
    held = body.context.held_by(part.node)
    rows = rows_for(agreement, participant)
    word = agreement.sealed_run.group_of(search).word
    sizes = (
        (body.components, word.itemsize * len(rows)),
        (body.nonces, NONCE_BYTES * len(rows)),
        (part.commitments, HASH_BYTES * agreement.problem.rows),
    )
    fits = all([*map(len, found)] == [size] * len(held) for found, size in sizes)
    if not fits or body.roots != [commitments_root(each) for each in part.commitments]:
        raise SealError(f"{who}: the box does not go with the commitments beside it")
    for at, component in enumerate(held):
        _check_component(body, at, component, rows, part.commitments[at])
    components = {
        c: np.frombuffer(data, dtype=word.newbyteorder("<")).astype(word)
        for c, data in zip(held, body.components, strict=True)
    }
    return OpenedPart(
        part.node, body.context, PlanHeads(body.roots, boxes_root(part.box_hashes)), components
    )


def _opened(agreement: Agreement, part: CarriedPart, key: Ed25519PrivateKey) -> _PartBody:
    who = f"node {part.node}"
    try:
        padded = SealedBox(sealing_private(key)).decrypt(part.box)
        length = int.from_bytes(padded[:_LENGTH_BYTES], "little")
        written = padded[_LENGTH_BYTES : _LENGTH_BYTES + length]
        contents = _READ_CONTENTS.decode(written)
    except (CryptoError, ValueError, TypeError, msgspec.DecodeError):
        raise SealError(
            f"{who}: the box does not open with your key: it is damaged, or not for you"
        ) from None
    signer = agreement.nodes[part.node].signing_key
    if not is_signed(signer, "plan part", contents.body, contents.signature):
        raise SealError(f"{who}: what is in the box is not signed by the node")
    try:
        return _READ_BODY.decode(contents.body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise SealError(f"{who}: the box holds something else than a part of a plan") from None


def _check_members(agreement: Agreement, body: _PartBody) -> None:
    """A plan is held by all nodes, or by three of four, where one was lost or has cheated.

    Two boxes at least must say so, and of four nodes one of any two is honest.
    """
    everyone = range(len(agreement.nodes))
    members = body.context.members
    lost = len(everyone) - len(members)
    known = [*members] == sorted({*members} & {*everyone})
    if not known or body.node not in members or lost not in (0, len(everyone) - 3):
        raise SealError(f"node {body.node}: the plan is held by other nodes than were agreed on")


def _check_component(
    body: _PartBody, at: int, component: int, rows: Sequence[int], commitments: bytes
) -> None:
    context = body.context.digest
    size = len(body.components[at]) // max(1, len(rows))
    for number, row in enumerate(rows):
        nonce = body.nonces[at][NONCE_BYTES * number : NONCE_BYTES * (number + 1)]
        word = body.components[at][size * number : size * (number + 1)]
        made = commitment(context, row, component, nonce, word)
        if made != commitments[HASH_BYTES * row : HASH_BYTES * (row + 1)]:
            raise SealError(
                f"node {body.node}: component {component} of row {row} is not what the node is "
                "bound to; keep the box, which shows it, and tell the others"
            )


@dataclass(frozen=True, slots=True)
class OwnPart:
    """A participant's rows of a plan."""

    columns: dict[int, int]
    """The column of each of its rows; of a tour, all places in their order."""
    context: PlanContext
    heads: dict[int, PlanHeads]
    """Per node whose box fits, what it is bound to: its log must say the same."""
    rejected: list[str]
    """Why boxes of other nodes do not count."""


def put_together(
    agreement: Agreement,
    search: int,
    participant: str,
    parts: Sequence[CarriedPart],
    /,
    *,
    key: Ed25519PrivateKey,
) -> OwnPart:
    """Open the boxes of all nodes, or all but one, and add them up; a `SealError` says why not.

    Boxes that do not fit are rejected one by one, which changes nothing as long as enough are left.
    """
    opened: dict[int, OpenedPart] = {}
    rejected = []
    for part in parts:
        try:
            opened[part.node] = open_part(agreement, search, participant, part, key=key)
        except SealError as error:
            rejected.append(str(error))
    # Shares of two attempts do not belong together: only boxes of one context are added up.
    context = _common_context(opened, rejected, len(agreement.nodes))
    fitting = {node: part for node, part in opened.items() if part.context == context}
    # Before anything is added: one false component would change every row, and nobody would see
    # whose it was.
    whole = [_agreed(fitting, c, rejected) for c in range(len(context.members))]
    values = from_ring(np.sum(whole, axis=0, dtype=whole[0].dtype))
    rows = rows_for(agreement, participant)
    columns = dict(zip(rows, map(int, values), strict=True))
    _check_form(agreement, columns)
    heads = {node: part.heads for node, part in fitting.items()}
    return OwnPart(columns, context, heads, rejected)


def whole_plan(
    agreement: Agreement,
    search: int,
    sealed: Sequence[SealedParts | None],
    keys: Mapping[str, Ed25519PrivateKey],
    /,
) -> list[int]:
    """Put the whole plan together, where the keys of all owners are here."""
    columns: dict[int, int] = {}
    for place, each in enumerate(agreement.participants):
        own = put_together(
            agreement, search, each.name, carried_parts(sealed, place), key=keys[each.name]
        )
        columns |= own.columns
    return [columns[row] for row in range(agreement.problem.rows)]


def _common_context(opened: dict[int, OpenedPart], rejected: list[str], nodes: int) -> PlanContext:
    contexts = Counter(part.context for part in opened.values())
    ranked = contexts.most_common(2)
    # Each component has two holders at least, so without one node all components are still here.
    if not ranked or ranked[0][1] < len(ranked[0][0].members) - 1:
        found = f"; {'; '.join(rejected)}" if rejected else ""
        raise SealError(
            f"too few boxes with your part of the plan fit together: all of {nodes} nodes but one "
            f"are needed{found}"
        )
    for node, part in opened.items():
        if part.context != ranked[0][0]:
            rejected.append(f"node {node}: the box is of another plan than those of the others")
    return ranked[0][0]


def _agreed(
    parts: dict[int, OpenedPart], component: int, rejected: list[str]
) -> NDArray[np.unsignedinteger]:
    """Return the words of a component, if enough of its holders are bound to the same."""
    holders = {node: part for node, part in parts.items() if component in part.components}
    bound = Counter(part.root(component) for part in holders.values())
    needed = len(next(iter(parts.values())).context.members) - 2
    ranked = [*bound.most_common(2), ("", 0), ("", 0)]
    (root, votes), (_, others) = ranked[:2]
    if votes < needed or votes == others:
        raise SealError(
            f"{' and '.join(f'node {node}' for node in sorted(holders)) or 'no node'} cannot be "
            f"believed: they are bound to different numbers as component {component}, or too few "
            "are there; one of them lies"
        )
    for node, part in holders.items():
        if part.root(component) != root:
            rejected.append(f"node {node}: it alone is bound to another component {component}")
    return next(
        part.components[component] for part in holders.values() if part.root(component) == root
    )


def _check_form(agreement: Agreement, columns: dict[int, int]) -> None:
    """Check that no column is taken more often than it may."""
    problem = agreement.known_problem
    if problem.between_places:
        fits = problem.have_the_form(np.array([[*columns.values()]], dtype=np.int64))
    else:
        allowed = Counter(map(int, problem.sealed_items))
        fits = not Counter(columns.values()) - allowed
    if not fits:
        raise SealError(
            "the boxes fit what the nodes are bound to, and are not rows of a plan: a node has "
            "computed wrongly; ask the operators"
        )
