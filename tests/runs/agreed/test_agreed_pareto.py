"""A run of several objectives in one evaluation, from an agreement on real nodes."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tacit.agreement.draft import with_front
from tacit.agreement.terms import PinnedSearch, canonical
from tacit.coordinator.secure import SecureEngine
from tacit.derived import agreed_parameters
from tacit.errors import UnprovenError
from tacit.local.cluster import LocalCluster
from tacit.problems import generate_assignment
from tacit.records import DisclosureKind, Sent, load_ledger
from tacit.runs import EngineChoice, Limits, StopReason, with_disclosures
from tacit.runs.agreed import LEDGER, search_up_to
from tacit.verify.disclosed import check_answers, check_disclosed
from tacit.verify.replay import replay
from tests.on_nodes.agreed_cluster import AgreedCluster
from tests.runs.agreed.agreed_process import Stored, open_run
from tests.support.simulated import solve

pytestmark = pytest.mark.processes

EVALUATIONS = 9
SEARCH = {"population": 10, "elites": 0, "reevaluate_parents": True, "tournament": 2}


def prepared(nodes: LocalCluster, folder: Path) -> AgreedCluster:
    made = generate_assignment(1, rows=6, objectives=2, participants=2)
    agreed = AgreedCluster.draft(
        nodes,
        with_disclosures(made, "pareto:quantiles:4", None),
        evaluations=EVALUATIONS,
        distinct_min=1,
        pinned=PinnedSearch("nsga2", dict(SEARCH), None, "derived"),
    )
    agreed.agreement = with_front(agreed.agreement, "values")
    sealed = agreed.sealed()
    with SecureEngine(agreed.agreement, nodes.config) as engine:
        engine.start(agreed.signatures, sealed)
    folder.mkdir()
    owners = len(agreed.keys)
    stored = Stored(
        canonical(agreed.agreement),
        agreed.signatures,
        {k: [rows.manifest for rows in sealed[k * owners : (k + 1) * owners]] for k in range(2)},
        str(nodes.folder / "cluster.toml"),
    )
    (folder / "agreed").write_bytes(msgspec.msgpack.encode(stored))
    return agreed


def test_a_run_goes_on_from_its_files_and_is_proven(cluster: LocalCluster, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    agreed = prepared(cluster, folder)
    with open_run(folder) as run:
        search_up_to(run, 3)
        run.checkpoint()
        search_up_to(run, 5)
    with open_run(folder) as run:
        assert run.now.evaluations == 5
        search_up_to(run, EVALUATIONS)
        seed, found = run.seed, run.plans()
        run.finish(StopReason.EVALUATIONS)
        front = run.outcome().front
    with open_run(folder) as run:  # the nodes reveal once, and the ledger has it
        assert run.advance() is StopReason.EVALUATIONS
        run.finish(StopReason.EVALUATIONS)
        assert run.outcome().front == front
        assert len(run.plans()) == len(front.nondominated) if front else False
    twin = solve(
        agreed.problem,
        settings=agreed_parameters(agreed.agreement),
        seed=seed,
        limits=Limits(evaluations=EVALUATIONS),
        engine=EngineChoice(engine="simulated", front="values"),
    )
    assert found == twin.best_known.plans
    assert front == twin.front
    logs = [agreed.log(node) for node in range(3)]
    ledger = load_ledger(folder / LEDGER)
    assert [entry.kind for entry in ledger].count(DisclosureKind.FRONT) == 1
    left_out = [entry for entry in ledger if entry.kind is not DisclosureKind.FRONT]
    cut_off = [e for e in logs[0] if not (isinstance(e, Sent) and e.kind is DisclosureKind.FRONT)]
    with pytest.raises(UnprovenError, match="which the ledger leaves out"):
        check_disclosed(agreed.agreement, [cut_off, *logs[1:]], left_out)
    for log in logs:
        assert replay(agreed.agreement, log, ledger).complete
    # The last may still be unproven: nobody asked for another after it.
    answers = check_answers(agreed.agreement, logs, ledger)
    assert answers.of(DisclosureKind.FRONT).counts == (1, 0)
    assert answers.of(DisclosureKind.LABELS).counts in ((EVALUATIONS, 0), (EVALUATIONS - 1, 1))
