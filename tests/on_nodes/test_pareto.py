"""Several objectives in one evaluation: on real nodes as in the simulation, logged and replayed."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from tacit.agreement.draft import check_agreement
from tacit.agreement.terms import Agreement, read_agreement
from tacit.errors import AgreementError, LogError, RefusedError
from tacit.local.cluster import LocalCluster
from tacit.node.policy import Asked, check_disclosure
from tacit.problems import generate_assignment
from tacit.records.ledger import Disclosed, DisclosedLabels, load_ledger
from tacit.records.log import Log, verify_log
from tacit.runs import Checkpointing, EngineChoice, Limits, Result, SolveSettings, solve
from tacit.search import preset_named
from tacit.verify.disclosed import check_answers
from tacit.verify.replay import replay
from tests.on_nodes.entries import lying
from tests.on_nodes.test_identical import same_bytes

PARAMETERS = preset_named("paper-moap").with_changes(population=16)


@pytest.mark.parametrize(
    ("disclose", "objectives"),
    [("pareto:quantiles:4", 2), ("pareto:top:5", 3), ("pareto:order", 2)],
)
def test_three_nodes_give_the_same_bytes(
    cluster: LocalCluster, disclose: str, objectives: int
) -> None:
    problem = generate_assignment(8, rows=8, objectives=objectives, participants=2)
    same_bytes(
        cluster, problem, parameters=PARAMETERS, disclose=disclose, best="nothing", generations=4
    )


def test_four_nodes_give_the_same_bytes(four: LocalCluster) -> None:
    problem = generate_assignment(8, rows=8, objectives=2, participants=2)
    same_bytes(
        four,
        problem,
        parameters=PARAMETERS,
        disclose="pareto:quantiles:4",
        best="nothing",
        generations=4,
    )


def test_a_run_resumes_on_nodes(cluster: LocalCluster, tmp_path: Path) -> None:
    problem = generate_assignment(3, rows=8, objectives=2)

    def solved(generations: int, saving: Checkpointing) -> Result:
        return solve(
            problem,
            disclose="pareto:top:5",
            limits=Limits(generations=generations),
            settings=SolveSettings(parameters=PARAMETERS, checkpointing=saving),
            seed=1,
            engine=EngineChoice(cluster=cluster.folder / "cluster.toml"),
        )

    file = tmp_path / "run.checkpoint"
    solved(2, Checkpointing(file=file))
    half, whole = solved(4, Checkpointing(resume=file)), solved(4, Checkpointing())
    assert half.to_json(timing=False) == whole.to_json(timing=False)


@pytest.fixture(scope="module")
def recorded(
    cluster: LocalCluster, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Agreement, list[Log], list[Disclosed]]:
    """The agreement, the logs of all nodes and the ledger of a run."""
    ledger = tmp_path_factory.mktemp("pareto") / "ledger.jsonl"
    data = [cluster.folder / f"node-{node}.data" for node in range(3)]
    before = set(data[0].iterdir())
    solve(
        generate_assignment(3, rows=8, objectives=2, participants=2),
        disclose="pareto:quantiles:4",
        settings=PARAMETERS,
        limits=Limits(generations=4),
        seed=4,
        engine=EngineChoice(cluster=cluster.folder / "cluster.toml", ledger=ledger),
    )
    (kept,) = set(data[0].iterdir()) - before
    agreement = read_agreement((kept / "agreement.json").read_bytes())
    logs: list[Log] = [verify_log((each / kept.name / "log.jsonl").read_bytes()) for each in data]
    return agreement, logs, load_ledger(ledger)


def test_a_run_is_replayed_and_proven(
    recorded: tuple[Agreement, list[Log], list[Disclosed]],
) -> None:
    agreement, logs, ledger = recorded
    assert {entry.about for entry in ledger} == {0}
    answers = [e.payload for e in ledger if isinstance(e.payload, DisclosedLabels)]
    assert [each.best for each in answers] == [None] * len(ledger)
    for log in logs:
        assert replay(agreement, log, ledger).complete
    assert check_answers(agreement, logs, ledger).counts == (5, 0)
    lie = lying(ledger[2], labels=answers[2].labels[::-1])
    with pytest.raises(LogError, match="disclosed something else"):
        check_answers(agreement, logs, [*ledger[:2], lie, *ledger[3:]])
    assert replay(agreement, logs[0], [*ledger[:2], lie, *ledger[3:]]).followed == 3


def test_nodes_evaluate_nothing_of_one_objective(
    recorded: tuple[Agreement, list[Log], list[Disclosed]],
) -> None:
    agreement = recorded[0]
    plans = np.tile(np.arange(8), (16, 1))
    check_disclosure(agreement, Asked(0, 1, "pareto:quantiles:4", "nothing", b"", plans))
    for objective, disclosure, reason in (
        (1, "pareto:quantiles:4", "together with all objectives"),
        (0, "quantiles:4", "may disclose pareto:quantiles:4"),
        (0, "pareto:order", "may disclose pareto:quantiles:4"),
    ):
        with pytest.raises(RefusedError, match=reason):
            check_disclosure(agreement, Asked(objective, 1, disclosure, "nothing", b"", plans))


def test_agreements_that_would_tell_of_one_objective_are_refused(
    recorded: tuple[Agreement, list[Log], list[Disclosed]],
) -> None:
    agreement = recorded[0]
    check_agreement(agreement)
    with pytest.raises(AgreementError, match="no plan is truly best"):
        check_agreement(msgspec.structs.replace(agreement, reveal_best=True))
    first, second = agreement.objectives
    for other, reason in (
        (msgspec.structs.replace(second, disclosure="order"), "of all objectives together"),
        (msgspec.structs.replace(second, best="value"), "nothing of a best fitness"),
    ):
        with pytest.raises(AgreementError, match=reason):
            check_agreement(msgspec.structs.replace(agreement, objectives=[first, other]))
    wide = [msgspec.structs.replace(each, weight_bound=2**33) for each in (first, second)]
    with pytest.raises(AgreementError, match="needs 80 bits, the ring has 64; scale the weights"):
        check_agreement(msgspec.structs.replace(agreement, objectives=wide))
