"""Logs prove which node was lost and when, and which one cheated; what proves nothing is named."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from msgspec.structs import replace

from tacit.agreement import Agreement
from tacit.errors import LogError
from tacit.mpc import Statement
from tacit.records import (
    Attempt,
    BuiltOnThree,
    Disclosed,
    DisclosedProof,
    DisclosureKind,
    EvaluationBegun,
    EvaluationRepeated,
    FromParts,
    Log,
    LogEvent,
    NodeLost,
    NodeNamed,
    NodeReturned,
    RequestFailed,
    Sent,
    sent_digest,
)
from tacit.verify import disclosed
from tacit.verify.disclosed import check_answers, check_disclosed, confirm
from tacit.verify.logs import Key, LoggedDisclosures, check_evidence, describe_loss
from tacit.verify.sealed import check_generations_asked
from tests.on_nodes.entries import evaluation
from tests.on_nodes.recorded import recorded
from tests.records.test_evidence import ANOTHER, CAST, WRONG, signed, statement
from tests.verify.test_sealed import batch_begun

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


Part = list[tuple[int, list[bytes]]]
LOST, BACK = NodeLost(50, 2), NodeReturned(90, 2)
PART = [(0, [b"part"])]


def line(
    kind: DisclosureKind, number: int, epoch: int, part: Part, request: str = "ab", **known: Any
) -> Sent:
    """What a node logs that has sent this part."""
    salt = bytes(16)
    digest = sent_digest(salt, part)
    return Sent(kind, 0, Attempt.of(number, epoch, 0), request, salt.hex(), digest, **known)


@pytest.mark.parametrize(
    ("epoch", "without", "proves"),
    [(60, 2, True), (60, None, False), (49, None, True), (49, 2, False), (90, 2, False)],
)
def test_an_answer_is_proven_with_those_who_computed_it(
    epoch: int, without: int | None, proves: bool
) -> None:
    """The fourth's log counts before it was lost and once it is back, whatever the ledger says."""
    attempt = Attempt.of(1, epoch, 0)
    begun: list[LogEvent] = [EvaluationBegun(0, 1, "ab", attempt), LOST, BACK]
    entry = evaluation(1, [1, 0], attempt=attempt, without=without)
    made = FromParts(entry.payload, {0: PART, 1: [(0, [b"another"])]})
    log = LoggedDisclosures.of([*begun, line(DisclosureKind.LABELS, 1, epoch, PART)])
    if proves:
        assert log.senders(entry, made) == {0}
    else:
        with pytest.raises(LogError, match="logged another answer"):
            log.senders(entry, made)
    assert LoggedDisclosures.of(begun).has_begun(entry) == proves


def test_an_answer_that_three_gave_again_is_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    """Node 2 died before it had logged its part, and the others computed the answer again."""
    monkeypatch.setattr(disclosed, "payload_from_parts", as_it_says)

    def lines(node: int) -> list[LogEvent]:
        first, again = Attempt.of(1, 40, 0), Attempt.of(1, 60, 0)
        begun = EvaluationBegun(0, 1, "ab", first)
        if node == 2:
            return [begun]
        sent = [line(DisclosureKind.LABELS, 1, 40, part_of(node, b""))]
        sent += [line(DisclosureKind.LABELS, 1, 60, part_of(node, b"again"))]
        return [begun, sent[0], NodeLost(50, 2), EvaluationRepeated(0, 1, again), sent[1]]

    logs = [lines(node) for node in range(4)]
    four = [part_of(node, b"") for node in range(4)]
    three = [part_of(node, b"again") if node != 2 else [] for node in range(4)]
    by_four = evaluation(1, [1, 0], attempt=Attempt.of(1, 40, 0), parts=four)
    by_three = evaluation(
        1, [1, 0], attempt=Attempt.of(1, 60, 0), parts=three, again=True, without=2
    )
    made = recorded("evaluating")[0]
    agreement = replace(made, nodes=[*made.nodes, made.nodes[0]])
    assert check_answers(agreement, logs, [by_four, by_three]).counts == (1, 0)
    assert check_answers(agreement, logs, [by_four]).counts == (0, 1)


def as_it_says(_: Agreement, entry: Disclosed) -> FromParts:
    """An entry whose parts are not looked at."""
    return FromParts(entry.payload, dict(enumerate(entry.parts)))


def part_of(node: int, attempt: bytes) -> Part:
    return [(0, [bytes([node]) + attempt])]


def bit_sent(frame: bytes, *phases: LogEvent, finished: bool = False) -> list[LogEvent]:
    """The log of a node that sent this of whether all was proved after the first step."""
    known = DisclosedProof(finished)
    return [
        batch_begun(0, 1, Attempt.of(1, 60, 0)),
        *phases,
        line(DisclosureKind.PROVED, 1, 60, [(0, [frame])], known=known),
    ]


def test_a_platform_and_one_node_do_not_leave_out_who_would_give_them_away() -> None:
    """Node 3 sends what it likes in place of nodes 2 and 3, and node 2 is said to be lost."""
    agreement = recorded("sealed")[0]
    four = replace(agreement, nodes=[*agreement.nodes, agreement.nodes[0]])
    u, v, wanted = b"\x01", b"\x01", b"\x01"
    # Of a single byte, one half has all and the other nothing.
    halves = [(b"", v), (b"", u)]
    true = [half[at] + hashlib.sha256(half[1 - at]).digest() for half in halves for at in (0, 1)]
    false = [*true[:3], bytes(a ^ b for a, b in zip(v, wanted, strict=True))]
    parts = [[(0, [frame])] for frame in true]
    honest = Disclosed(0, Attempt.of(1, 60, 0), "ab", DisclosedProof(False), parts)
    assert "0 times yes" in check_disclosed(four, [bit_sent(frame) for frame in true], [honest])
    lie = replace(
        honest, payload=DisclosedProof(True), parts=[[(0, [f])] for f in false], without=2
    )
    phases: list[tuple[LogEvent, ...]] = [
        (),
        (NodeLost(61, 2),),
        (NodeLost(50, 2), NodeReturned(59, 2)),
    ]
    for said in phases:
        logs = [bit_sent(frame, *said) for frame in false[:2]]
        logs += [bit_sent(false[2]), bit_sent(false[3], NodeLost(50, 2))]
        for entries in ([lie], [honest, lie]):
            with pytest.raises(LogError):
                check_disclosed(four, logs, entries)
        # Also where it is not seen from what the nodes say of the bit.
        nodes = [LoggedDisclosures.of(log) for log in logs]
        with pytest.raises(LogError, match=r"another answer to step 1|node 2 was lost"):
            confirm(four, lie, nodes)
    # Those who did go on as three say so.
    logs = [bit_sent(frame, NodeLost(50, 2), finished=True) for frame in (*false[:2], false[3])]
    assert "1 times yes" in check_disclosed(four, logs, [lie])


def test_one_lying_log_of_four_hides_no_answer() -> None:
    answered: dict[Key, Any] = {(DisclosureKind.LABELS, 0, number): {} for number in (1, 2)}
    honest = LoggedDisclosures(requests={(0, 1): "a", (0, 2): "b"}, sent=answered)
    hidden, shown = (
        "answered evaluation 1, which the ledger leaves out",
        {(DisclosureKind.LABELS, 0, 2)},
    )
    left_out, silent = disclosed._check_no_evaluation_left_out, LoggedDisclosures()
    with pytest.raises(LogError, match=hidden):
        left_out([honest, honest, honest, silent], shown)
    with pytest.raises(LogError, match=hidden):
        left_out([honest, honest, honest], shown)
    assert not left_out([honest, *[silent] * 3], shown)


def test_one_that_is_back_was_not_asked_meanwhile() -> None:
    """Its log may leave out generations that three computed, and no others."""
    begun = [
        batch_begun(first, 3, Attempt.of(first + 3, epoch, 0))
        for first, epoch in ((0, 40), (3, 60), (6, 90))
    ]
    three: list[LogEvent] = [begun[0], LOST, begun[1], BACK, begun[2]]
    built = BuiltOnThree(begun[2].attempt, begun[1].attempt)
    back: list[LogEvent] = [begun[0], built, begun[2]]
    logs = [three, three, back, three]
    assert check_generations_asked(logs) == 9
    assert describe_loss(logs).endswith("not checked; nor is what all four built on it since")
    with pytest.raises(LogError, match="do not follow"):
        check_generations_asked([three, three, [begun[0], begun[2]], three])
    with pytest.raises(LogError, match="the platform left it out"):
        check_generations_asked([three, three, back, back])
    unlost = [event for event in three if event not in (LOST, BACK)]
    with pytest.raises(LogError, match="do not follow"):
        check_generations_asked([unlost, unlost, back, unlost])
