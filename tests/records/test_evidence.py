"""Evidence: whatever one node and the platform make up, no honest node is ever named."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import LogError
from tacit.mpc import Group, Statement
from tacit.records.evidence import NodeSigner, read_evidence, suspects
from tests.on_nodes.fixtures import example_cast

CAST, ANOTHER = example_cast(4), example_cast(4)
SIGNERS = [NodeSigner(CAST.agreement, "frame", keys.signing) for keys in CAST.nodes]
ABOUT = bytes(32)
RIGHT = {sender: bytes([sender]) * 32 for sender in range(4)}
WRONG = b"?" * 32


def statement(
    author: int,
    to: int,
    *senders: tuple[int, ...],
    lies: dict[int, bytes] | None = None,
    exchange: int = 1,
    about: bytes = ABOUT,
) -> Statement:
    """What a node says of the pieces of these groups of senders, and about whom something else."""
    said = RIGHT | (lies or {})
    groups = tuple(Group(group, tuple(said[each] for each in group)) for group in senders)
    return Statement(about, author, to, 0, exchange, groups)


def signed(made: Statement, by: int | None = None) -> bytes:
    return made.encode() + SIGNERS[made.author if by is None else by].sign(made.encode())


def judged(*statements: Statement) -> frozenset[int]:
    return suspects(read_evidence(CAST.agreement, [signed(each) for each in statements]))


def test_two_that_contradict_each_other_are_a_pair() -> None:
    pair = (0, 2)
    for lies in ({0: WRONG}, {2: WRONG}, {0: WRONG, 2: WRONG}):
        assert judged(statement(0, 3, pair, lies=lies), statement(2, 3, pair)) == {0, 2}


def test_two_pairs_with_one_in_common_name_it() -> None:
    first = statement(0, 3, (0, 2), lies={0: WRONG}), statement(2, 3, (0, 2))
    second = (
        statement(0, 1, (0, 3), lies={3: WRONG}, exchange=4),
        statement(3, 1, (0, 3), exchange=4),
    )
    assert judged(*first, *second) == {0}
    # In one frame as well: its receiver has the statements of all three.
    lie = statement(0, 3, (0, 1), (0, 2), lies={0: WRONG})
    assert judged(lie, statement(1, 3, (0, 1)), statement(2, 3, (0, 2))) == {0}


@pytest.mark.parametrize("about", [0, 1, 2])
def test_who_stands_alone_against_two_is_named(about: int) -> None:
    """Of three senders, as where a share is opened to a node."""
    group = (0, 1, 2)
    lie = statement(1, 3, group, lies={about: WRONG})
    assert judged(statement(0, 3, group), lie, statement(2, 3, group)) == {1}


def test_who_says_two_things_of_one_place_is_named() -> None:
    assert judged(statement(1, 3, (1, 2)), statement(1, 3, (1, 2), lies={2: WRONG})) == {1}
    assert judged(statement(1, 3, (1, 2)), statement(1, 3, (0, 1))) == {1}


def test_statements_of_different_places_prove_nothing() -> None:
    mine = statement(0, 3, (0, 2), lies={0: WRONG})
    for elsewhere in (
        statement(2, 3, (0, 2), exchange=2),
        statement(2, 1, (0, 2)),
        statement(2, 3, (0, 2), about=b"1" * 32),
        statement(2, 3, (1, 2)),
        statement(2, 3, (0, 1, 2)),
    ):
        with pytest.raises(LogError, match="do not contradict"):
            judged(mine, elsewhere)


def test_more_than_one_liar_is_none_that_is_named() -> None:
    with pytest.raises(LogError, match="more than one node"):
        judged(
            statement(0, 3, (0, 2), lies={0: WRONG}),
            statement(2, 3, (0, 2)),
            statement(1, 2, (1, 3), lies={3: WRONG}),
            statement(3, 2, (1, 3)),
        )


def test_what_is_forged_or_of_another_run_is_no_evidence() -> None:
    honest, lie = statement(0, 3, (0, 2)), statement(2, 3, (0, 2), lies={0: WRONG})
    # The receiver, or whoever else, signs in the name of another.
    with pytest.raises(LogError, match="node 2 did not sign"):
        read_evidence(CAST.agreement, [signed(honest), signed(lie, by=3)])
    with pytest.raises(LogError, match="of another run"):
        read_evidence(ANOTHER.agreement, [signed(honest), signed(lie)])
    other = NodeSigner(ANOTHER.agreement, "frame", CAST.nodes[2].signing)
    with pytest.raises(LogError, match="node 2 did not sign"):
        read_evidence(CAST.agreement, [signed(honest), lie.encode() + other.sign(lie.encode())])
    with pytest.raises(LogError, match="made up"):
        read_evidence(CAST.agreement, [b"anything", b""])
    # Nobody is a receiver of what it sends itself, nor vouches for letters that it does not send.
    for made in (statement(2, 2, (0, 2)), statement(1, 3, (0, 2)), statement(2, 0, (0, 2))):
        with pytest.raises(LogError, match="made up"):
            read_evidence(CAST.agreement, [signed(made)])
    for made in (statement(2, 5, (0, 2)), statement(2, 3, (2, 5), lies={5: WRONG})):
        with pytest.raises(LogError, match="did not sign"):
            read_evidence(CAST.agreement, [signed(made)])


GROUPS = [
    (0, 1),
    (0, 2),
    (0, 3),
    (1, 2),
    (1, 3),
    (2, 3),
    (0, 1, 2),
    (0, 1, 3),
    (0, 2, 3),
    (1, 2, 3),
]


@st.composite
def shown(draw: st.DrawFn) -> tuple[int, list[bytes]]:
    """A liar, and some statements: honest ones are right, its own say anything, to anybody."""
    liar = draw(st.integers(0, 3))
    found = []
    for _ in range(draw(st.integers(1, 12))):
        group = draw(st.sampled_from(GROUPS))
        to = draw(st.sampled_from([node for node in range(4) if node not in group]))
        author = draw(st.sampled_from(group))
        about = {
            sender: draw(st.sampled_from([RIGHT[sender], WRONG, b"!" * 32])) for sender in group
        }
        exchange = draw(st.integers(1, 2))
        # All letters that a node sends another in a round are in one statement of it.
        groups = sorted(
            (each for each in GROUPS if author in each and to not in each),
            key=lambda each: sum(1 << node for node in each),
        )
        said = groups if author != liar else draw(st.sampled_from([groups, [group]]))
        lies = about if author == liar else {}
        found.append(signed(statement(author, to, *said, lies=lies, exchange=exchange)))
    forged = draw(st.sampled_from(["", "forged", "changed"]))
    if forged:
        honest = draw(st.sampled_from([node for node in range(4) if node != liar]))
        group = draw(st.sampled_from([each for each in GROUPS if honest in each]))
        to = draw(st.sampled_from([node for node in range(4) if node not in group]))
        made = statement(honest, to, group, lies={honest: WRONG})
        found.append(
            signed(made, by=liar)
            if forged == "forged"
            else made.encode() + signed(statement(honest, to, group))[-64:]
        )
    return liar, draw(st.permutations(found))


@settings(max_examples=60, deadline=None)
@given(shown())
def test_no_honest_node_is_named_whatever_a_liar_and_the_platform_show(
    case: tuple[int, list[bytes]],
) -> None:
    liar, evidence = case
    try:
        left = suspects(read_evidence(CAST.agreement, evidence))
    except LogError:
        return
    assert liar in left
    # Nor by any part of it, as a platform may show less than it has.
    for cut in range(1, len(evidence)):
        for some in (evidence[:cut], evidence[cut:]):
            try:
                left = suspects(read_evidence(CAST.agreement, some))
            except LogError:
                continue
            assert liar in left


def test_the_cases_above_do_name_liars() -> None:
    """So that the property says something."""
    named = []

    @settings(max_examples=25, deadline=None, database=None)
    @given(shown())
    def count(case: tuple[int, list[bytes]]) -> None:
        try:
            named.append(suspects(read_evidence(CAST.agreement, case[1])) == {case[0]})
        except LogError:
            return

    count()
    assert any(named)
