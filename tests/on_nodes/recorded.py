"""Runs that were recorded on real nodes: `python -m tests.on_nodes.recorded` records them again.

Tests that change logs and ledgers read them, so that none has to start nodes for it.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from tacit.agreement import Agreement, agreement_hash, canonical, read_agreement
from tacit.coordinator import SecureEngine
from tacit.local.cluster import LocalCluster
from tacit.node.store import folder_name
from tacit.problems import generate_assignment
from tacit.records import Disclosed, Ledger, Log
from tacit.records.ledger import load_ledger
from tacit.records.log import verify_log
from tacit.runs import EngineChoice, Limits, solve
from tacit.search import SearchParameters
from tacit.search.moves import AssignmentParameters
from tests.on_nodes.sealed_agreed_cluster import PROBLEMS, draft, sealed

RUNS = Path(__file__).parent / "recorded_runs"
KINDS = ("evaluating", "sealed")
NODES = 3


def recorded(kind: str) -> tuple[Agreement, Sequence[Log], Sequence[Disclosed]]:
    """A run: its agreement, the logs of its nodes and its ledger."""
    folder = RUNS / kind
    agreement = read_agreement((folder / "agreement.json").read_bytes())
    logs = [verify_log((folder / f"log-{node}.jsonl").read_bytes()) for node in range(NODES)]
    return agreement, logs, load_ledger(folder / "ledger.jsonl")


def _evaluating(cluster: LocalCluster, ledger: Path) -> str:
    """Three evaluations, then which plan is truly best; returns the agreement's folder."""
    data = cluster.folder / "node-0.data"
    before = set(data.iterdir())
    solve(
        generate_assignment(1, rows=6, participants=2),
        disclose="top:4",
        settings=SearchParameters(population=8, elites=2, tournament=2),
        limits=Limits(evaluations=3),
        engine=EngineChoice(
            cluster=cluster.folder / "cluster.toml", ledger=ledger, reveal_best=True
        ),
    )
    (kept,) = (each for each in set(data.iterdir()) - before if each.is_dir())
    return kept.name


def _sealed(cluster: LocalCluster, ledger: Path) -> str:
    """An assignment that its second checkpoint says to be proved."""
    settings = AssignmentParameters(iterations=20, checkpoints="1:4:5")
    agreed = draft(cluster, sealed(PROBLEMS["forbidden"](), "value"), settings)
    with SecureEngine(agreed.agreement, cluster.config, ledger=Ledger(ledger)) as engine:
        engine.start(agreed.signatures, agreed.sealed())
        search = engine.sealed(0)
        search.start()
        while not search.finished:
            search.advance(9, 20, until=None)
        search.open(0, until=None)
    return folder_name(agreement_hash(agreed.agreement))


def record() -> None:
    """Record all runs."""
    for kind, run in zip(KINDS, (_evaluating, _sealed), strict=True):
        folder = RUNS / kind
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        with LocalCluster(chosen_populations=True) as cluster:
            name = run(cluster, folder / "ledger.jsonl")
            for node in range(NODES):
                kept = cluster.folder / f"node-{node}.data" / name
                shutil.copyfile(kept / "log.jsonl", folder / f"log-{node}.jsonl")
            agreement = read_agreement((kept / "agreement.json").read_bytes())
            (folder / "agreement.json").write_bytes(canonical(agreement))


if __name__ == "__main__":
    record()
