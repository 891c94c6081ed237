"""`tacit log replay` on the log of a real node."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tacit.engine.agreement import read_agreement
from tacit.engine.answers import Answers, check_answers
from tacit.engine.ledger import LedgerEntry, load_ledger
from tacit.engine.local_cluster import LocalCluster
from tacit.engine.node_log import verify_log
from tacit.errors import LogError
from tacit.problems import generate_assignment
from tacit.runs import EngineChoice, solve
from tacit.runs.replay import replay
from tacit.search import SearchParameters
from tests.conftest import RunTacit


@pytest.fixture(scope="module")
def recorded(cluster: LocalCluster, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log, the agreement and the ledger of a run, in one folder."""
    folder = tmp_path_factory.mktemp("recorded")
    data = cluster.folder / "node-1.data"
    before = set(data.iterdir())
    solve(
        generate_assignment(3, rows=8),
        disclose="top:4",
        parameters=SearchParameters(population=20, elites=2, tournament=3),
        generations=5,
        seed=4,
        engine=EngineChoice(
            cluster=cluster.folder / "cluster.toml", ledger=folder / "ledger.jsonl"
        ),
    )
    (kept,) = set(data.iterdir()) - before
    for name in ("log.jsonl", "agreement.json"):
        (folder / name).write_bytes((kept / name).read_bytes())
    for node in (0, 2):
        log = cluster.folder / f"node-{node}.data" / kept.name / "log.jsonl"
        (folder / f"log-{node}.jsonl").write_bytes(log.read_bytes())
    return folder


def test_an_honest_run_is_confirmed(recorded: Path, run_tacit: RunTacit) -> None:
    verified = run_tacit("log", "verify", recorded / "log.jsonl")
    assert verified.returncode == 0
    assert "unbroken" in verified.stdout
    done = run_tacit(
        *("log", "replay", recorded / "log.jsonl"),
        *("--agreement", recorded / "agreement.json", "--ledger", recorded / "ledger.jsonl"),
        *("--other", recorded / "log-0.jsonl", "--other", recorded / "log-2.jsonl"),
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        "all 6 populations are those of the agreed search\n"
        "6 of 6 answers are as 3 of 3 nodes logged them\n"
    )


def test_another_search_is_found_out(recorded: Path) -> None:
    agreement = read_agreement((recorded / "agreement.json").read_bytes())
    entries = verify_log((recorded / "log.jsonl").read_bytes())
    ledger = load_ledger(recorded / "ledger.jsonl")
    assert replay(agreement, entries, ledger).complete
    other_seed = msgspec.structs.replace(
        agreement, search=msgspec.structs.replace(agreement.search, seed=5)
    )
    assert replay(other_seed, entries, ledger).followed == 0
    # Told something else than what the ledger says, the search would have gone elsewhere.
    lied = [
        msgspec.structs.replace(entry, disclosed=entry.disclosed[::-1])
        if entry.number == 3
        else entry
        for entry in ledger
    ]
    assert replay(agreement, entries, lied).followed == 3


def test_a_ledger_that_lies_is_found_out(recorded: Path) -> None:
    agreement = read_agreement((recorded / "agreement.json").read_bytes())
    names = ("log.jsonl", "log-0.jsonl", "log-2.jsonl")
    logs = [verify_log((recorded / name).read_bytes()) for name in names]
    ledger = load_ledger(recorded / "ledger.jsonl")
    assert check_answers(agreement, logs, ledger) == Answers(6, 0)
    with pytest.raises(LogError, match="of the same node"):
        check_answers(agreement, [logs[0], logs[0]], ledger)

    def lie(**changes: Any) -> list[LedgerEntry]:
        return [*ledger[:2], msgspec.structs.replace(ledger[2], **changes), *ledger[3:]]

    # Another answer than the one that the parts add up to.
    with pytest.raises(LogError, match="told something else"):
        check_answers(agreement, logs, lie(disclosed=ledger[2].disclosed[::-1]))
    assert isinstance(ledger[2].best, int)
    with pytest.raises(LogError, match="told something else"):
        check_answers(agreement, logs, lie(best=ledger[2].best - 1))
    # Parts that fit the lie: the node whose part was invented logged another.
    turned = [
        [(k, [_turned(frame) for frame in frames] if k == 1 else frames) for k, frames in each]
        for each in ledger[2].parts
    ]
    with pytest.raises(LogError, match="logged another answer to evaluation 3"):
        check_answers(agreement, logs, lie(disclosed=ledger[2].disclosed[::-1], parts=turned))


def _turned(frame: bytes) -> bytes:
    """Labels of four bytes, last first."""
    return b"".join(frame[at : at + 4] for at in range(len(frame) - 4, -1, -4))
