"""Words about nodes that sent what did not fit: whom a reader may suspect, and whom not."""

from __future__ import annotations

from tacit.participant.checking import _mismatches
from tacit.records import NodeReturned, RequestFailed

FAILED = RequestFailed("evaluate", "node 1", "one lies", voucher="node 2")


def test_a_mismatch_has_three_suspects_once() -> None:
    (said,) = _mismatches([[], [], [], [FAILED, FAILED]])
    assert said.startswith("node 3 says that node 1 sent it something else than node 2 vouched for")
    assert "one of these three departs from the protocol; nothing" in said
    proven = RequestFailed("evaluate", "node 1", "one lies", voucher="node 2", evidence=["00"])
    assert _mismatches([[proven], [RequestFailed("evaluate", "node 1", "is gone")], [], []]) == []


def test_what_three_computed_alone_may_make_honest_nodes_differ() -> None:
    (said,) = _mismatches([[NodeReturned(9, 3)], [], [], [FAILED]])
    assert "or one of those did that computed alone before" in said
