"""What the platform makes of evidence that nodes show: nothing that it cannot prove to others."""

from __future__ import annotations

from tacit.coordinator.membership import Naming
from tacit.errors import MismatchError, PeerError
from tests.records.test_evidence import CAST, WRONG, signed, statement

PAIR = statement(1, 3, (1, 2), lies={1: WRONG}), statement(2, 3, (1, 2))
AGAIN = (
    statement(1, 0, (1, 3), lies={3: WRONG}, exchange=2),
    statement(3, 0, (1, 3), exchange=2),
)
IRRELEVANT = [signed(statement(1, 3, (0, 1), exchange=n)) for n in range(9, 39)]


def mismatch(*evidence: bytes) -> MismatchError:
    return MismatchError("node 1", "node 2", evidence=evidence)


def test_attempts_are_signed_once_something_did_not_fit() -> None:
    naming = Naming(CAST.agreement)
    signs = []
    for reason in (PeerError("node 2", "is gone"), mismatch()):
        naming.hear(reason)
        signs.append(naming.signed)
    assert signs == [False, True]
    assert (naming.suspects, naming.named, naming.words) == (frozenset(), None, "")


def test_a_pair_names_nobody_and_two_pairs_do() -> None:
    naming = Naming(CAST.agreement)
    known = []
    for statements in (PAIR, PAIR, AGAIN):
        naming.hear(mismatch(*map(signed, statements)))
        known.append((set(naming.suspects), naming.named))
    assert known == [({1, 2}, None), ({1, 2}, None), ({1}, 1)]
    assert sorted(naming.evidence) == sorted(map(signed, (*PAIR, *AGAIN)))


def test_what_a_node_makes_up_changes_nothing() -> None:
    naming = Naming(CAST.agreement)
    forged = PAIR[1].encode() + signed(PAIR[0])[-64:]
    for evidence in ([signed(PAIR[0]), forged], [b""], [signed(PAIR[0])], IRRELEVANT):
        naming.hear(mismatch(*evidence))
        assert not naming.suspects
        assert not naming.evidence


def test_statements_that_prove_nothing_are_not_passed_on() -> None:
    """Whoever lies adds so many of them that a proof would be too long to be sent."""
    naming = Naming(CAST.agreement)
    naming.hear(mismatch(*IRRELEVANT, *map(signed, PAIR)))
    assert naming.evidence == [*map(signed, PAIR)]
    naming.hear(mismatch(*map(signed, AGAIN), *IRRELEVANT))
    assert naming.named == 1
    assert len(naming.evidence) == 4
