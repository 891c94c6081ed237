"""A platform, its workers and three nodes as real processes, through real HTTPS."""

from __future__ import annotations

import os
import signal
import time
from base64 import b64decode
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from studies.benchmarks.live_platform import ENDS, OPERATOR, LivePlatform

from tacit.agreement.terms import agreement_hash
from tacit.audit import load_record
from tacit.errors import WrongStateError
from tacit.problems import Problem, generate_capacitated, generate_routing
from tacit.records.ledger import read_ledger
from tacit.records.log import check_log
from tacit.service.workflow.evidence import record_run
from tacit.service.workflow.terms import terms_of_problem
from tacit.verify.replay import replay
from tests.on_nodes.entries import evaluations_in, labels_of
from tests.service.execution.punctual import answered_on_time, caught, finished

pytestmark = pytest.mark.processes

NAMES = ("north", "south")
TRIES = 20


def submitted(live: LivePlatform, **changes: Any) -> str:
    run_id = live.new_run(NAMES, **changes)
    for name in NAMES:
        live.sign(run_id, name)
    for name in NAMES:
        live.submit(run_id, name)
    return run_id


def followed(live: LivePlatform, run_id: str) -> int:
    """How many populations the nodes logged, all of them those of the agreed search."""
    agreement, nonce = live.agreement(run_id, "north"), os.urandom(16)
    answer = live.call("POST", f"/runs/{run_id}/logs", "north", json={"nonce": nonce.hex()})
    ledger = read_ledger(live.call("GET", f"/runs/{run_id}/ledger", "north"))
    found = None
    for each in answer["logs"]:
        entries = check_log(
            agreement,
            each["node"],
            b64decode(each["log"]),
            nonce=nonce,
            seconds=each["seconds"],
            signature=bytes.fromhex(each["signature"]),
        )
        found = replay(agreement, entries, ledger)
        assert found.complete
    assert found is not None
    return found.generations


def check_record(live: LivePlatform, run_id: str, result: dict[str, Any]) -> None:
    """The platform's view can be had afterwards, also of a run that was taken up again."""
    record = load_record(record_run(live.settings, run_id))
    ledger = read_ledger(live.call("GET", f"/runs/{run_id}/ledger", "north"))
    told = evaluations_in(ledger)
    assert len(record.sizes) == len(told) >= result["evaluations"]
    disclosed = [value for entry in told for value in labels_of(entry)]
    assert record.disclosed_array(0).tolist() == disclosed
    assert record.published == result["plan"]["items"]
    assert record.published in record.plan_array().tolist()


def of(live: LivePlatform, run_id: str, who: str) -> dict[str, Any]:
    mine: list[dict[str, Any]] = live.call("GET", f"/runs/{run_id}/submission", who)
    return mine[0]


def poll(live: LivePlatform, fits: Callable[[], bool]) -> None:
    until = time.monotonic() + 120
    while not fits():
        assert time.monotonic() < until, live.last_lines()
        time.sleep(0.02)


def at_nodes(live: LivePlatform, run_id: str, what: str) -> list[Path]:
    """Files and folders that the nodes have of a run."""
    name = agreement_hash(live.agreement(run_id, "north")).hex()[:32]
    return list(live.clusters[0].folder.glob(f"node-*.data/{name}{what}"))


def wait_until_deleted(live: LivePlatform, run_id: str) -> None:
    """Wait until no node has a box of a run any more, which comes after its sealing key."""
    poll(live, lambda: not at_nodes(live, run_id, "/inputs/*"))


def wait_for_a_plan(live: LivePlatform, run_id: str) -> None:
    """Wait until a run that is running has evaluated something."""
    while not (live.wait(run_id, "running")["progress"] or {}).get("evaluations"):
        time.sleep(0.02)


def was_cut_off(live: LivePlatform, run_id: str) -> bool:
    """Whether a run was answered from an earlier report, since its worker had no core."""
    said = (line for line in live.log().splitlines() if "answered from the last report" in line)
    return any(run_id in line for line in said)


@pytest.mark.parametrize(
    "problem",
    [
        generate_capacitated(4, rows=12, columns=5),
        generate_routing(4, places=9, vehicles=3),
    ],
    ids=["capacitated", "routing"],
)
def test_the_platform_runs_every_kind_of_problem(live: LivePlatform, problem: Problem) -> None:
    owned = {"north": range(0, problem.rows, 2), "south": range(1, problem.rows, 2)}
    rules = {
        "name": "of every kind",
        "deadline_seconds": 1.0,
        "objectives": [{"disclosure": "top:5", "best": "value"}],
    }
    terms = msgspec.to_builtins(terms_of_problem(problem, owned, rules=rules))
    changes = {name: terms[name] for name in ("problem", "objectives", "participants")}
    run_id = live.new_run(NAMES, deadline=1.0, **changes)
    weights = problem.objectives[0].weights
    assert weights is not None
    for name in NAMES:
        live.sign(run_id, name)
    with answered_on_time() as hand_in:
        for name, rows in owned.items():
            live.submit(run_id, name, weights=weights[list(rows)])
        finished(live, run_id, hand_in)
    result = live.call("GET", f"/runs/{run_id}/result", "south")
    problem.check_plan(result["plan"]["items"])
    # The deadline may cut off the last evaluation, which the nodes have logged by then.
    behind = followed(live, run_id) - result["evaluations"]
    assert behind in (0, 1) or (behind > 1 and was_cut_off(live, run_id))
    check_record(live, run_id, result)
    wait_until_deleted(live, run_id)
    assert followed(live, run_id) >= result["evaluations"], "the logs stay"


def test_rows_out_of_range_are_refused_and_may_be_sealed_again(live: LivePlatform) -> None:
    run_id = live.new_run(NAMES, deadline=1.0)
    for name in NAMES:
        live.sign(run_id, name)
    agreement = live.agreement(run_id, "north")
    shape = (len(agreement.rows_of("north", 0)), agreement.problem.columns)
    live.submit(run_id, "south")
    live.submit(run_id, "north", weights=np.full(shape, 1001))
    poll(live, lambda: of(live, run_id, "north")["state"] == "refused")
    assert "outside 0..1000" in of(live, run_id, "north")["reason"]
    assert [each["state"] for each in live.call("GET", f"/runs/{run_id}/submission", "south")] == [
        "accepted"
    ]
    with answered_on_time() as hand_in:
        live.submit(run_id, "north")
        finished(live, run_id, hand_in)
    result = live.call("GET", f"/runs/{run_id}/result", "south")
    assert sorted(result["plan"]["items"]) == list(range(12))
    assert followed(live, run_id) >= result["evaluations"]
    lines = live.call("GET", f"/runs/{run_id}/progress.csv", "north").splitlines()[1:]
    generations = [int(line.partition(b",")[0]) for line in lines]
    # A worker that is killed may have written a line of which its report was not heard.
    assert generations == list(range(len(generations)))
    assert len(generations) > result["generation"]
    assert len(generations) == result["generation"] + 1 or was_cut_off(live, run_id)


def test_workers_stand_behind_the_platform(live: LivePlatform) -> None:
    run_id = submitted(live, deadline=300.0)
    poll(live, lambda: bool(live.workers()))
    assert live.process is not None
    main = os.getpriority(os.PRIO_PROCESS, live.process.pid)
    behind = min(10, 19 - main)

    def stand_behind() -> bool:
        return {os.getpriority(os.PRIO_PROCESS, each) - main for each in live.workers()} == {behind}

    poll(live, stand_behind)
    live.call("POST", f"/runs/{run_id}/cancel", OPERATOR, json={})


def test_a_stopped_worker_delays_no_answer(live: LivePlatform) -> None:
    with answered_on_time() as hand_in:
        run_id = caught(live, lambda deadline: submitted(live, deadline=deadline), 2.0)
        live.stop_workers()
        hand_in(live.wait(run_id, "finished"))
    assert live.call("GET", f"/runs/{run_id}/result", "north")["plan"] is not None
    # The answer is out before its worker is buried.
    poll(live, lambda: not live.workers())


def test_a_hanging_node_delays_no_answer_and_is_named(live: LivePlatform) -> None:
    with answered_on_time() as hand_in:
        for _ in range(TRIES):
            run = hand_in(run_with_a_hanging_node(live))
            if "node 1" in run["reason"]:
                return
    # A worker that has no core in its last moment cannot say why, but hardly so often.
    pytest.fail(run["reason"])


def run_with_a_hanging_node(live: LivePlatform) -> dict[str, Any]:
    run_id = caught(live, lambda deadline: submitted(live, deadline=deadline), 2.0)
    node = live.clusters[0].processes[1]
    node.send_signal(signal.SIGSTOP)
    try:
        return live.wait(run_id, "finished")
    finally:
        node.send_signal(signal.SIGCONT)


def test_a_run_outlives_the_platform_and_goes_on_as_agreed(live: LivePlatform) -> None:
    waiting = live.new_run(NAMES, deadline=2.0)
    live.sign(waiting, "north")

    def begun(deadline: float) -> str:
        return submitted(live, deadline=deadline, best="improvement")

    run_id = caught(live, begun, 110.0, least=4)
    before, workers = live.run(run_id), live.workers()
    assert workers
    live.kill()
    poll(live, lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))
    live.start()
    far = before["progress"]["evaluations"] + 1
    poll(live, lambda: live.run(run_id)["progress"]["evaluations"] > far)
    assert live.run(run_id)["deadline_at"] == before["deadline_at"]
    live.call("POST", f"/runs/{run_id}/cancel", OPERATOR, json={})
    after = live.call("GET", f"/runs/{run_id}/result", "north")
    assert after["evaluations"] > far
    assert followed(live, run_id) >= after["evaluations"]
    check_record(live, run_id, after)
    live.sign(waiting, "south")
    assert live.run(waiting)["state"] == "agreed"


def test_what_was_due_while_the_platform_was_away_is_answered_at_its_start(
    live: LivePlatform,
) -> None:
    run_id = caught(live, lambda deadline: submitted(live, deadline=deadline), 2.0)
    due = live.run(run_id)["deadline_at"]
    live.kill()
    time.sleep(max(0.0, due - time.time()))
    live.start()
    run = live.wait(run_id, "finished")
    assert run["reason"].startswith("the deadline came")
    result = live.call("GET", f"/runs/{run_id}/result", "north")
    assert result["plan"] is not None
    assert result["late_by_seconds"] > 0.5, "nobody was there to answer"
    check_record(live, run_id, result)


def wait_until_missed(live: LivePlatform, node: int) -> None:
    """The platform notices that a node is gone, and knows when it was there last."""

    def seen() -> dict[str, Any]:
        found: dict[str, Any] = live.call("GET", "/clusters", OPERATOR)[0]["nodes"][node]
        return found

    poll(live, lambda: not seen()["reachable"])
    assert seen()["last_seen"] is not None
    assert 0 < time.time() - seen()["last_seen"] < 300


def test_a_killed_node_delays_no_answer_and_a_run_waits_for_it(live: LivePlatform) -> None:
    waiting = live.new_run(NAMES, deadline=1.0)
    with answered_on_time() as hand_in:
        run_id = caught(live, lambda deadline: submitted(live, deadline=deadline), 2.0)
        live.clusters[0].kill(2)
        for name in NAMES:
            live.sign(waiting, name)
        for name in NAMES:
            live.submit(waiting, name)
        run = hand_in(live.wait(run_id, "finished"))
        assert live.run(waiting)["state"] == "agreed"
        assert run["progress"]["at"] < run["ended"] + 0.001  # which is rounded
        wait_until_missed(live, 2)
        live.clusters[0].restart(2)
        finished(live, waiting, hand_in)


def test_a_full_node_is_waited_for_and_no_participant_is_blamed(live: LivePlatform) -> None:
    run_id = live.new_run(NAMES, deadline=1.0)
    for name in NAMES:
        live.sign(run_id, name)
    config = live.clusters[0].folder / "node-0.toml"
    as_before = config.read_text()
    poll(live, lambda: len(at_nodes(live, run_id, "")) == 3)
    live.clusters[0].kill(0)
    config.write_text("most_megabytes = 0\n" + as_before)
    live.clusters[0].restart(0)
    for name in NAMES:
        live.submit(run_id, name)
    refusals = live.clusters[0].folder / "node-0.data" / "log.jsonl"
    poll(live, lambda: "most_megabytes allows" in refusals.read_text())
    time.sleep(0.3)
    assert live.run(run_id)["state"] == "agreed"
    assert {of(live, run_id, name)["state"] for name in NAMES} <= {"waiting", "accepted"}
    live.clusters[0].kill(0)
    config.write_text(as_before)
    live.clusters[0].restart(0)
    finished(live, run_id)


def test_a_run_cancelled_before_all_have_signed_has_no_logs_and_nobody_failed(
    live: LivePlatform,
) -> None:
    run_id = live.new_run(NAMES)
    live.sign(run_id, "north")
    live.call("POST", f"/runs/{run_id}/cancel", OPERATOR, json={})
    with (
        live.client("north") as north,
        pytest.raises(WrongStateError, match="cancelled before everybody had signed, so no node"),
    ):
        north.runs.logs(run_id, bytes(16))
    agreed = live.new_run(NAMES)
    for name in NAMES:
        live.sign(agreed, name)
    with live.client("north") as north:
        # The nodes have it by now.
        assert len(north.runs.logs(agreed, bytes(16), heads_only=True).logs) == 3
        live.call("POST", f"/runs/{agreed}/cancel", OPERATOR, json={})
        assert len(north.runs.logs(agreed, bytes(16)).logs) == 3


def test_a_run_cancelled_while_nodes_get_it_has_logs_or_says_that_nothing_was_computed(
    live: LivePlatform,
) -> None:
    """Nodes that are told of its end first give their keys back, and take it no more."""
    for _ in range(5):
        run_id = live.new_run(NAMES)
        for name in NAMES:
            live.sign(run_id, name)
        live.call("POST", f"/runs/{run_id}/cancel", OPERATOR, json={})
        with live.client("north") as north, suppress(WrongStateError):
            assert len(north.runs.logs(run_id, bytes(16)).logs) == 3


def test_cancelling_keeps_the_best_so_far_and_frees_the_slot(live: LivePlatform) -> None:
    runs = [submitted(live, deadline=300.0) for _ in range(3)]

    def running() -> list[str]:
        return [run_id for run_id in runs if live.run(run_id)["state"] == "running"]

    # Nodes accept inputs in any order, so any two of the runs may come first.
    poll(live, lambda: len(running()) == 2)
    first = running()
    (waiting,) = set(runs) - set(first)
    for run_id in first:
        wait_for_a_plan(live, run_id)
    assert live.wait(waiting, "submitted")["running_since"] is None
    assert live.run(waiting)["state"] == "submitted"
    live.call("POST", f"/runs/{first[0]}/cancel", OPERATOR, json={"reason": "no longer needed"})
    assert live.run(first[0])["state"] == "cancelled"
    assert live.call("GET", f"/runs/{first[0]}/result", "north")["plan"] is not None
    live.wait(waiting, "running")
    for run_id in (first[1], waiting):
        live.call("POST", f"/runs/{run_id}/cancel", OPERATOR, json={})
    assert {live.run(run_id)["state"] for run_id in runs} <= set(ENDS)
    for run_id in runs:
        wait_until_deleted(live, run_id)
