"""Logs, ledgers and states that the first version wrote are read, and newer ones are refused."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tacit.engine.node.state.best_so_far import BestSoFar
from tacit.engine.node.state.store import Store
from tacit.engine.records.events import AgreementAccepted, EvaluationBegun, GenerationsBegun
from tacit.engine.records.ledger import (
    EvaluationAnswer,
    ImprovementBits,
    OpenedPlan,
    RevealedBest,
    load_ledger,
    read_ledger,
)
from tacit.engine.records.node_log import FIRST, NodeLog, verify_log
from tacit.errors import LogError
from tests.conftest import RunTacit
from tests.engine.fixtures import example_cast

RECORDED = Path(__file__).parent / "first_version"


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("evaluating", "all 3 populations are those of the agreed search"),
        ("sealed", "only the plan was opened, as 3 parts in the logs confirm; besides, 5 times"),
    ],
)
def test_a_recorded_run_is_verified_and_replayed(
    run_tacit: RunTacit, kind: str, words: str
) -> None:
    folder = RECORDED / kind
    verified = run_tacit("log", "verify", folder / "log-1.jsonl")
    assert verified.stdout.startswith("unbroken, "), verified.stderr
    done = run_tacit(
        *("log", "replay", folder / "log-0.jsonl", "--agreement", folder / "agreement.json"),
        *("--ledger", folder / "ledger.jsonl"),
        *("--other", folder / "log-1.jsonl", "--other", folder / "log-2.jsonl"),
    )
    assert done.returncode == 0, done.stderr
    assert words in done.stdout


def test_entries_without_a_tag_are_what_they_were() -> None:
    entries = load_ledger(RECORDED / "evaluating" / "ledger.jsonl", sealed=False)
    assert [type(entry) for entry in entries] == [*[EvaluationAnswer] * 3, RevealedBest]
    bits, plan = load_ledger(RECORDED / "sealed" / "ledger.jsonl", sealed=True)
    assert isinstance(bits, ImprovementBits)
    assert bits.improved == [1, 1, 1, 0, 0]
    assert isinstance(plan, OpenedPlan)
    assert plan.plan == [5, 0, 1, 4, 3, 2]


def test_lines_have_the_names_of_before(tmp_path: Path) -> None:
    """What is written now differs from a log of the first version in `format` alone."""
    for kind, event in (("evaluating", EvaluationBegun), ("sealed", GenerationsBegun)):
        old = (RECORDED / kind / "log-0.jsonl").read_bytes()
        events = verify_log(old)
        assert any(isinstance(each, event) for each in events)
        log = NodeLog(tmp_path / f"{kind}.jsonl")
        for each in events:
            log.append(each)
        written = [msgspec.json.decode(line) for line in log.path.read_bytes().splitlines()]
        before = [msgspec.json.decode(line) for line in old.splitlines()]
        assert written[0].pop("format") == 1
        for new, line in zip(written, before, strict=True):
            for chained in ("at", "previous"):
                del new[chained], line[chained]
            assert new == line


def test_states_without_a_tag_are_read(tmp_path: Path) -> None:
    cast = example_cast()
    store = Store.create(tmp_path, cast.agreement, cast.signatures)
    old = {"number": 7, "basis": "7:123:0", "mine": 1, "next": 2}
    (store.folder / "best-0").write_bytes(msgspec.msgpack.encode([old]))
    assert BestSoFar(store, 0).newest == ""  # its run does not go on, and nothing breaks


def test_what_a_newer_version_wrote_is_refused() -> None:
    def line(**fields: object) -> bytes:
        return msgspec.json.encode({"at": 0, "previous": FIRST, **fields}) + b"\n"

    assert verify_log(line(event="agreed", agreement="ab")) == [
        AgreementAccepted("ab", previous=FIRST)
    ]
    with pytest.raises(LogError, match=r"a newer version wrote this log \(format 2\)"):
        verify_log(line(event="agreed", agreement="ab", format=2))
    with pytest.raises(LogError, match=r"not an event of this version \(Invalid value 'merged'"):
        verify_log(line(event="merged"))
    with pytest.raises(LogError, match=r"not a ledger entry \(Invalid value 'pareto'"):
        read_ledger(b'{"entry":"pareto"}\n', sealed=False)
