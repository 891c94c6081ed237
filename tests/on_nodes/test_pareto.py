"""Several objectives together: evaluations and the final front, on nodes as simulated."""

from __future__ import annotations

from pathlib import Path
from threading import Thread

import msgspec
import numpy as np
import pytest

from tacit.agreement.draft import check_agreement
from tacit.agreement.terms import Agreement, read_agreement
from tacit.errors import AgreementError, LogError, ParameterError, RefusedError, UnprovenError
from tacit.local.cluster import LocalCluster
from tacit.node.policy import Asked, check_disclosure, check_reveal
from tacit.problems import generate_assignment
from tacit.records.ledger import Disclosed, DisclosedFront, DisclosedLabels, load_ledger
from tacit.records.log import Log, verify_log
from tacit.runs import Checkpointing, EngineChoice, Limits, Progress, Result, SolveSettings, solve
from tacit.search import preset_named
from tacit.verify.claims import Claim
from tacit.verify.disclosed import check_answers, check_disclosed
from tacit.verify.replay import check_search, replay
from tests.on_nodes.altered_nodes import restart_dying
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


PROBLEM = generate_assignment(8, rows=8, objectives=2, participants=2)
Recorded = tuple[Agreement, list[Log], list[Disclosed], Result]


@pytest.mark.parametrize("front", ["plans", "values"])
def test_four_nodes_give_the_same_bytes_front(four: LocalCluster, front: str) -> None:
    same_bytes(
        four, PROBLEM, parameters=PARAMETERS, disclose="pareto:top:9", best="nothing",
        front=front, generations=3,
    )  # fmt: skip


def test_a_node_that_dies_in_mid_evaluation_changes_nothing(own_cluster: LocalCluster) -> None:
    """It is killed while dominators are counted, and comes back."""

    def come_back() -> None:
        own_cluster.processes[1].wait()
        own_cluster.kill(1)
        own_cluster.restart(1)

    back = Thread(target=come_back)

    def die(view: Progress) -> None:
        if view.generation == 0:
            restart_dying(own_cluster, 1, "count dominators")
            back.start()

    real, twin = (
        solve(
            PROBLEM,
            disclose="pareto:top:9",
            settings=PARAMETERS,
            limits=Limits(generations=2, deadline=120.0),
            seed=2,
            engine=engine,
            observe=observe,
        )
        for engine, observe in (
            (EngineChoice(cluster=own_cluster.folder / "cluster.toml", front="values"), die),
            (EngineChoice(engine="simulated", front="values"), None),
        )
    )
    back.join()
    alike = msgspec.structs.replace(real, engine="simulated", nodes=0)
    assert alike.to_json(timing=False) == twin.to_json(timing=False)


@pytest.fixture(scope="module")
def recorded_front(cluster: LocalCluster, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """The agreement, the logs, the ledger and the result of a run that tells its front's values."""
    ledger = tmp_path_factory.mktemp("front") / "ledger.jsonl"
    data = [cluster.folder / f"node-{node}.data" for node in range(3)]
    before = set(data[0].iterdir())
    result = solve(
        PROBLEM,
        disclose="pareto:quantiles:4",
        settings=PARAMETERS,
        limits=Limits(generations=4),
        seed=4,
        engine=EngineChoice(cluster=cluster.folder / "cluster.toml", ledger=ledger, front="values"),
    )
    (kept,) = set(data[0].iterdir()) - before
    agreement = read_agreement((kept / "agreement.json").read_bytes())
    logs: list[Log] = [verify_log((each / kept.name / "log.jsonl").read_bytes()) for each in data]
    return agreement, logs, load_ledger(ledger), result


def test_values_are_those_of_the_plans_that_nobody_dominates(recorded_front: Recorded) -> None:
    result = recorded_front[3]
    assert result.front is not None
    actual = result.best_known.actual
    assert actual is not None
    assert result.front.values == [actual[k] for k in result.front.nondominated]
    for k, line in enumerate(actual):
        beaten = any(
            other != line and all(a >= b for a, b in zip(other, line, strict=True))
            for other in actual
        )
        assert (k in result.front.nondominated) == (not beaten and line not in actual[:k])
    assert result.plan == result.best_known.plans[result.front.nondominated[0]]


def test_the_front_is_proven_and_of_the_last_set(recorded_front: Recorded) -> None:
    agreement, logs, ledger, result = recorded_front
    words = check_disclosed(agreement, logs, ledger)
    assert words.endswith("plans were revealed as non-dominated, as 3 logs confirm")
    check_search(agreement, logs[0], ledger, Claim(result.plan, result.generations))


def test_dominated_plans_are_not_the_front(recorded_front: Recorded) -> None:
    """Of the set that was revealed a platform shows what it likes, or leaves a plan out."""
    agreement, logs, ledger, result = recorded_front
    assert result.front is not None
    plans, front = result.best_known.plans, result.front.nondominated
    beaten = next(k for k in range(len(plans)) if plans[k] not in [plans[f] for f in front])
    revealed = [plans[k] for k in front]

    def check(first: list[int], others: list[list[int]]) -> None:
        check_search(agreement, logs[0], ledger, Claim(first, result.generations, others=others))

    check(result.plan, revealed)
    lies = [
        (plans[beaten], []),
        (plans[beaten], revealed),
        (result.plan, [*revealed, plans[beaten]]),
    ]
    if len({*map(tuple, revealed)}) > 1:
        lies += [(result.plan, [result.plan])]
    for first, others in lies:
        with pytest.raises(LogError, match="other plans than those that the nodes revealed"):
            check(first, others)


def test_a_changed_front_is_noticed(recorded_front: Recorded) -> None:
    agreement, logs, ledger, _ = recorded_front
    *answers, front = ledger
    assert isinstance(front.payload, DisclosedFront)
    assert front.payload.values is not None
    better = [[value + 1 for value in line] for line in front.payload.values]
    for lie, reason in (
        (lying(front, values=better), "disclosed something else"),
        (lying(front, nondominated=[0]), "disclosed something else"),
        (msgspec.structs.replace(front, request="00" * 32), "logged another answer"),
        (msgspec.structs.replace(front, parts=[]), "has not kept"),
    ):
        with pytest.raises(LogError, match=reason):
            check_disclosed(agreement, logs, [*answers, lie])
    with pytest.raises(UnprovenError, match="which the ledger leaves out"):
        check_disclosed(agreement, logs, answers)
    with pytest.raises(LogError, match="which was not agreed on"):
        check_disclosed(msgspec.structs.replace(agreement, front="nothing"), logs, ledger)
    other = msgspec.structs.replace(front, request="00" * 32)
    with pytest.raises(LogError, match="other plans than the best"):
        check_search(agreement, logs[0], [*answers, other], Claim())


def test_a_front_is_revealed_once_and_only_if_agreed(recorded_front: Recorded) -> None:
    agreement = recorded_front[0]
    plans = np.array([np.arange(8), np.arange(8)[::-1]])
    check_reveal(agreement, plans, None, b"1")
    check_reveal(agreement, plans, b"1", b"1")
    with pytest.raises(RefusedError, match="revealed already"):
        check_reveal(agreement, plans, b"1", b"2")
    with pytest.raises(RefusedError, match="does not allow"):
        check_reveal(msgspec.structs.replace(agreement, front="nothing"), plans, None, b"1")


def test_a_front_is_of_objectives_that_are_evaluated_together(recorded_front: Recorded) -> None:
    agreement = recorded_front[0]
    apart = [
        msgspec.structs.replace(each, disclosure="quantiles:4") for each in agreement.objectives
    ]
    with pytest.raises(AgreementError, match="only of objectives that are evaluated together"):
        check_agreement(msgspec.structs.replace(agreement, objectives=apart))
    with pytest.raises(ParameterError, match="are evaluated together"):
        solve(PROBLEM, disclose="order", engine=EngineChoice(engine="simulated", front="plans"))
    with pytest.raises(ParameterError, match="use one of nothing, plans, values"):
        EngineChoice(front="all")
