"""A platform that says who was lost: what a node did is left out for no other time than that."""

from __future__ import annotations

import hashlib

import pytest
from msgspec.structs import replace

from tacit.engine.records import (
    AnswerSent,
    BuiltOnThree,
    EvaluationAnswer,
    EvaluationBegun,
    EvaluationRepeated,
    Event,
    FinishedBit,
    FinishedTold,
    GenerationsBegun,
    NodeLost,
    NodeReturned,
)
from tacit.engine.wire import Attempt, sent_digest
from tacit.errors import LogError
from tacit.verify import answers
from tacit.verify.answer_log import AnswerLog, digests_of
from tacit.verify.loss import describe_loss
from tacit.verify.sealed.finished import _confirm, check_finished
from tacit.verify.sealed.generations import check_generations_asked
from tests.engine.recorded import recorded

LOST, BACK = NodeLost(50, 2), NodeReturned(90, 2)
PART = [(0, [b"part"])]


def sent(epoch: int) -> list[Event]:
    attempt, salt = Attempt.of(1, epoch, 0), bytes(16)
    digest = sent_digest(salt, digests_of(PART))
    return [
        EvaluationBegun(0, 1, "ab", attempt),
        LOST,
        BACK,
        AnswerSent(1, attempt, salt.hex(), digest, 0),
    ]


@pytest.mark.parametrize(
    ("epoch", "without", "proves"),
    [(60, 2, True), (60, None, False), (49, None, True), (49, 2, False), (90, 2, False)],
)
def test_an_answer_is_proven_with_those_who_computed_it(
    epoch: int, without: int | None, proves: bool
) -> None:
    """The fourth's log counts before it was lost and once it is back, whatever the ledger says."""
    log = AnswerLog.of(sent(epoch))
    entry = EvaluationAnswer(0, 1, "ab", [1, 0], None, [PART, [], [], []], without=without)
    assert log.senders(entry) == ({0} if proves else set())
    assert log.allows(entry, Attempt.of(1, epoch, 0), {0}) == proves


def test_an_answer_that_three_gave_again_is_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    """Node 2 died before it had logged its part, and the others computed the answer again."""
    monkeypatch.setattr(answers, "_check_parts", lambda *_: None)
    salt, first, again = bytes(16), Attempt.of(1, 40, 0), Attempt.of(1, 60, 0)

    def lines(node: int) -> list[Event]:
        told = {
            attempt: AnswerSent(1, attempt, salt.hex(), sent_digest(salt, digests_of(part)), 0)
            for attempt, part in ((first, part_of(node, b"")), (again, part_of(node, b"again")))
        }
        begun = EvaluationBegun(0, 1, "ab", first)
        repeated = EvaluationRepeated(0, 1, again)
        return [begun, told[first], NodeLost(50, 2), repeated, told[again]][
            : None if node != 2 else 1
        ]

    logs = [lines(node) for node in range(4)]
    four = [part_of(node, b"") for node in range(4)]
    three = [part_of(node, b"again") if node != 2 else [] for node in range(4)]
    entries = [
        EvaluationAnswer(0, 1, "ab", [1, 0], None, four),
        EvaluationAnswer(0, 1, "ab", [1, 0], None, three, again=True, without=2),
    ]
    agreement = recorded("evaluating")[0]
    assert answers.check_answers(agreement, logs, entries) == answers.Answers(1, 0)
    assert answers.check_answers(agreement, logs, entries[:1]) == answers.Answers(0, 1)


def part_of(node: int, attempt: bytes) -> list[tuple[int, list[bytes]]]:
    return [(0, [bytes([node]) + attempt])]


def bit_sent(frame: bytes, *phases: Event, finished: bool = False) -> list[Event]:
    """The log of a node that sent this of whether all was proved after the first step."""
    salt, attempt = bytes(16), Attempt.of(1, 60, 0)
    digest = sent_digest(salt, digests_of([(0, [frame])]))
    return [
        GenerationsBegun(0, 0, 1, 9, "ab", attempt),
        *phases,
        FinishedTold(1, attempt, salt.hex(), digest, 0, finished),
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
    honest = FinishedBit(0, 1, "ab", False, [[(0, [frame])] for frame in true])
    assert "0 times yes" in check_finished(four, [bit_sent(frame) for frame in true], [honest])
    parts = [[(0, [frame])] for frame in false]
    lie = replace(honest, finished=True, parts=parts, without=2)
    phases: list[tuple[Event, ...]] = [
        (),
        (NodeLost(61, 2),),
        (NodeLost(50, 2), NodeReturned(59, 2)),
    ]
    for said in phases:
        logs = [bit_sent(frame, *said) for frame in false[:2]]
        logs += [bit_sent(false[2]), bit_sent(false[3], NodeLost(50, 2))]
        for entry in ([lie], [honest, lie]):
            with pytest.raises(LogError):
                check_finished(four, logs, entry)
        # Also where it is not seen from what the nodes say of the bit.
        with pytest.raises(LogError, match=r"another word after step 1|node 2 was lost"):
            _confirm(four, logs, lie, {(0, 1)})
    # Those who did go on as three say so.
    logs = [bit_sent(frame, NodeLost(50, 2), finished=True) for frame in (*false[:2], false[3])]
    assert "1 times yes" in check_finished(four, logs, [lie])


def test_one_lying_log_of_four_hides_no_answer() -> None:
    honest = AnswerLog(requests={(0, 1): "a", (0, 2): "b"}, sent={(0, 1): {}, (0, 2): {}})
    hidden = "answered evaluation 1, which the ledger leaves out"
    with pytest.raises(LogError, match=hidden):
        answers._check_nothing_left_out([honest, honest, honest, AnswerLog()], {(0, 2)})
    with pytest.raises(LogError, match=hidden):
        answers._check_nothing_left_out([honest, honest, honest], {(0, 2)})
    assert not answers._check_nothing_left_out([honest, *[AnswerLog()] * 3], {(0, 2)})


def test_one_that_is_back_was_not_asked_meanwhile() -> None:
    """Its log may leave out generations that three computed, and no others."""
    begun = [
        GenerationsBegun(0, first, 3, 9, "ab", Attempt.of(first + 3, epoch, 0))
        for first, epoch in ((0, 40), (3, 60), (6, 90))
    ]
    three: list[Event] = [begun[0], LOST, begun[1], BACK, begun[2]]
    built = BuiltOnThree(begun[2].attempt, begun[1].attempt)
    back: list[Event] = [begun[0], built, begun[2]]
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
