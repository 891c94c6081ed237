"""Wrong letters of one of four nodes are noticed before anything depends on them.

Every kind of letter, every sender, every receiver, every way to change a frame.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pytest

from tacit.errors import AbortError, MismatchError, PeerError
from tacit.mpc.letters import HASH_BYTES, Letter, frame_bytes, frames, opened
from tacit.mpc.local import Party, parties
from tacit.mpc.masks import MaskSource
from tacit.mpc.protocols import halves, less_than, opening, pairwise, shuffle
from tacit.mpc.protocols.loss import hand_over, share_without
from tacit.mpc.protocols.shuffle import draw_order
from tacit.mpc.session import Session
from tacit.mpc.shares import (
    COORDINATOR,
    ArithmeticShare,
    BitShare,
    Share,
    concatenate,
    deal,
    deal_bits,
    held_by,
    party_name,
)
from tacit.mpc.signed_letters import Signer
from tacit.mpc.transport.frame import Buffer
from tests.mpc.mask_checks import RememberedMasks
from tests.mpc.tampering import Log, Sent, Tamper, instead_of, tampered, untouched
from tests.mpc.waiting_clock import run_without_waiting

RNG = np.random.default_rng(4)
ROWS = np.array([[7, 1], [5, 2], [9, 3]], dtype=np.uint64)
LABELS = np.array([6, 8, 6], dtype=np.uint32)
NUMBERS = np.array([100, 2**64 - 3, 17, 4], dtype=np.uint64)


def source(seed: int, nodes: int) -> Callable[[int], MaskSource]:
    keys = [bytes([seed, c]) * 16 for c in range(nodes)]
    return lambda me: RememberedMasks({c: keys[c] for c in held_by(me, nodes)})


@dataclass(frozen=True)
class Kind:
    """A protocol of few rounds with letters of one kind, or some, that nothing else checks."""

    node: Callable[[Session, Share, Share], Any]
    coordinator: Party[Any] | None = None
    rows: np.ndarray = field(default_factory=lambda: ROWS[:, 0])
    bits: bool = False

    def shares(self, nodes: int, seed: int) -> list[list[Any]]:
        rng = np.random.default_rng(seed)
        give = deal_bits if self.bits else deal
        return [give(self.rows, nodes=nodes, source=rng.bytes) for _ in range(2)]


async def _shuffle(s: Session, x: Share, _: Share) -> object:
    return await shuffle.shuffle(s, x, draw_order(s, 3, label="o"), label="s")


async def _rows_back(s: Session, x: Share, _: Share) -> object:
    order = draw_order(s, 3, label="o")
    return await shuffle.unshuffle_to_coordinator(s, x, order, label="s", told=True)


async def _labels_back(s: Session, _: Share, __: Share) -> object:
    order = draw_order(s, 3, label="o")
    return await shuffle.labels_to_coordinator(s, LABELS, order, label="s", told=True)


async def _labels_shared(s: Session, _: Share, __: Share) -> object:
    order = draw_order(s, 3, label="o")
    return await shuffle.labels_to_shares(
        s, LABELS.astype(np.uint64), order, label="s", kind=ArithmeticShare
    )


async def _compare(s: Session, x: Any, y: Any) -> object:
    """Halves, blocks, one level of the tree, and last the opened and the kept AND."""
    return await less_than.compare_batch(s, x, y, bits=8, label="c")


def _lowest_bits(x: Share) -> BitShare:
    """Shares of some bits; which does not matter."""
    return BitShare({c: (part & np.uint64(1)).astype(np.uint8) for c, part in x.parts.items()})


async def _hand_over(s: Session, x: Share, _: Share) -> object:
    """To one node and then to another, so that each of them sends something."""
    made = []
    for lost in (1, 2):
        held: list[Any] = [share_without(x, me=s.me, lost=lost)] if s.me != lost else []
        made += await hand_over(s, held, [(x.shape, x.dtype)], lost=lost, label=f"r{lost}")
    return concatenate(made)


KINDS = {
    "shuffle": Kind(_shuffle, rows=ROWS),
    "rows to the coordinator": Kind(
        _rows_back, lambda s: shuffle.receive_unshuffled(s, (3, 2)), rows=ROWS
    ),
    "labels told": Kind(
        _labels_back, lambda s: shuffle.receive_unshuffled(s, (3,), dtype=np.uint32, xor=True)
    ),
    "labels to shares": Kind(_labels_shared),
    "comparison": Kind(_compare, rows=NUMBERS),
    "product": Kind(lambda s, x, y: pairwise.multiply(s, x, y, label="m")),  # type: ignore[arg-type]
    "bits to numbers": Kind(
        lambda s, x, _: halves.bits_to_arithmetic(s, x, label="b"),  # type: ignore[arg-type]
        rows=np.array([1, 0, 1], dtype=np.uint8),
        bits=True,
    ),
    "choice": Kind(lambda s, x, y: halves.choose(s, _lowest_bits(x), y, label="c")),  # type: ignore[arg-type]
    "handover": Kind(_hand_over),
    "opening to nodes": Kind(lambda s, x, _: opening.open_to_nodes(s, x)),
    "opening to the coordinator": Kind(
        lambda s, x, _: opening.disclose(s, x), lambda s: opening.receive_opened(s, 3)
    ),
    "opening to all": Kind(
        lambda s, x, _: opening.disclose(s, x, told=True), lambda s: opening.receive_opened(s, 3)
    ),
}


def run_kind(
    kind: Kind,
    tamper: Tamper,
    nodes: int = 4,
    seed: int = 0,
    signers: Callable[[int], Signer] | None = None,
) -> tuple[dict[int, Any], Log]:
    """What each party returns or raises, and what was sent."""
    x, y = kind.shares(nodes, seed)
    coordinator = kind.coordinator

    async def guarded(work: Any) -> Any:
        try:
            return await work
        except PeerError as error:
            return error

    async def whole() -> dict[int, Any]:
        run = await parties(
            lambda s: guarded(kind.node(s, x[s.me], y[s.me])),
            (lambda s: guarded(coordinator(s))) if coordinator else None,
            nodes=nodes,
            masks=source(seed, nodes),
            timeout=1,
            signers=signers,
        )
        return {**dict(enumerate(run.results)), COORDINATOR: run.coordinator}

    with tampered(tamper) as log:
        return run_without_waiting(whole()), log


@cache
def honest(name: str, nodes: int, seed: int = 0) -> tuple[dict[int, Any], Log]:
    """An untouched run; the masks are the same in every run with the same seed."""
    return run_kind(KINDS[name], untouched, nodes, seed)


def plain(result: Any) -> Any:
    """A result as something that can be compared."""
    if isinstance(result, Share):
        return {c: part.tolist() for c, part in result.parts.items()}
    if isinstance(result, less_than.Signs):
        return result.opened.tolist(), plain(result.kept)
    return result.tolist() if isinstance(result, np.ndarray) else result


def flipped(payload: bytes, byte: int) -> bytes:
    changed = bytearray(payload)
    changed[byte] ^= 1 << int(RNG.integers(8))
    return bytes(changed)


def replayed(name: str, nodes: int, frame: Sent) -> bytes:
    """The frame before of the same sender, or where it is the first, the same of another run."""
    run = honest(name, nodes, 0 if frame.number else 1)[1]
    sender, receiver, substream, number = frame.at
    at = (sender, receiver, substream, max(number - 1, 0))
    return next(other.payload for other in run.sent if other.at == at)


def ways(name: str, nodes: int, frame: Sent) -> dict[str, list[Buffer]]:
    """What a cheater may send in place of a frame."""
    data = frame.payload
    forged = hashlib.sha256(b"something else").digest()
    return {
        "first byte": [flipped(data, 0)],
        "last byte": [flipped(data, -1)],
        "last byte before the hashes": [flipped(data, max(len(data) - HASH_BYTES - 1, 0))],
        "hash forged": [data[:-HASH_BYTES] + forged],
        "dropped": [],
        "truncated": [data[:-1]],
        "lengthened": [data + b"0"],
        "replayed": [replayed(name, nodes, frame)],
    }


def check_noticed(name: str, frame: Sent, instead: list[Buffer], what: str) -> None:
    """The receiver stops there and names the cheater; whoever goes on has what is right."""
    truth, log = honest(name, 4)
    outcomes, seen = run_kind(KINDS[name], instead_of(frame, *instead))
    error = outcomes[frame.receiver]
    about = f"{what}: {frame.at}: {error}"
    assert isinstance(error, PeerError), about
    cheater = party_name(frame.sender)
    assert cheater in (error.peer, getattr(error, "voucher", None)), about
    # Nothing that depends on it has left.
    assert seen.sent_by(frame.receiver) == log.sent_before_taking[frame.at], about
    for party, outcome in outcomes.items():
        if party != frame.receiver and not isinstance(outcome, PeerError):
            assert plain(outcome) == plain(truth[party]), about


@pytest.mark.parametrize("name", KINDS)
def test_whatever_one_of_four_nodes_sends_wrongly_is_noticed(name: str) -> None:
    outcomes, log = honest(name, 4)
    assert not [each for each in outcomes.values() if isinstance(each, PeerError)]
    assert {frame.sender for frame in log.sent} == set(range(4))
    for frame in log.sent:
        for what, instead in ways(name, 4, frame).items():
            assert instead != [frame.payload]
            check_noticed(name, frame, instead, what)


@pytest.mark.parametrize("name", KINDS)
def test_with_three_nodes_sizes_are_checked(name: str) -> None:
    """Nobody vouches for most letters; a wrong size or silence still names its sender."""
    for frame in honest(name, 3)[1].sent:
        for what in ("truncated", "lengthened", "dropped"):
            tamper = instead_of(frame, *ways(name, 3, frame)[what])
            error = run_kind(KINDS[name], tamper, 3)[0][frame.receiver]
            assert isinstance(error, PeerError)
            assert party_name(frame.sender) in (error.peer, getattr(error, "voucher", None))


def test_with_three_nodes_one_can_falsify_a_product() -> None:
    """The reason for a fourth: a letter with one sender is believed."""
    truth, log = honest("product", 3)
    frame = log.sent[0]
    tamper = instead_of(frame, flipped(frame.payload, 0))
    outcomes = run_kind(KINDS["product"], tamper, 3)[0]
    assert plain(outcomes[frame.receiver]) != plain(truth[frame.receiver])


# The primitive itself.

LETTERS = [
    Letter((1, 2, 3), 0, (7,)),
    Letter((2, 3), 0, (2, 3), np.dtype(np.uint8)),
    Letter((0, 3), 1, (5,)),
    Letter((1,), 0, (2,)),
]
CONTENTS = {
    number: RNG.integers(0, 256, letter.shape).astype(letter.dtype)
    for number, letter in enumerate(LETTERS)
}


def frames_to(to: int) -> dict[int, bytes]:
    made = {}
    for sender in range(4):
        known = {k: CONTENTS[k] for k, e in enumerate(LETTERS) if sender in e.senders}
        parts = frames(LETTERS, known, sender).get(to)
        if parts is not None:
            made[sender] = b"".join(bytes(part) for part in parts)
    return made


def test_letters_arrive_whole_and_read_only() -> None:
    for to in (0, 1):
        got = opened(LETTERS, frames_to(to), to, {})
        assert sorted(got) == [k for k, e in enumerate(LETTERS) if e.to == to]
        for number, content in got.items():
            assert (content == CONTENTS[number]).all()
            assert content.dtype == CONTENTS[number].dtype
            assert not content.flags.writeable


def test_pieces_are_a_partition_and_frames_have_their_declared_size() -> None:
    for letter in LETTERS:
        sent = [k for s in letter.senders for k in range(letter.entries)[letter.piece(s)]]
        assert sent == list(range(letter.entries))
    for to in (0, 1):
        for sender, data in frames_to(to).items():
            assert len(data) == frame_bytes(LETTERS, sender, to)
    # One piece and one hash for each other sender; so a single sender sends the letter alone.
    assert frame_bytes(LETTERS[3:], 1, 0) == 16
    assert frame_bytes(LETTERS[2:3], 0, 1) == 2 * 8 + HASH_BYTES
    assert frame_bytes(LETTERS, 1, 2) == 0


@pytest.mark.parametrize("byte", [0, HASH_BYTES - 1])
def test_every_byte_of_every_hash_is_compared(byte: int) -> None:
    honest_frames = frames_to(0)
    for voucher, count in ((1, 2), (2, 2), (3, 2)):
        for which in range(count):
            data = bytearray(honest_frames[voucher])
            data[len(data) - HASH_BYTES * (which + 1) + byte] ^= 1
            with pytest.raises(MismatchError) as caught:
                opened(LETTERS, {**honest_frames, voucher: bytes(data)}, 0, {})
            assert party_name(voucher) == caught.value.voucher


def test_every_byte_of_every_piece_is_vouched_for() -> None:
    honest_frames = frames_to(0)
    alone = LETTERS[3].piece_bytes(1)
    for sender, frame in honest_frames.items():
        vouched = len(frame) - HASH_BYTES * 2 - (alone if sender == 1 else 0)
        for at in range(vouched):
            data = bytearray(frame)
            data[at] ^= 1
            with pytest.raises(MismatchError) as caught:
                opened(LETTERS, {**honest_frames, sender: bytes(data)}, 0, {sender: "the cheater"})
            assert caught.value.peer == "the cheater"


@pytest.mark.parametrize("change", [-1, 1, HASH_BYTES])
def test_a_frame_of_the_wrong_size_is_refused_before_it_is_read(change: int) -> None:
    for sender, frame in frames_to(0).items():
        data = frame[:change] if change < 0 else frame + bytes(change)
        with pytest.raises(AbortError, match=f"node {sender}: sent {len(data)} bytes where"):
            opened(LETTERS, {**frames_to(0), sender: data}, 0, {})


def test_a_frame_where_none_is_due_is_refused() -> None:
    with pytest.raises(AbortError, match="node 2: sent 1 bytes where 0 were due"):
        opened(LETTERS, {**frames_to(1), 2: b"?"}, 1, {})


def test_a_hash_is_of_the_other_senders_pieces_only() -> None:
    """One that reached over to another piece would fit nothing, or would vouch for itself."""
    data = frames_to(0)
    mine = data[2][: LETTERS[0].piece_bytes(2) + LETTERS[1].piece_bytes(2)]
    for voucher, at in ((1, 0), (3, 1)):  # node 1 knows the first letter only
        pieces = mine[: LETTERS[0].piece_bytes(2)] if voucher == 1 else mine
        said = data[voucher][len(data[voucher]) - 2 * HASH_BYTES :]
        assert said[HASH_BYTES * at : HASH_BYTES * (at + 1)] == hashlib.sha256(pieces).digest()
