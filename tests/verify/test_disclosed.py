"""Lies about runs that were recorded once: ledgers and logs that a platform could have changed."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tacit.errors import LogError
from tacit.records import (
    Attempt,
    Disclosed,
    DisclosedBest,
    DisclosedLabels,
    DisclosedPlan,
    DisclosedProof,
    DisclosureKind,
    EvaluationBegun,
    Log,
    Payload,
    Sent,
)
from tacit.records.log import FIRST, verify_log
from tacit.verify.disclosed import check_disclosed
from tests.conftest import RunTacit
from tests.on_nodes.recorded import RUNS, recorded


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("evaluating", "all 3 populations are those of the agreed search"),
        ("sealed", "besides, 2 of 3 agreed times whether all was proved, 1 times yes"),
    ],
)
def test_a_recorded_run_is_verified_and_replayed(
    run_tacit: RunTacit, kind: str, words: str
) -> None:
    folder = RUNS / kind
    verified = run_tacit("log", "verify", folder / "log-1.jsonl")
    assert verified.stdout.startswith("unbroken, "), verified.stderr
    done = run_tacit(
        *("log", "replay", folder / "log-0.jsonl", "--agreement", folder / "agreement.json"),
        *("--ledger", folder / "ledger.jsonl"),
        *("--other", folder / "log-1.jsonl", "--other", folder / "log-2.jsonl"),
    )
    assert done.returncode == 0, done.stderr
    assert words in done.stdout


def lies_about(entry: Disclosed) -> dict[str, Disclosed]:
    """What is wrong of any entry; everything of its payload is turned round."""
    epoch = entry.attempt.epoch
    (node, *parts), others = entry.parts[1:], entry.parts[:1]
    return {
        "of another request": replace(entry, request="ab" * 32),
        "of another attempt": replace(entry, attempt=Attempt.of(entry.number, epoch, 999)),
        "of another number": replace(entry, attempt=Attempt.of(entry.number + 1, epoch, 1)),
        "about something else": replace(entry, about=entry.about + 1),
        "without parts": replace(entry, parts=[]),
        "with the parts of nodes exchanged": replace(entry, parts=[node, *others, *parts]),
        "of other parts": replace(entry, parts=[[(0, [bytes(32)])]] * 3),
        "with its frames joined": replace(
            entry, parts=[[(k, [b"".join(frames)]) for k, frames in each] for each in entry.parts]
        )
        if entry.kind.opens_plan
        else replace(entry, parts=[[(k + 1, f) for k, f in each] for each in entry.parts]),
        "of three nodes of four": replace(entry, without=1),
        "with another payload": replace(entry, payload=another(entry.payload)),
        "with the payload of something else": replace(
            entry,
            payload=DisclosedProof(True)
            if entry.kind is not DisclosureKind.PROVED
            else DisclosedPlan([0]),
        ),
    }


def another(payload: Payload) -> Payload:
    """A payload of the same kind that says something else."""
    match payload:
        case DisclosedLabels(labels=labels):
            return replace(payload, labels=[1 - labels[0], *labels[1:]])
        case DisclosedBest(candidates=count, index=index):
            return replace(payload, index=(index + 1) % count)
        case DisclosedProof(finished=finished):
            return replace(payload, finished=not finished)
        case DisclosedPlan(plan=plan):
            return replace(payload, plan=plan[::-1])
        case _:
            raise AssertionError(f"no run with {payload.kind} is recorded")


RECORDED = [(kind, at) for kind, count in (("evaluating", 4), ("sealed", 3)) for at in range(count)]


@pytest.mark.parametrize(("kind", "at"), RECORDED)
def test_any_change_of_any_entry_is_noticed(kind: str, at: int) -> None:
    agreement, logs, ledger = recorded(kind)
    check_disclosed(agreement, logs, ledger)
    for what, lie in lies_about(ledger[at]).items():
        changed = [*ledger[:at], lie, *ledger[at + 1 :]]
        with pytest.raises(LogError):
            pytest.fail(f"{what}: {check_disclosed(agreement, logs, changed)}")


@pytest.mark.parametrize(("kind", "at"), RECORDED)
def test_what_is_left_out_is_missed(kind: str, at: int) -> None:
    agreement, logs, ledger = recorded(kind)
    without = [*ledger[:at], *ledger[at + 1 :]]
    if ledger[at].kind is DisclosureKind.LABELS and at == 2:  # the last may have come too late
        assert "came too late" in check_disclosed(agreement, logs, without)
        return
    with pytest.raises(LogError, match="which the ledger leaves out"):
        check_disclosed(agreement, logs, without)


@pytest.mark.parametrize(("kind", "at"), RECORDED)
def test_a_line_is_one_of_its_own_disclosure_alone(kind: str, at: int) -> None:
    """A line about one thing that was sent confirms nothing else, though the hash is the same."""
    agreement, logs, ledger = recorded(kind)
    entry = ledger[at]
    for other in DisclosureKind:
        if other is entry.kind:
            continue
        changed = [
            [
                replace(line, kind=other)
                if isinstance(line, Sent)
                and (line.kind, line.attempt) == (entry.kind, entry.attempt)
                else line
                for line in log
            ]
            for log in logs
        ]
        with pytest.raises(LogError):
            pytest.fail(f"{other}: {check_disclosed(agreement, changed, ledger)}")


def test_lines_that_one_log_alone_lacks_are_held_against_its_node() -> None:
    """Nodes compute together: where all others have sent their parts, this one took part, too."""
    agreement, logs, ledger = recorded("evaluating")
    number = ledger[0].number

    def cut(log: Log, *, sent_alone: bool = False) -> Log:
        about = [each for each in log if isinstance(each, EvaluationBegun | Sent)]
        gone = [
            each
            for each in about
            if (isinstance(each, Sent) or not sent_alone)
            and (each.attempt.number if isinstance(each, Sent) else each.number) == number
        ]
        return [each for each in log if each not in gone]

    with pytest.raises(LogError, match=r"log of node 2 lacks .* its disk was set back"):
        check_disclosed(agreement, [*logs[:2], cut(logs[2])], ledger)
    # Where another has not sent its part either, a platform may have asked fewer nodes than it
    # says.
    unsent = [logs[0], cut(logs[1], sent_alone=True), cut(logs[2])]
    with pytest.raises(LogError, match="the platform invented it"):
        check_disclosed(agreement, unsent, ledger)


def test_one_log_given_three_times_confirms_nothing() -> None:
    agreement, logs, ledger = recorded("sealed")
    with pytest.raises(LogError, match="two of the logs are of the same node"):
        check_disclosed(agreement, [logs[0]] * 3, ledger)


def test_a_reveal_must_be_the_one_that_was_agreed() -> None:
    agreement, logs, ledger = recorded("evaluating")
    assert "3 answers" in check_disclosed(agreement, logs, ledger)
    with pytest.raises(LogError, match="which was not agreed on"):
        check_disclosed(replace(agreement, reveal_best=False), logs, ledger)
    # Nor may a node have revealed what the platform keeps to itself.
    with pytest.raises(LogError, match=r"a node disclosed .* which was not agreed on"):
        check_disclosed(replace(agreement, reveal_best=False), logs, ledger[:3])


def test_bytes_that_are_no_text_are_a_changed_log() -> None:
    line = b'{"at":0,"event":"refused","previous":"%s","reason":"\xff"}\n' % FIRST.encode()
    with pytest.raises(LogError, match="line 1 is not an event"):
        verify_log(line)
