"""An attempt in which all sign: it computes the same, and a lie leaves proof with its receiver."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import cycle, permutations
from typing import Any

import numpy as np
import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import AbortError, MismatchError, PeerError
from tacit.mpc import signed_letters
from tacit.mpc.epoch import Context, agree_epoch, open_session
from tacit.mpc.letters import Letter
from tacit.mpc.local import run_linked
from tacit.mpc.protocols import less_than, opening, pairwise
from tacit.mpc.shares import COORDINATOR, deal, held_by, party_name
from tacit.mpc.signed_letters import (
    DIGEST_BYTES,
    SALT_BYTES,
    SIGNATURE_BYTES,
    Group,
    Place,
    Senders,
    SignedRound,
    Statement,
    groups_of,
    salted_frames,
)
from tacit.mpc.transport.frame import Buffer
from tacit.mpc.transport.mux import Mux
from tests.mpc.tampering import Log, instead_of, untouched
from tests.mpc.test_letters import KINDS, NUMBERS, flipped, honest, plain, run_kind

AMONG = [name for name in KINDS if name != "opening to the coordinator"]
"""Protocols with letters from nodes to nodes."""
KEYS = [Ed25519PrivateKey.generate() for _ in range(4)]


class Signing:
    """A node's own key, and the public ones of all."""

    def __init__(self, me: int) -> None:
        self._me = me

    def sign(self, statement: bytes, /) -> bytes:
        return KEYS[self._me].sign(statement)

    def is_signed(self, by: int, statement: bytes, signature: bytes, /) -> bool:
        try:
            KEYS[by].public_key().verify(signature, statement)
        except InvalidSignature:
            return False
        return True


@cache
def signed(name: str) -> tuple[dict[int, Any], Log]:
    return run_kind(KINDS[name], untouched, signers=Signing)


@pytest.mark.parametrize("name", KINDS)
def test_a_signed_attempt_computes_the_same_in_as_many_frames(name: str) -> None:
    truth, log = honest(name, 4)
    outcomes, seen = signed(name)
    assert {k: plain(v) for k, v in outcomes.items()} == {k: plain(v) for k, v in truth.items()}
    # Nodes take turns by the time that frames take, so that only each one's own order is fixed.
    plainly, signedly = (sorted(each.sent, key=lambda frame: frame.at) for each in (log, seen))
    assert [frame.at for frame in signedly] == [frame.at for frame in plainly]
    for before, after in zip(plainly, signedly, strict=True):
        more = len(after.payload) - len(before.payload)
        if before.receiver == COORDINATOR:
            assert after.payload == before.payload
        else:
            groups = (more - SIGNATURE_BYTES) // SALT_BYTES
            assert more == SIGNATURE_BYTES + groups * SALT_BYTES
            assert 1 <= groups <= 3


def lies(
    monkeypatch: pytest.MonkeyPatch, liar: int, to: int, at: int, part: Callable[[int, int], int]
) -> list[bool]:
    """Let a node change a part of its `at`-th frame to another and sign that; whether it did."""
    count, done = 0, []

    def lying(
        letters: Sequence[Letter],
        contents: Mapping[int, Any],
        me: int,
        salt: Callable[[int, Senders], bytes],
    ) -> dict[int, list[Buffer]]:
        nonlocal count
        made = salted_frames(letters, contents, me, salt)
        if me == liar and to in made and groups_of(letters, me, to):
            pieces = sum(e.to == to and me in e.senders for e in letters)
            changed = part(pieces, len(made[to]))
            if count == at and memoryview(made[to][changed]).nbytes:
                made[to][changed] = flipped(bytes(made[to][changed]), 0)
                done.append(True)
            count += 1
        return made

    monkeypatch.setattr(signed_letters, "salted_frames", lying)
    return done


LIES: dict[str, Callable[[int, int], int]] = {
    "first piece": lambda pieces, parts: 0,
    "last piece": lambda pieces, parts: pieces - 1,
    "first hash": lambda pieces, parts: pieces,
    "last hash": lambda pieces, parts: parts - 1,
}


@pytest.mark.parametrize("name", AMONG)
def test_a_lie_that_is_signed_leaves_two_statements_that_contradict(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of every node, to every other, in every round: whoever gets it has proof, and is cleared."""
    ways, lied = cycle(LIES.items()), 0
    for liar, to in permutations(range(4), 2):
        for at in range(8):
            what, part = next(ways)
            done = lies(monkeypatch, liar, to, at, part)
            outcomes, _ = run_kind(KINDS[name], untouched, signers=Signing)
            if not done:
                break
            lied += 1
            check_proof(outcomes[to], liar, to, what)
            others = [outcomes[k] for k in outcomes if k not in (to, COORDINATOR)]
            assert not any(isinstance(each, MismatchError) for each in others)
    assert lied > 3


def check_proof(error: Any, liar: int, to: int, about: str) -> None:
    assert isinstance(error, MismatchError), about
    statements = [Statement.decode(each[:-SIGNATURE_BYTES]) for each in error.evidence]
    for statement, each in zip(statements, error.evidence, strict=True):
        assert statement.to == to
        assert statement.author != to
        assert Signing(0).is_signed(statement.author, statement.encode(), each[-SIGNATURE_BYTES:])
    assert len({statement.place for statement in statements}) == 1
    assert party_name(liar) in (error.peer, error.voucher)
    assert {error.peer, error.voucher} <= {party_name(each.author) for each in statements}


def test_whatever_is_not_as_it_was_signed_is_not_used() -> None:
    name = "product"
    before_salts = [-SIGNATURE_BYTES - groups * SALT_BYTES for groups in (1, 2)]
    for frame in signed(name)[1].sent:
        data = frame.payload
        for instead in (
            flipped(data, 0),
            flipped(data, -1),
            flipped(data, -SIGNATURE_BYTES - 1),
            flipped(data, -SIGNATURE_BYTES - SALT_BYTES - 1),
            data[:-SIGNATURE_BYTES],
            data + b"0",
            *(data[:at] + bytes(DIGEST_BYTES) + data[at:] for at in before_salts),
            data[:-SIGNATURE_BYTES] + bytes(SIGNATURE_BYTES),
        ):
            tamper = instead_of(frame, instead)
            error = run_kind(KINDS[name], tamper, signers=Signing)[0][frame.receiver]
            assert isinstance(error, AbortError)
            assert not isinstance(error, MismatchError)
            assert error.peer == party_name(frame.sender)


def test_a_signature_from_another_round_or_attempt_counts_nowhere() -> None:
    """The same letters with the same masks, said to another, elsewhere, or for other nodes."""
    sent = signed("product")[1].sent
    other = {
        frame.at: frame.payload
        for frame in run_kind(KINDS["product"], untouched, seed=1, signers=Signing)[1].sent
    }
    for frame in sent:
        instead = frame.payload[:-SIGNATURE_BYTES] + other[frame.at][-SIGNATURE_BYTES:]
        tamper = instead_of(frame, instead)
        error = run_kind(KINDS["product"], tamper, signers=Signing)[0][frame.receiver]
        assert isinstance(error, PeerError)
        assert error.peer == party_name(frame.sender)


def test_nobody_but_the_senders_can_derive_a_salt() -> None:
    """So hashes of few bits in a log tell nobody anything who did not know the content."""
    letters = [Letter((0, 1), 3, (4,)), Letter((0, 2), 3, (4,)), Letter((0, 1, 2), 3, (4,))]
    drawn: dict[str, set[int]] = {}

    def words(label: str, component: int, count: int) -> Any:
        drawn.setdefault(label, set()).add(component)
        return np.arange(count, dtype=np.uint64)

    place = Place(bytes(32), 0, 1)
    made = SignedRound(letters, 0, 4, place, Signing(0))
    made.frames({k: np.arange(4, dtype=np.uint64) for k in range(3)}, words)
    assert len(drawn) == 3
    for letter in letters:
        (needed,) = (needed for label, needed in drawn.items() if str(letter.senders) in label)
        assert all(needed <= set(held_by(sender, 4)) for sender in letter.senders)
        for node in set(range(4)) - set(letter.senders):
            assert not needed <= set(held_by(node, 4))


def test_the_same_content_has_another_hash_in_another_attempt() -> None:
    """Letters whose content no mask changes, as those of an opening: the salt does."""

    def digests(seed: int) -> set[bytes]:
        found = set()
        for frame in run_kind(KINDS["opening to nodes"], untouched, seed=seed, signers=Signing)[
            1
        ].sent:
            end = len(frame.payload) - SIGNATURE_BYTES - SALT_BYTES
            found |= {frame.payload[end - DIGEST_BYTES : end]}
        return found

    assert not digests(0) & digests(1)


class Noting(Signing):
    """Keeps what is signed."""

    def __init__(self, me: int, said: list[Statement]) -> None:
        super().__init__(me)
        self._said = said

    def sign(self, statement: bytes, /) -> bytes:
        self._said.append(Statement.decode(statement))
        return super().sign(statement)


def test_honest_nodes_say_one_thing_of_each_place_and_all_the_same() -> None:
    """In rounds one after the other, substreams side by side, and attempts and epochs."""
    x, y = (deal(NUMBERS, nodes=4) for _ in range(2))
    said: list[Statement] = []

    async def node(me: int, muxes: dict[int, Mux]) -> None:
        if me == COORDINATOR:
            return
        for number in range(2):
            epoch = await agree_epoch(me, muxes, number=number, timeout=5)
            for attempt in range(2):
                context = Context(b"agreement", 0, 1, 2 * number + attempt, b"request")
                nodes = {peer: mux for peer, mux in muxes.items() if peer != COORDINATOR}
                signer = Noting(me, said)
                async with open_session(
                    context, me=me, muxes=nodes, epoch=epoch, signer=signer
                ) as session:
                    await session.in_parallel(
                        lambda s: opening.open_to_nodes(s, x[me]),
                        lambda s: opening.open_to_nodes(s, y[me]),
                        lambda s: less_than.compare_batch(s, x[me], y[me], bits=8, label="c"),
                    )
                    await pairwise.multiply(session, x[me], y[me], label="m")

    run_linked(node, nodes=4)
    places = {(statement.place, statement.author) for statement in said}
    assert len(places) == len(said) > 100
    assert len({statement.about for statement in said}) == 4
    digests: dict[Any, set[bytes]] = {}
    for statement in said:
        for group in statement.groups:
            for sender, digest in zip(group.senders, group.digests, strict=True):
                key = statement.place, group.senders, sender
                digests.setdefault(key, set()).add(digest)
    assert {len(each) for each in digests.values()} == {1}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        bytes(40),
        Statement(bytes(32), 1, 0, 0, 1, ()).encode(),
        Statement(bytes(32), 0, 1, 0, 1, (Group((1, 2), (bytes(32),) * 2),)).encode(),
        Statement(bytes(32), 3, 0, 0, 1, (Group((1, 2), (bytes(32),) * 2),)).encode(),
        Statement(bytes(32), 1, 1, 0, 1, (Group((1, 2), (bytes(32),) * 2),)).encode(),
        Statement(bytes(32), 1, 0, 0, 1, (Group((1, 2), (bytes(32),) * 2),)).encode() + b"0",
        Statement(bytes(32), 1, 0, 0, 1, (Group((1,), (bytes(32),)),)).encode(),
    ],
)
def test_what_no_node_would_say_is_no_statement(data: bytes) -> None:
    with pytest.raises(ValueError, match="statement"):
        Statement.decode(data)


@given(st.binary(max_size=200), st.integers(0, 3))
def test_any_bytes_are_one_statement_or_none(data: bytes, groups: int) -> None:
    for each in (data, bytes(39) + bytes([groups]) + data):
        try:
            made = Statement.decode(each)
        except ValueError:
            continue
        assert made.encode() == each
