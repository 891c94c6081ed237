"""What logs prove of a node that cheated, and logs that show what proves nothing."""

from __future__ import annotations

import pytest

from tacit.errors import LogError
from tacit.mpc import Statement
from tacit.records import Log, NodeLost, NodeNamed, RequestFailed
from tacit.verify.logs import check_evidence, describe_loss
from tests.records.test_evidence import ANOTHER, CAST, WRONG, signed, statement

LIE, TRUTH = statement(1, 3, (1, 2), lies={1: WRONG}), statement(2, 3, (1, 2))
AGAIN = (
    statement(1, 0, (1, 3), lies={3: WRONG}, exchange=2),
    statement(3, 0, (1, 3), exchange=2),
)


def failed(*statements: Statement) -> RequestFailed:
    evidence = [signed(each).hex() for each in statements]
    return RequestFailed("evaluate", "node 1", "lies", voucher="node 2", evidence=evidence)


def named(node: int, *statements: Statement) -> NodeNamed:
    return NodeNamed(7, node, [signed(each).hex() for each in statements])


def logs(**lines: list[object]) -> list[Log]:
    return [lines.get(f"node{node}", []) for node in range(4)]  # type: ignore[misc]


def test_a_contradiction_is_told_in_words() -> None:
    assert check_evidence(CAST.agreement, logs(node3=[failed(LIE, TRUTH)])) == (
        "node 1 or node 2 departed from the protocol: their signed statements contradict each other"
    )
    # Without evidence a node's word is a word.
    assert check_evidence(CAST.agreement, logs(node3=[failed()], node0=[NodeLost(1, 2)])) == ""


def test_the_logs_of_two_receivers_name_one() -> None:
    proven = logs(node3=[failed(LIE, TRUTH)], node0=[failed(*AGAIN)])
    assert check_evidence(CAST.agreement, proven).startswith("node 1 departed from the protocol")
    all_three: dict[str, list[object]] = {
        f"node{node}": [named(1, LIE, TRUTH, *AGAIN)] for node in (0, 2, 3)
    }
    assert check_evidence(CAST.agreement, logs(**all_three)).startswith("node 1 departed")
    assert describe_loss(logs(**all_three)) == "computed by three since node 1 was proven to cheat"


@pytest.mark.parametrize(
    ("lines", "what"),
    [
        ({"node3": [failed(LIE)]}, "node 3 .* do not contradict"),
        ({"node3": [failed(TRUTH, TRUTH)]}, "node 3 .* do not contradict"),
        # One that shows what was said to another, or what it says itself.
        ({"node0": [failed(LIE, TRUTH)]}, "node 0 .* not sent to this node"),
        ({"node2": [failed(LIE, TRUTH)]}, "node 2 .* not sent to this node"),
        # Too little to go on without a node, another node, and the liar about itself.
        ({"node0": [named(1, LIE, TRUTH)]}, "node 0 .* does not prove that node 1"),
        ({"node0": [named(2, LIE, TRUTH, *AGAIN)]}, "node 0 .* does not prove that node 2"),
        ({"node1": [named(1, LIE, TRUTH, *AGAIN)]}, "node 1 .* does not prove that node 1"),
    ],
)
def test_evidence_that_proves_something_else_is_none(
    lines: dict[str, list[object]], what: str
) -> None:
    with pytest.raises(LogError, match=what):
        check_evidence(CAST.agreement, logs(**lines))


def test_a_node_that_is_named_without_evidence_is_not() -> None:
    with pytest.raises(LogError, match="evidence that is none"):
        check_evidence(CAST.agreement, logs(node1=[NodeNamed(7, 3, [])]))
    lost, alone = NodeLost(7, 3), NodeNamed(7, 3, [])
    assert "not checked" in describe_loss([[lost], [lost, alone], [lost], []])


def test_what_one_makes_up_does_not_hide_what_others_prove() -> None:
    lines = logs(node1=[failed(LIE)], node3=[failed(LIE, TRUTH)])
    with pytest.raises(LogError, match=r"node 1 shows evidence that is none: .*; node 1 or node 2"):
        check_evidence(CAST.agreement, lines)


def test_evidence_of_another_run_or_that_was_changed_is_none() -> None:
    with pytest.raises(LogError, match="of another run"):
        check_evidence(ANOTHER.agreement, logs(node3=[failed(LIE, TRUTH)]))
    changed = failed(LIE, TRUTH)
    last = int(changed.evidence[0][-1], 16)
    changed.evidence[0] = f"{changed.evidence[0][:-1]}{last ^ 1:x}"
    with pytest.raises(LogError, match="did not sign"):
        check_evidence(CAST.agreement, logs(node3=[changed]))
    changed.evidence[0] = "no hexadecimal"
    with pytest.raises(LogError, match="is none"):
        check_evidence(CAST.agreement, logs(node3=[changed]))
