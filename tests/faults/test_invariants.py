"""That what must hold after a fault is noticed where it does not."""

from __future__ import annotations

import json
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from tacit.client import Plan, RunResult
from tacit.records.events import LogEvent, NodeLost, NodeNamed, RequestFailed, Sent
from tacit.records.ledger import DisclosureKind
from tacit.records.requests import Attempt
from tests.faults import invariants
from tests.faults.arena import Arena, Party
from tests.faults.faults import Fault, nothing
from tests.faults.runs import ROWS, Run
from tests.support.cpu_waits import CpuWaits

NODES = [Party(f"node {i}", cast(Any, None), Path()) for i in range(4)]


def fault(party: Party | None = None, **changes: Any) -> Fault:
    return Fault("a fault", nothing, nothing, 1.0, party, **changes)


def run_of(kind: str = "sealed", **changes: Any) -> Run:
    costs = np.random.default_rng(1).integers(0, 1000, (ROWS, ROWS))
    common = {"kind": kind, "id": "r-1", "state": "finished", "reason": "", "troubles": []}
    made = SimpleNamespace(**{**common, "result": None, "ended_at": 0.0, **changes})
    made.costs = lambda: costs
    return cast(Run, made)


def arena_of(log: Path = Path()) -> Arena:
    return cast(Arena, SimpleNamespace(log=log, nodes=NODES))


def test_a_run_that_is_lost_is_noticed() -> None:
    assert invariants.ended(run_of(), fault()) == []
    assert invariants.ended(run_of(state="failed", reason="of no fault"), fault())
    assert invariants.ended(run_of(troubles=["it hangs"]), fault())
    lost = run_of(state="failed", reason="node 1 refuses: its disk was set back")
    struck = fault(NODES[1], ends_runs=("set back",))
    assert invariants.ended(lost, struck) == []
    assert invariants.ended(lost, fault(NODES[2], ends_runs=("set back",)))


def test_a_late_answer_is_noticed_unless_there_was_no_platform(tmp_path: Path) -> None:
    log, now = tmp_path / "platform.log", time.time()
    line = {"message": "run ended", "run": "r-1", "at": now, "late_by": 3.0}
    log.write_text(json.dumps({"message": "request"}) + "\n" + json.dumps(line) + "\n")
    run, arena = run_of(), arena_of(log)
    with CpuWaits(time.time) as waits:
        pass
    late = invariants.punctual(run, arena, fault(), waits, (now - 4, now - 0.5))
    assert [each.split(", and")[0] for each in late] == ["its answer was 3.00 s late"]
    away = fault(stops_platform=True)
    assert invariants.punctual(run, arena, away, waits, (now - 4, now - 0.5)) == []
    assert invariants.punctual(run, arena, away, waits, (now - 9, now - 8))


def test_a_wrong_plan_is_noticed() -> None:
    costs = run_of().costs()
    best = linear_sum_assignment(costs)[1].tolist()
    value = float(costs[np.arange(ROWS), best].sum())

    def found(items: list[int], value: float, *, proved: bool) -> list[str]:
        plan = Plan(items=items, values=[value])
        result = RunResult(state="finished", reason=None, plan=plan, proved=proved)
        return invariants.right_plan(run_of(result=result), arena_of())

    worse = [best[1], best[0], *best[2:]]
    cost = float(costs[np.arange(ROWS), worse].sum())
    assert found(best, value, proved=True) == []
    assert found(worse, cost, proved=False) == []
    assert found(worse, cost, proved=True)
    assert found(worse, value, proved=False)
    assert found([best[0], *best[:-1]], value, proved=False)


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (NodeLost(epoch=2, node=1), False),
        (NodeLost(epoch=2, node=2), True),
        (NodeNamed(epoch=2, node=1, evidence=["00"]), True),
        (RequestFailed(request_kind="advance", peer="node 1", what="gone"), False),
        (RequestFailed(request_kind="x", peer="node 1", what="", voucher="node 2"), True),
        (RequestFailed(request_kind="x", peer="node 1", what="", evidence=["00"]), True),
    ],
)
def test_whoever_is_named_or_given_up_is_noticed(
    event: LogEvent, *, said: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(invariants, "logs_of", lambda run, arena: [(NODES[0], [event])])
    struck = fault(NODES[1], may_lose_node=True)
    assert bool(invariants.nobody_named(run_of(), arena_of(), struck)) is said


def test_a_second_plan_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def sent(attempt: str) -> Sent:
        return Sent(
            kind=DisclosureKind.PLAN,
            about=0,
            attempt=Attempt(attempt),
            request="",
            salt="",
            digest="",
        )

    class Client:
        runs = SimpleNamespace(ledger=lambda run: b"")

        def __enter__(self) -> Client:
            return self

        def __exit__(self, *_: object) -> None:
            """Nothing was opened."""

    arena = cast(Arena, SimpleNamespace(client=Client, nodes=NODES))
    other = [sent("5:1:0")]
    monkeypatch.setattr(
        invariants, "logs_of", lambda run, arena: [(NODES[0], [sent("5:1:0")]), (NODES[1], other)]
    )
    assert invariants.one_plan(run_of(), arena) == []
    other.append(sent("6:1:0"))
    assert invariants.one_plan(run_of(), arena)
