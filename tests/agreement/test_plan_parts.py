"""A plan for its owners: boxes and commitments in memory, and everybody who might cheat."""

from __future__ import annotations

import secrets
from itertools import permutations

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tacit.agreement import plan_parts
from tacit.agreement.draft import check_agreement
from tacit.agreement.plan_parts import (
    CarriedPart,
    OpenedPart,
    SealedParts,
    commitment,
    open_part,
    row_nonce,
    seal_plan,
    whole_plan,
)
from tacit.agreement.signatures import check_signatures, sealing_public
from tacit.agreement.terms import Agreement, canonical, read_agreement
from tacit.errors import AgreementError, SealError
from tacit.local.engine import all_sign
from tacit.mpc import held_by
from tacit.problems import generate_assignment
from tests.on_nodes.fixtures import example_cast
from tests.on_nodes.owners_cast import OwnersCast, owners_cast
from tests.on_nodes.sealed_agreed_cluster import symmetric_tour

THREE, FOUR = owners_cast(3), owners_cast(4, on_loss="three")
CASTS = {"three nodes": THREE, "four nodes": FOUR, "three of four": FOUR.lost(1)}
NORTH, SOUTH, WEST = (each.name for each in THREE.agreement.participants)
cases = pytest.mark.parametrize("cast", CASTS.values(), ids=CASTS)


def opened(part: CarriedPart, cast: OwnersCast = THREE) -> OpenedPart:
    """The part as the first participant opens it."""
    return open_part(cast.agreement, 0, NORTH, part, key=cast.participants[NORTH])


def fresh_keys(components: int = 3) -> dict[int, bytes]:
    return {c: secrets.token_bytes(32) for c in range(components)}


def present(sealed: list[SealedParts | None]) -> list[SealedParts]:
    return [each for each in sealed if each is not None]


# What owners get.


@cases
def test_each_owner_gets_its_rows_from_all_nodes_or_all_but_one(cast: OwnersCast) -> None:
    sealed = cast.sealed()
    for name in cast.participants:
        parts = cast.parts(name, sealed)
        for away in (None, *cast.context.members):
            own = cast.own(name, [part for part in parts if part.node != away])
            assert (own.columns, own.rejected) == (cast.rows(name), [])
        needed = len(cast.context.members) - 2
        with pytest.raises(SealError, match="too few boxes"):
            cast.own(name, parts[:needed])
    assert whole_plan(cast.agreement, 0, sealed, cast.participants) == cast.plan


def test_of_a_tour_everybody_gets_all_of_it() -> None:
    cast = owners_cast(problem=symmetric_tour(), plan=[*range(12)])
    (name,) = cast.participants
    assert cast.own(name, cast.parts(name, cast.sealed())).columns == dict(enumerate(range(12)))


@given(st.permutations(range(8)), st.integers(0, 2))
@settings(max_examples=15, deadline=None)
def test_any_plan_comes_through(items: list[int], away: int) -> None:
    cast = OwnersCast(THREE.participants, THREE.nodes, THREE.agreement, items[:6])
    sealed = cast.sealed()
    sealed[away] = None
    assert whole_plan(cast.agreement, 0, sealed, cast.participants) == cast.plan


def with_rows(agreement: Agreement, rows: list[list[int]]) -> Agreement:
    """The same agreement with other rows for its owners."""
    terms = agreement.objectives[0]
    owners = [replace(each, rows=own) for each, own in zip(terms.owners, rows, strict=True)]
    changed = replace(terms, owners=owners)
    return replace(agreement, objectives=[changed])


@pytest.mark.parametrize("nodes", [3, 4])
def test_all_boxes_have_one_size(nodes: int) -> None:
    many = owners_cast(
        nodes,
        problem=generate_assignment(2, rows=60, participants=3),
        plan=[*range(60)],
        on_loss="three" if nodes == 4 else "wait",
    )
    uneven = with_rows(many.agreement, [[*range(58)], [58], [59]])
    cast = OwnersCast(many.participants, many.nodes, uneven, many.plan)
    for each in (cast, *([cast.lost(2)] if nodes == 4 else [])):
        sealed = present(each.sealed())
        assert len({len(box) for node in sealed for box in node.boxes}) == 1
        assert whole_plan(uneven, 0, each.sealed(), each.participants) == each.plan


@cases
def test_holders_of_a_component_are_bound_to_the_same(cast: OwnersCast) -> None:
    roots: dict[int, set[str]] = {}
    for node, each in enumerate(cast.sealed()):
        if each is not None:
            for component, root in zip(
                cast.context.held_by(node), each.heads.commitments, strict=True
            ):
                roots.setdefault(component, set()).add(root)
    assert sorted(map(len, roots.values())) == [1] * len(cast.context.members)


# What the others learn: nothing.


def test_nobody_else_opens_a_box() -> None:
    parts = THREE.parts(NORTH, THREE.sealed())
    for other in (THREE.participants[SOUTH], Ed25519PrivateKey.generate()):
        with pytest.raises(SealError, match="node 0: the box does not open with your key"):
            open_part(THREE.agreement, 0, NORTH, parts[0], key=other)


def test_a_commitment_cannot_be_guessed_without_its_nonce() -> None:
    """A component of a row has few values here; with the nonce it is found, without it is not."""
    context, words = THREE.context.digest, [bytes([k, 0, 0, 0]) for k in range(256)]

    def guessed(made: bytes, nonce: bytes) -> list[bytes]:
        return [word for word in words if commitment(context, 3, 1, nonce, word) == made]

    key = secrets.token_bytes(32)
    nonce = row_nonce(key, context, 3)
    made = commitment(context, 3, 1, nonce, words[77])
    assert guessed(made, nonce) == [words[77]]
    for known in (b"", bytes(16), row_nonce(key, context, 2), row_nonce(bytes(32), context, 3)):
        assert guessed(made, known) == []
    # The weakened one, without a nonce, is open to everybody: the same search finds it.
    assert guessed(commitment(context, 3, 1, b"", words[77]), b"") == [words[77]]


def test_a_commitment_is_of_one_plan_row_component_nonce_and_word() -> None:
    """Whatever a node is bound to in one place does not pass for another."""
    bits = (bytes(32), b"x" * 32)
    made = {
        commitment(context, row, component, nonce[:16], word[:4])
        for context in bits
        for row in (0, 1)
        for component in (0, 1)
        for nonce in bits
        for word in bits
    }
    assert len(made) == 32
    assert len({row_nonce(key, plan, row) for key in bits for plan in bits for row in (0, 1)}) == 8


def test_commitments_of_one_plan_differ_whenever_it_is_sealed() -> None:
    """The key of a state is fresh: who sees two attempts cannot tell whether rows are the same."""
    shares = THREE.shares()
    first, second = (present(THREE.sealed(shares)) for _ in range(2))
    rows = [[each.commitments for each in sealed] for sealed in (first, second)]
    hashes = [
        {part[at : at + 32] for node in sealed for part in node for at in range(0, len(part), 32)}
        for sealed in rows
    ]
    assert not hashes[0] & hashes[1]
    # Three components of six rows; each hash is of one row and one component alone.
    assert [len(each) for each in hashes] == [18, 18]


# Cheating nodes.


def other_numbers(cast: OwnersCast, liar: int, *, component: int) -> list[SealedParts | None]:
    """A node commits to another component than the other holders, and seals that."""
    shares = cast.shares()
    keys = fresh_keys(len(cast.context.members))
    lies = {c: part.copy() for c, part in shares[liar].parts.items()}
    lies[component] += np.uint32(1)
    return [
        seal_plan(
            cast.agreement,
            cast.context,
            node,
            lies if node == liar else shares[node].parts,
            keys,
            signing=each.signing,
        )
        for node, each in enumerate(cast.nodes)
    ]


@pytest.mark.parametrize("liar", range(3))
def test_of_three_nodes_nothing_is_believed_where_two_contradict_each_other(liar: int) -> None:
    for component in held_by(liar, 3):
        other = next(n for n in range(3) if n != liar and component in held_by(n, 3))
        both = " and ".join(f"node {node}" for node in sorted((liar, other)))
        parts = THREE.parts(NORTH, other_numbers(THREE, liar, component=component))
        with pytest.raises(SealError, match=f"{both} cannot be believed.*component {component}"):
            THREE.own(NORTH, parts)


@pytest.mark.parametrize("liar", range(4))
def test_of_four_nodes_one_that_lies_is_outvoted_and_named(liar: int) -> None:
    for component in held_by(liar, 4):
        own = FOUR.own(NORTH, FOUR.parts(NORTH, other_numbers(FOUR, liar, component=component)))
        assert own.columns == FOUR.rows(NORTH)
        assert own.rejected == [f"node {liar}: it alone is bound to another component {component}"]


def seals_otherwise(cast: OwnersCast, liar: int, monkeypatch: pytest.MonkeyPatch) -> CarriedPart:
    """A node that is bound to the true numbers, and puts others into a box."""
    keys = fresh_keys()
    honest = cast.shares()[liar].parts
    whole = seal_plan(
        cast.agreement, cast.context, liar, honest, keys, signing=cast.nodes[liar].signing
    )
    lies = {c: part + np.uint32(1) for c, part in honest.items()}
    roots = iter([each for _ in cast.participants for each in whole.heads.commitments])
    with monkeypatch.context() as patched:
        patched.setattr(plan_parts, "commitments_root", lambda _: next(roots))
        false = seal_plan(
            cast.agreement, cast.context, liar, lies, keys, signing=cast.nodes[liar].signing
        )
    return cast.parts(NORTH, [SealedParts(false.boxes, whole.commitments)])[0]


def test_a_box_that_does_not_fit_its_commitment_is_rejected_by_node_and_component(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lie = replace(seals_otherwise(THREE, 0, monkeypatch), node=0)
    with pytest.raises(SealError, match="node 0: component 1 of row 0 is not what the node is"):
        opened(lie)
    # The others have all of it, and it is said whose box does not count.
    own = THREE.own(NORTH, [lie, *THREE.parts(NORTH, THREE.sealed())[1:]])
    assert own.columns == THREE.rows(NORTH)
    assert [why.partition(" of row")[0] for why in own.rejected] == ["node 0: component 1"]


def test_a_node_cannot_seal_in_the_name_of_another() -> None:
    sealed = present(THREE.sealed())
    part = replace(THREE.parts(NORTH, [*sealed])[0], node=1)
    with pytest.raises(SealError, match="not signed by the node"):
        opened(part)
    # Also with its own signature under another's components.
    shares = THREE.shares()
    keys = fresh_keys()
    forged = seal_plan(
        THREE.agreement, THREE.context, 1, shares[1].parts, keys, signing=THREE.nodes[0].signing
    )
    part = THREE.parts(NORTH, [None, forged])[0]
    with pytest.raises(SealError, match="node 1: what is in the box is not signed by the node"):
        opened(part)


def sealed_as_if(agreement: Agreement, *, to: int) -> CarriedPart:
    """What node 0 seals by another agreement, in the context of the true one, and for whom."""
    keys = fresh_keys()
    sealed = seal_plan(
        agreement,
        THREE.context,
        0,
        THREE.shares()[0].parts,
        keys,
        signing=THREE.nodes[0].signing,
    )
    hashes = sealed.box_hashes
    return CarriedPart(0, sealed.boxes[to], [hashes[to], *hashes[1:]], sealed.commitments)


def test_a_node_cannot_give_a_participant_the_part_of_another() -> None:
    first, second, *others = THREE.agreement.participants
    swapped = [
        replace(first, sealing_key=second.sealing_key),
        replace(second, sealing_key=first.sealing_key),
        *others,
    ]
    agreement = replace(THREE.agreement, participants=swapped)
    with pytest.raises(SealError, match=r"node 0: .* or for another participant"):
        opened(sealed_as_if(agreement, to=1))
    more_rows = with_rows(THREE.agreement, [[0, 1, 2], [3], [4, 5]])
    with pytest.raises(SealError, match="node 0: the box does not go with the commitments"):
        opened(sealed_as_if(more_rows, to=0))


def test_what_is_put_together_must_be_rows_of_a_plan() -> None:
    for wrong in ([3, 3, 7, 2, 5, 1], [8, 0, 7, 2, 5, 1]):
        cast = OwnersCast(THREE.participants, THREE.nodes, THREE.agreement, wrong)
        with pytest.raises(SealError, match="are not rows of a plan"):
            cast.own(NORTH, cast.parts(NORTH, cast.sealed()))


def test_others_than_the_agreed_nodes_hold_no_plan() -> None:
    for members in ((0, 1, 5), (0, 1, 1), (0, 1)):
        odd = replace(FOUR.context, members=members)
        keys = fresh_keys()
        three = FOUR.lost(3).shares()[0].parts
        sealed = seal_plan(FOUR.agreement, odd, 0, three, keys, signing=FOUR.nodes[0].signing)
        with pytest.raises(SealError, match="held by other nodes than were agreed on"):
            opened(FOUR.parts(NORTH, [sealed])[0], FOUR)
    # Three of four may have gone on without one that is proven to have cheated.
    waits = owners_cast(4).lost(1)
    assert waits.own(NORTH, waits.parts(NORTH, waits.sealed())).columns == waits.rows(NORTH)


# A cheating platform.


def test_boxes_that_were_swapped_between_participants_do_not_pass() -> None:
    sealed = THREE.sealed()
    mine, theirs = (THREE.parts(name, sealed)[0] for name in (NORTH, SOUTH))
    swapped = replace(mine, box=theirs.box)
    with pytest.raises(SealError, match="not the one that the list of its boxes names for you"):
        opened(swapped)
    names = list(theirs.box_hashes)
    names[0], names[1] = names[1], names[0]
    relisted = replace(swapped, box_hashes=names)
    with pytest.raises(SealError, match="does not open with your key"):
        opened(relisted)


def test_a_box_of_another_run_or_another_attempt_does_not_pass() -> None:
    again = replace(THREE.agreement, nonce="ab" * 16)
    other_run = OwnersCast(THREE.participants, THREE.nodes, again, THREE.plan)
    old = other_run.parts(NORTH, other_run.sealed())
    with pytest.raises(SealError, match="node 0: the box is of another run"):
        opened(old[0])
    other_attempt = OwnersCast(
        THREE.participants, THREE.nodes, THREE.agreement, THREE.plan[::-1], attempt="8:1:1"
    )
    now = THREE.parts(NORTH, THREE.sealed())
    mixed = [now[0], now[1], other_attempt.parts(NORTH, other_attempt.sealed())[2]]
    own = THREE.own(NORTH, mixed)
    assert own.columns == THREE.rows(NORTH)
    assert own.rejected == ["node 2: the box is of another plan than those of the others"]
    for order in permutations(mixed[1:]):
        with pytest.raises(SealError, match="too few boxes"):
            THREE.own(NORTH, [*order])


def test_a_box_of_another_search_or_in_the_name_of_another_node_does_not_pass() -> None:
    parts, key = THREE.parts(NORTH, THREE.sealed()), THREE.participants[NORTH]
    with pytest.raises(SealError, match="another plan"):
        open_part(THREE.agreement, 1, NORTH, parts[0], key=key)
    shares = THREE.shares()
    # Node 0 signs what node 1 would say, so that its own word would count twice.
    double = seal_plan(
        THREE.agreement,
        THREE.context,
        1,
        shares[1].parts,
        fresh_keys(),
        signing=THREE.nodes[0].signing,
    )
    with pytest.raises(SealError, match="sealed by another node"):
        opened(THREE.parts(NORTH, [double])[0])


def test_commitments_that_the_platform_changed_do_not_go_with_the_box() -> None:
    part = THREE.parts(NORTH, THREE.sealed())[0]
    changed = [part.commitments[1], part.commitments[0]]
    for commitments in (changed, part.commitments[:1], [b"", b""]):
        false = replace(part, commitments=commitments)
        with pytest.raises(SealError, match="node 0: the box does not go with the commitments"):
            opened(false)


@given(st.integers(0, 10**6), st.integers(1, 255))
@settings(max_examples=20, deadline=None)
def test_a_changed_byte_is_noticed(place: int, change: int) -> None:
    part = THREE.parts(NORTH, THREE.sealed())[1]
    box = bytearray(part.box)
    box[place % len(box)] ^= change
    hashes = [plan_parts._sha256(bytes(box)), *part.box_hashes[1:]]
    changed = replace(part, box=bytes(box), box_hashes=hashes)
    with pytest.raises(SealError, match="node 1: the box does not open"):
        opened(changed)


def with_sealing_key(agreement: Agreement, key: str) -> Agreement:
    first, *others = agreement.participants
    changed = replace(first, sealing_key=key)
    return replace(agreement, participants=[changed, *others])


def test_keys_that_the_platform_put_into_the_agreement_are_refused() -> None:
    own = Ed25519PrivateKey.generate().public_key().public_bytes_raw().hex()
    swapped = with_sealing_key(THREE.agreement, sealing_public(own))
    with pytest.raises(AgreementError, match="is not that of its signing key; do not sign"):
        check_agreement(swapped)
    with pytest.raises(AgreementError, match="has not signed this agreement"):
        check_signatures(swapped, all_sign(THREE.agreement, THREE.participants))


# The agreement.


def test_an_agreement_for_everybody_is_written_as_before() -> None:
    written = canonical(example_cast().agreement)
    assert b'"plan"' not in written
    assert written.count(b"sealing_key") == 3  # of the nodes
    again = read_agreement(canonical(THREE.agreement))
    assert again.for_owners
    check_agreement(again)


def test_only_sealed_searches_keep_a_plan_for_its_owners() -> None:
    open_plan = example_cast().agreement
    with pytest.raises(AgreementError, match="only a sealed search can keep its plan"):
        check_agreement(replace(open_plan, plan="owners"))
    with pytest.raises(AgreementError, match="leave their sealing keys out"):
        check_agreement(replace(THREE.agreement, plan="everybody"))


def test_a_key_that_nothing_can_be_sealed_to_is_refused() -> None:
    with pytest.raises(AgreementError, match="which is not an Ed25519 key; let its owner make"):
        sealing_public("00" * 32)


def test_boxes_that_do_not_fit_a_message_are_refused_before_anybody_signs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tacit.agreement.plan_parts.ROOM", 2000)
    with pytest.raises(AgreementError, match="parts of the plan would take a message"):
        check_agreement(THREE.agreement)
