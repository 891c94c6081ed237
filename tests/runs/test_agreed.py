"""Runs from an agreement on real nodes: killed, taken up again, and still as agreed."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tacit.engine.agreement import canonical
from tacit.engine.answers import check_answers
from tacit.engine.ledger import load_ledger
from tacit.engine.local_cluster import LocalCluster
from tacit.engine.secure import SecureEngine
from tacit.runs.limits import StopReason
from tacit.runs.replay import replay
from tacit.runs.result import Result
from tests.engine.trio import Trio, problem
from tests.runs.agreed_process import Stored, open_run

EVALUATIONS = 150
SEARCH = {"population": 20, "elites": 2, "tournament": 3}


@pytest.fixture(scope="module")
def nodes() -> Iterator[LocalCluster]:
    with LocalCluster() as running:
        yield running


def prepared(nodes: LocalCluster, folder: Path, *, best: str, reveal: bool = False) -> Trio:
    """A trio with frozen inputs, and the folder of a run that has not begun."""
    trio = Trio.draft(
        nodes,
        problem("top:3", best, rows=8),
        evaluations=EVALUATIONS,
        distinct_min=1,
        reveal_best=reveal,
        search=SEARCH,
        seed=None,
    )
    sealed = trio.sealed()
    with SecureEngine(trio.agreement, nodes.config) as engine:
        engine.start(trio.signatures, sealed)
    folder.mkdir()
    stored = Stored(
        canonical(trio.agreement),
        trio.signatures,
        {0: [rows.manifest for rows in sealed]},
        str(nodes.folder / "cluster.toml"),
    )
    (folder / "agreed").write_bytes(msgspec.msgpack.encode(stored))
    return trio


def in_a_process(folder: Path, seconds: float) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.runs.agreed_process", str(folder), str(seconds)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return process


def finish(folder: Path) -> tuple[StopReason, Result]:
    with open_run(folder) as run:
        reason = run.to_its_limits(until=time.monotonic() + 60)
        return reason, run.result(reason)


def followed(trio: Trio, folder: Path) -> None:
    """The logs of all nodes show the agreed search, and the ledger tells what they sent."""
    logs = [trio.log(node) for node in range(3)]
    ledger = load_ledger(folder / "ledger.jsonl")
    for log in logs:
        assert replay(trio.agreement, log, ledger).complete
    assert check_answers(trio.agreement, logs, ledger).confirmed > 0


@pytest.mark.parametrize("best", ["value", "improvement"])
def test_a_run_that_is_killed_again_and_again_ends_as_if_it_never_was(
    nodes: LocalCluster, tmp_path: Path, best: str
) -> None:
    trio = prepared(nodes, tmp_path / "run", best=best, reveal=best == "value")
    chance = random.Random(5)
    for _ in range(2):
        process = in_a_process(tmp_path / "run", 60)
        time.sleep(chance.uniform(0.05, 0.5))
        process.kill()
        process.communicate()
    reason, result = finish(tmp_path / "run")
    assert (reason, result.evaluations) == (StopReason.EVALUATIONS, EVALUATIONS)
    assert result.notes == []
    assert sorted(
        entry.number
        for entry in load_ledger(tmp_path / "run" / "ledger.jsonl")
        if entry.number <= EVALUATIONS
    ) == list(range(1, EVALUATIONS + 1))
    followed(trio, tmp_path / "run")
