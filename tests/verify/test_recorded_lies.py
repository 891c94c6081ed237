"""Lies about runs that were recorded once: ledgers and logs that a platform could have changed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from tacit.engine.agreement import Agreement, read_agreement
from tacit.engine.records import ImprovementBits, LedgerEntry, Log, OpenedPlan, RevealedBest
from tacit.engine.records.ledger import load_ledger
from tacit.engine.records.node_log import FIRST, verify_log
from tacit.errors import LogError
from tacit.verify.answers import check_disclosed
from tacit.verify.sealed.opened import check_opened

RECORDED = Path(__file__).parents[1] / "engine" / "first_version"


def recorded(kind: str) -> tuple[Agreement, Sequence[Log], Sequence[LedgerEntry]]:
    folder = RECORDED / kind
    agreement = read_agreement((folder / "agreement.json").read_bytes().strip())
    logs = [verify_log((folder / f"log-{node}.jsonl").read_bytes()) for node in range(3)]
    return agreement, logs, load_ledger(folder / "ledger.jsonl", sealed=kind == "sealed")


def lies_about(bits: ImprovementBits) -> dict[str, ImprovementBits]:
    return {
        "flipped": replace(bits, improved=[1 - bit for bit in bits.improved]),
        "fewer": replace(bits, improved=bits.improved[:-1]),
        "none": replace(bits, improved=[]),
        "of no use": replace(bits, improved=[999] * len(bits.improved)),
        "of another request": replace(bits, request="ab" * 32),
        "of generations that were not asked for": replace(bits, number=77),
        "without parts": replace(bits, parts=[]),
    }


def test_improvements_must_be_those_of_their_parts() -> None:
    agreement, logs, (bits, plan) = recorded("sealed")
    assert isinstance(bits, ImprovementBits)
    assert "5 times" in check_opened(agreement, logs, [bits, plan])
    for what, lie in lies_about(bits).items():
        with pytest.raises(LogError):
            pytest.fail(f"{what}: {check_opened(agreement, logs, [lie, plan])}")
    invented = replace(bits, number=77, parts=[])
    with pytest.raises(LogError, match="other improvements after generation 76"):
        check_opened(agreement, logs, [bits, invented, plan])


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
