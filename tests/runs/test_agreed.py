"""Runs from an agreement, stopped and resumed, with one or several objectives."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from tacit.agreement.draft import with_front
from tacit.agreement.terms import PinnedSearch, agreement_hash, canonical
from tacit.coordinator.secure import SecureEngine
from tacit.derived import agreed_parameters
from tacit.errors import LogError, UnprovenError
from tacit.local.cluster import LocalCluster
from tacit.node.counters import StoredBest
from tacit.node.store import Store, decoder_of, encode_stored, folder_name
from tacit.problems import generate_assignment
from tacit.records.events import (
    EvaluationBegun,
    EvaluationRepeated,
    LogEvent,
    NumberAdopted,
    Sent,
)
from tacit.records.ledger import DisclosureKind, load_ledger
from tacit.records.requests import Attempt
from tacit.runs import EngineChoice, with_disclosures
from tacit.runs.agreed import CHECKPOINTS, LEDGER, search_up_to
from tacit.runs.driver import drive
from tacit.runs.limits import Limits, StopReason
from tacit.runs.result import Result, Timing, summarize
from tacit.verify.disclosed import check_answers, check_disclosed
from tacit.verify.replay import replay
from tests.on_nodes.agreed_cluster import AgreedCluster, problem
from tests.on_nodes.entries import evaluations_in
from tests.runs.agreed_process import Stored, open_run
from tests.support.cpu_waits import CpuWaits
from tests.support.simulated import solve

pytestmark = pytest.mark.processes

EVALUATIONS = 50
AMPLE = 300.0
"""Seconds for a run that ends by itself, also where its nodes wait for a core."""
SEARCH = {"population": 20, "elites": 2, "tournament": 3}


def prepared(
    nodes: LocalCluster, folder: Path, *, best: str, reveal: bool = False
) -> AgreedCluster:
    agreed = AgreedCluster.draft(
        nodes,
        problem("top:3", best, rows=8),
        evaluations=EVALUATIONS,
        distinct_min=1,
        reveal_best=reveal,
        search=SEARCH,
        seed=None,
        populations="derived",
    )
    return started(nodes, agreed, folder)


def started(nodes: LocalCluster, agreed: AgreedCluster, folder: Path) -> AgreedCluster:
    """Give the nodes their inputs, and write the folder of a run that has not begun."""
    sealed = agreed.sealed()
    with SecureEngine(agreed.agreement, nodes.config) as engine:
        engine.start(agreed.signatures, sealed)
    folder.mkdir()
    owners = len(agreed.keys)
    manifests = [rows.manifest for rows in sealed]
    stored = Stored(
        canonical(agreed.agreement),
        agreed.signatures,
        {k: manifests[k * owners :][:owners] for k in range(len(sealed) // owners)},
        str(nodes.folder / "cluster.toml"),
    )
    (folder / "agreed").write_bytes(msgspec.msgpack.encode(stored))
    return agreed


def in_a_process(folder: Path, seconds: float) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.runs.agreed_process", str(folder), str(seconds)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return process


def finish(folder: Path) -> tuple[StopReason, Result]:
    with open_run(folder) as run:
        reason = drive(run, until=time.monotonic() + AMPLE)
        timing = Timing(0.0, 0.0, [])
        return reason, summarize(
            run.problem, run.outcome(), reason, timing, engine=run.engine, optimum=None
        )


def followed(agreed: AgreedCluster, folder: Path, evaluations: int = EVALUATIONS) -> None:
    """The logs of all nodes show the agreed search, and the ledger tells what they sent."""
    logs = [agreed.log(node) for node in range(3)]
    ledger = load_ledger(folder / "ledger.jsonl")
    for log in logs:
        assert replay(agreed.agreement, log, ledger).complete
    answers = check_answers(agreed.agreement, logs, ledger)
    assert answers.of(DisclosureKind.LABELS).counts == (evaluations, 0)
    assert not answers.unproven


@pytest.mark.parametrize("best", ["value", "improvement"])
def test_a_run_that_is_killed_again_and_again_ends_as_if_it_never_was(
    cluster: LocalCluster, tmp_path: Path, best: str
) -> None:
    agreed = prepared(cluster, tmp_path / "run", best=best, reveal=best == "value")
    chance = random.Random(5)
    for _ in range(2 if best == "improvement" else 1):
        process = in_a_process(tmp_path / "run", 60)
        time.sleep(chance.uniform(0.05, 0.25))
        process.kill()
        process.communicate()
    reason, result = finish(tmp_path / "run")
    assert (reason, result.evaluations) == (StopReason.EVALUATIONS, EVALUATIONS)
    assert result.notes == []
    ledger = load_ledger(tmp_path / "run" / LEDGER)
    numbers = [entry.number for entry in evaluations_in(ledger)]
    assert numbers == list(range(1, EVALUATIONS + 1))
    followed(agreed, tmp_path / "run")


def finish_in_parts(folder: Path, parts: int) -> None:
    """Some evaluations at a time, each part with a checkpoint in its middle."""
    for part in range(parts):
        with open_run(folder) as run:
            search_up_to(run, 20 * part + 10)
            run.checkpoint()
            search_up_to(run, 20 * part + 20)


def simulated(agreed: AgreedCluster, folder: Path) -> Result:
    """The same search by an evaluator that knows the weights."""
    with open_run(folder) as run:
        seed = run.seed
    return solve(
        agreed.problem,
        settings=agreed_parameters(agreed.agreement),
        seed=seed,
        limits=Limits(evaluations=EVALUATIONS),
        engine="simulated",
    )


@pytest.mark.parametrize("damage", ["none", "one checkpoint", "both checkpoints", "torn ledger"])
def test_a_run_goes_on_from_whatever_is_left(
    cluster: LocalCluster, tmp_path: Path, damage: str
) -> None:
    folder = tmp_path / "run"
    agreed = prepared(cluster, folder, best="value")
    finish_in_parts(folder, 2)
    if damage == "one checkpoint":
        (folder / CHECKPOINTS[0]).write_bytes(b"nonsense")
    elif damage == "both checkpoints":
        for path in folder.glob("checkpoint*"):
            path.unlink()
    elif damage == "torn ledger":
        # As after a power cut at the platform: the nodes remember what it has forgotten.
        whole = (folder / LEDGER).read_bytes()
        (folder / LEDGER).write_bytes(b"".join(whole.splitlines(keepends=True)[:-1]) + b'{"obj')
    reason, result = finish(folder)
    assert (reason, result.evaluations) == (StopReason.EVALUATIONS, EVALUATIONS)
    expected = simulated(agreed, folder)
    assert (result.plan, result.history.disclosed_best) == (
        expected.plan,
        expected.history.disclosed_best,
    )
    followed(agreed, folder)


@pytest.mark.parametrize("lost", ["nothing", "the reveal", "the last checkpoints too"])
def test_a_run_that_died_after_the_final_reveal_ends_with_what_it_told(
    cluster: LocalCluster, tmp_path: Path, lost: str
) -> None:
    folder = tmp_path / "run"
    agreed = prepared(cluster, folder, best="value", reveal=True)
    with open_run(folder) as run:
        search_up_to(run, 20)
        run.checkpoint()
        reason = drive(run, until=time.monotonic() + AMPLE)
        first = run.plans()[0]
    if lost != "nothing":
        # The nodes have revealed it, and the platform died before it could write that down.
        lines = (folder / LEDGER).read_bytes().splitlines(keepends=True)
        (folder / LEDGER).write_bytes(b"".join(lines[:-1]))
    if lost == "the last checkpoints too":
        for path in folder.glob("checkpoint*"):
            path.unlink()
    with open_run(folder) as run:
        assert drive(run, until=time.monotonic() + AMPLE) is reason
        assert (run.plans()[0], run.notes) == (first, [])
        evaluations = run.now.evaluations
    followed(agreed, folder, evaluations)


def test_nothing_is_evaluated_after_the_final_reveal(cluster: LocalCluster, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    prepared(cluster, folder, best="value", reveal=True)
    with open_run(folder) as run:
        search_up_to(run, 10)
        run.start(until=time.monotonic() + AMPLE)
        run.finish(StopReason.DEADLINE)
        assert run.notes == []
        first = run.plans()[0]
    with open_run(folder) as run:
        assert drive(run, until=time.monotonic() + AMPLE) is StopReason.DEADLINE
        assert (run.now.evaluations, run.plans()[0], run.notes) == (10, first, [])


def test_a_ledger_of_another_search_is_refused(cluster: LocalCluster, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    prepared(cluster, folder, best="value")
    finish_in_parts(folder, 1)
    for path in folder.glob("checkpoint*"):
        path.unlink()
    lines = (folder / LEDGER).read_bytes().splitlines(keepends=True)
    (folder / LEDGER).write_bytes(b"".join([lines[1], lines[0], *lines[2:]]))
    with pytest.raises(LogError, match="not what the agreed search asks for"), open_run(folder):
        pass


@pytest.mark.parametrize("lost", ["the last answer", "a node's best so far"])
def test_where_a_best_is_kept_nothing_is_left_out(
    own_cluster: LocalCluster, tmp_path: Path, lost: str
) -> None:
    folder = tmp_path / "run"
    agreed = prepared(own_cluster, folder, best="improvement")
    finish_in_parts(folder, 1)
    if lost == "the last answer":
        lines = (folder / LEDGER).read_bytes().splitlines(keepends=True)
        (folder / LEDGER).write_bytes(b"".join(lines[:-1]))
    else:
        own_cluster.kill(1)
        name = folder_name(agreement_hash(agreed.agreement))
        store = Store(own_cluster.folder / "node-1.data" / name)
        store.encrypt_states(agreed.sealing_key(1))
        bests = decoder_of(list[StoredBest]).decode(store.load_state("best-0"))
        store.save_state("best-0", encode_stored(bests[:1]))
        own_cluster.restart(1)
    reason, result = finish(folder)
    assert (reason, result.evaluations) == (StopReason.EVALUATIONS, EVALUATIONS)
    expected = simulated(agreed, folder)
    assert result.history.disclosed_best == expected.history.disclosed_best
    followed(agreed, folder)
    repeats = [event.number for event in agreed.events(0, EvaluationRepeated)]
    assert repeats == [20]


def test_the_deadline_is_an_instant_that_holds_without_nodes_too(
    own_cluster: LocalCluster, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    prepared(own_cluster, folder, best="value")
    with open_run(folder) as run:
        search_up_to(run, 5)
        own_cluster.kill(2)
        with CpuWaits() as waits:
            until = time.monotonic() + 1.0
            assert drive(run, until=until) is StopReason.DEADLINE
            ended = time.monotonic()
        assert ended - until - waits.between(until, ended) < 0.5
        assert run.notes
        assert run.plans()


def test_a_replay_follows_numbers_that_were_left_out_and_caught_up_with(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    """As nodes log after a power cut, or when one was away while its peers were asked."""
    folder = tmp_path / "run"
    agreed = prepared(cluster, folder, best="value")
    finish_in_parts(folder, 1)
    log, ledger = agreed.log(0), load_ledger(folder / LEDGER)

    def changed(event: LogEvent) -> list[LogEvent]:
        if not isinstance(event, EvaluationBegun) or event.number < 7:
            return [event]
        if event.number == 7:
            # Asked for under 7, not answered, and asked for again under the next free number.
            return [event, replace(event, number=71)]
        return [replace(event, number=event.number + 64)]

    shifted = [new for event in log for new in changed(event)]
    told = [
        replace(each, attempt=Attempt.of(each.number + (64 if each.number >= 7 else 0), 1, 0))
        for each in ledger
    ]
    assert replay(agreed.agreement, shifted, told).complete
    other = [
        replace(event, request="00" * 32)
        if isinstance(event, EvaluationBegun) and event.number == 71
        else event
        for event in shifted
    ]
    assert replay(agreed.agreement, other, told).followed == 7

    away = [
        NumberAdopted(0, 5, event.request)
        if isinstance(event, EvaluationBegun) and event.number == 5
        else event
        for event in log
        if not (isinstance(event, Sent) and event.attempt.number == 5)
    ]
    assert replay(agreed.agreement, away, ledger).complete


OF_SEVERAL = 9
SEARCH_OF_SEVERAL = {"population": 10, "elites": 0, "reevaluate_parents": True, "tournament": 2}


def prepared_of_several(nodes: LocalCluster, folder: Path) -> AgreedCluster:
    made = generate_assignment(1, rows=6, objectives=2, participants=2)
    agreed = AgreedCluster.draft(
        nodes,
        with_disclosures(made, "pareto:quantiles:4", None),
        evaluations=OF_SEVERAL,
        distinct_min=1,
        pinned=PinnedSearch("nsga2", dict(SEARCH_OF_SEVERAL), None, "derived"),
    )
    agreed.agreement = with_front(agreed.agreement, "values")
    return started(nodes, agreed, folder)


def test_a_run_of_several_objectives_goes_on_from_its_files_and_is_proven(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    agreed = prepared_of_several(cluster, folder)
    with open_run(folder) as run:
        search_up_to(run, 3)
        run.checkpoint()
        search_up_to(run, 5)
    with open_run(folder) as run:
        assert run.now.evaluations == 5
        search_up_to(run, OF_SEVERAL)
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
        limits=Limits(evaluations=OF_SEVERAL),
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
    assert answers.of(DisclosureKind.LABELS).counts in ((OF_SEVERAL, 0), (OF_SEVERAL - 1, 1))
