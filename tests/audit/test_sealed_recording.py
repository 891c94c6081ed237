"""A sealed run gives away what its plan gives away, and not a bit more."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from tacit.audit import Record, audit_record, sealed_record
from tacit.audit.record import decoded
from tacit.errors import InputError, ParameterError
from tacit.problems import generate_assignment
from tacit.runs import Limits, SolveSettings, with_disclosures
from tests.audit.example import example_problem, example_record, example_weights
from tests.support.simulated import solve


def sealed_run(engine: str = "simulated", best: str | None = None) -> Record:
    problem = with_disclosures(example_problem(), "sealed", best)
    result = solve(problem, limits=Limits(generations=20), engine=engine)
    return sealed_record(problem, result)


@pytest.mark.parametrize(
    "engine", ["simulated", pytest.param("nodes", marks=pytest.mark.processes)]
)
def test_an_audit_finds_what_the_plan_tells(engine: str) -> None:
    record = decoded(sealed_run(engine).encoded())
    assert (record.sizes, record.candidates, record.objectives[0].disclosed_best) == ([], 0, [])
    report = audit_record(record, example_weights())
    # The same by hand: the plan as a matrix of zeros and ones, both centred.
    plan, secret = np.zeros((6, 6)), example_weights()
    plan[np.arange(6), record.published] = 1
    secret = secret - secret.mean(axis=1, keepdims=True) - secret.mean(axis=0) + secret.mean()
    by_hand = np.corrcoef((plan - 1 / 6).ravel(), secret.ravel())[0, 1]
    assert report.correlation == pytest.approx(by_hand)
    assert list(report.attacks) == ["prior alone", "plan only"]
    assert report.attacks["prior alone"].correlation == 0
    assert (report.evaluations, report.disclosure, report.counts) == (0, "sealed", {})


@pytest.mark.slow
def test_the_baseline_is_that_of_any_run_with_the_same_plan() -> None:
    sealed = sealed_run()
    other = msgspec.structs.replace(example_record("top:5"), published=sealed.published)
    report = audit_record(other, example_weights())
    baseline = report.attacks["plan only"]
    assert audit_record(sealed, example_weights()).correlation == baseline.correlation
    assert report.correlation > baseline.correlation


def test_a_value_that_was_agreed_on_is_recorded_and_helps_nobody() -> None:
    plain = audit_record(sealed_run(), example_weights())
    value = sealed_run(best="value")
    total = example_weights()[np.arange(6), value.published].sum()
    assert value.objectives[0].disclosed_best == [total]
    assert audit_record(value, example_weights()).correlation == plain.correlation


def test_every_opened_plan_counts() -> None:
    problem = with_disclosures(generate_assignment(3, rows=6, objectives=2), "sealed", None)
    result = solve(
        problem,
        limits=Limits(generations=9),
        engine="simulated",
        settings=SolveSettings(weightings=[(1, 0), (0, 1)]),
    )
    record = decoded(sealed_record(problem, result).encoded())
    assert record.published_plans.tolist() == result.best_known.plans
    weights = problem.objectives[1].weights
    assert weights is not None
    assert 0 < audit_record(record, weights.astype(float), objective=1).correlation < 1


def test_records_that_are_not_of_a_sealed_run_are_refused() -> None:
    record = example_record("top:5")
    sealed = msgspec.structs.replace(record.objectives[0], disclosure="sealed")
    with pytest.raises(InputError, match="but has evaluations"):
        decoded(msgspec.structs.replace(record, objectives=[sealed]).encoded())
    empty = sealed_run()
    unsealed = msgspec.structs.replace(empty.objectives[0], disclosure="order")
    with pytest.raises(InputError, match="no evaluation"):
        decoded(msgspec.structs.replace(empty, objectives=[unsealed]).encoded())
    open_run = solve(
        example_problem(), disclose="order", limits=Limits(generations=1), engine="simulated"
    )
    with pytest.raises(ParameterError, match="was not sealed"):
        sealed_record(example_problem(), open_run)
