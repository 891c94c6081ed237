"""Records and audits of kinds whose plans are not one column per row, each its own."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np
import pytest

from tacit.audit.leakage_table import expected_leakage
from tacit.audit.measure import Truth
from tacit.audit.node_attacks import replayed_search
from tacit.audit.record import Record, decoded
from tacit.audit.recording import Recorder
from tacit.audit.view import view_of
from tacit.errors import InputError
from tacit.problems import Problem, generate_capacitated, generate_routing
from tacit.runs import Limits
from tests.support.simulated import solve

PROBLEMS: dict[str, Callable[[], Problem]] = {
    "capacitated": lambda: generate_capacitated(3, rows=8, columns=3, participants=2),
    "routing": lambda: generate_routing(3, places=8, vehicles=3, participants=2),
}


def recorded(problem: Problem) -> Record:
    recorder = Recorder()
    result = solve(
        problem, disclose="top:15", observe=recorder, limits=Limits(generations=3), seed=1
    )
    return decoded(recorder.record(result.plan).encoded())


@pytest.mark.parametrize("kind", PROBLEMS)
def test_a_record_knows_the_cells_of_its_plans(kind: str) -> None:
    problem = PROBLEMS[kind]()
    record, weights = recorded(problem), problem.objectives[0].weights
    assert weights is not None
    view = view_of(record)
    assert record.problem.known.data == problem.data
    sums = weights.ravel()[view.cells].sum(axis=1)
    assert np.array_equal(sums, problem.sums(weights, view.plans))
    assert replayed_search(view) is None


@pytest.mark.parametrize("kind", PROBLEMS)
def test_whoever_knows_everything_scores_everything(kind: str) -> None:
    problem = PROBLEMS[kind]()
    record, objective = recorded(problem), problem.objectives[0]
    assert objective.weights is not None
    values = (objective.sign * objective.weights).astype(np.float64)
    score = Truth(record.problem, values, sign=objective.sign).score(values.ravel())
    assert score.correlation == pytest.approx(1.0)
    assert score.plan_quality == pytest.approx(100.0)
    record.problem.known.check_plan(record.problem.known.good_plan(values).tolist())


def test_records_of_unknown_kinds_and_overloaded_vehicles_are_refused() -> None:
    record = recorded(PROBLEMS["routing"]())
    for changes, why in (
        ({"kind": "knapsack"}, "the kind 'knapsack' is unknown here"),
        ({"data": {**msgspec.to_builtins(record.problem)["data"], "capacities": [200, 1, 1]}},
         "loads a vehicle|not plans of its problem"),
    ):  # fmt: skip
        problem = msgspec.structs.replace(record.problem, **changes)
        with pytest.raises(InputError, match=why):
            decoded(msgspec.structs.replace(record, problem=problem).encoded())


def test_what_was_not_measured_is_read_off_from_the_nearest_kind() -> None:
    told = {
        kind: expected_leakage(
            "top:15", kind=kind, rows=100, columns=100, population=300, evaluations=300
        )
        for kind in ("assignment", "tour", "capacitated", "routing")
    }
    assert told["capacitated"].measured_kind == "assignment"
    assert told["routing"].honest == told["tour"].honest
    assert told["tour"].measured_kind is None
