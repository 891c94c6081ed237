"""Lies about runs that were recorded once: ledgers and logs that a platform could have changed."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tacit.engine.records import FinishedBit, OpenedPlan, RevealedBest
from tacit.engine.records.node_log import FIRST, verify_log
from tacit.errors import LogError
from tacit.verify.answers import check_disclosed
from tacit.verify.sealed.opened import check_opened
from tests.conftest import RunTacit
from tests.engine.recorded import RUNS, recorded


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


def lies_about(bit: FinishedBit) -> dict[str, FinishedBit]:
    return {
        "flipped": replace(bit, finished=not bit.finished),
        "of another request": replace(bit, request="ab" * 32),
        "of a step without a checkpoint": replace(bit, number=2),
        "of a step that was not made": replace(bit, number=5),
        "of another search": replace(bit, search=1),
        "without parts": replace(bit, parts=[]),
        "of other parts": replace(bit, parts=[[(0, [bytes(32)])]] * 3),
    }


@pytest.mark.parametrize("at", [0, 1])
def test_a_bit_must_be_that_of_its_parts(at: int) -> None:
    agreement, logs, ledger = recorded("sealed")
    assert "2 of 3 agreed times" in check_opened(agreement, logs, ledger)
    bit = ledger[at]
    assert isinstance(bit, FinishedBit)
    for what, lie in lies_about(bit).items():
        changed = [*ledger[:at], lie, *ledger[at + 1 :]]
        with pytest.raises(LogError):
            pytest.fail(f"{what}: {check_opened(agreement, logs, changed)}")


def test_one_log_given_three_times_confirms_nothing() -> None:
    agreement, logs, ledger = recorded("sealed")
    assert any(isinstance(entry, OpenedPlan) for entry in ledger)
    with pytest.raises(LogError, match="two of the logs are of the same node"):
        check_opened(agreement, [logs[0]] * 3, ledger)


def test_a_reveal_must_be_the_one_that_was_agreed_and_made() -> None:
    agreement, logs, ledger = recorded("evaluating")
    assert "3 answers" in check_disclosed(agreement, logs, ledger)
    another = [*ledger, RevealedBest(0, 99)]
    unasked = replace(agreement, reveal_best=False)
    for terms, entries in ((agreement, another), (unasked, ledger)):
        with pytest.raises(LogError, match="a reveal that the nodes did not make"):
            check_disclosed(terms, logs, entries)


def test_bytes_that_are_no_text_are_a_changed_log() -> None:
    line = b'{"at":0,"event":"refused","previous":"%s","reason":"\xff"}\n' % FIRST.encode()
    with pytest.raises(LogError, match="line 1 is not an event"):
        verify_log(line)
