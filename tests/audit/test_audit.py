from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np
import pytest

from tacit.audit import AuditReport, audit_record
from tacit.audit.audit import audit_of
from tacit.audit.recording import Recorder
from tacit.audit.view import view_of
from tacit.problems import generate_assignment, generate_capacitated, generate_tour
from tacit.runs import Limits
from tacit.search import SearchParameters
from tests.audit.example import example_problem, example_record, example_weights
from tests.support.simulated import solve

pytestmark = pytest.mark.slow

HONEST = {"plan only", "frequency", "pairwise", "pointwise", "anchor", "combination"}
OTHERS = {"known range", "known rows", "tournaments", "random populations",
          "crafted populations"}  # fmt: skip
KNOWING = {"prior alone", "low rank", "places", "random, low rank", "random, places", "first 2",
           "first 3", "first 10"}  # fmt: skip


def test_a_report_has_every_attack_and_one_headline() -> None:
    report = audit_record(example_record("top:5"), example_weights())
    assert set(report.attacks) == HONEST | OTHERS | KNOWING | {"regression"}
    assert report.prior == "range"
    assert all(each.gain == pytest.approx(each.correlation) for each in report.attacks.values())
    decoded = msgspec.json.decode(report.to_json())
    assert {"disclosure", "evaluations", "correlation", "nrmse", "attacker_plan_quality"} < set(
        decoded
    )
    assert decoded["correlation"] == decoded["attacks"][decoded["strongest"]]["correlation"]
    platform = [
        each["correlation"] for each in decoded["attacks"].values() if each["who"] == "platform"
    ]
    assert decoded["correlation"] == max(platform)
    assert [each["evaluations"] for each in decoded["growth"]] == [2, 3, 10, 30]
    assert msgspec.json.decode(report.to_json(), type=AuditReport) == report


def test_exact_values_give_everything_away() -> None:
    report = audit_record(example_record("none"), example_weights())
    assert report.strongest == "equations"
    assert report.correlation > 0.99
    assert report.attacker_plan_quality == 100
    assert report.counts["distinct"].equations > 0


def test_tours_and_costs() -> None:
    problem = generate_tour(5, cities=8)
    weights = problem.objectives[0].weights
    assert weights is not None
    record = example_record("order", problem=problem)
    report = audit_record(record, weights.astype(np.float64))
    assert report.correlation > 0.9
    # A cost is never below the best one.
    assert all(each.plan_quality >= 99.9 for each in report.attacks.values())


def test_sets_of_different_sizes_and_forbidden_cells() -> None:
    drawn = generate_assignment(3, rows=7, columns=9, participants=3)
    forbidden = np.zeros((7, 9), dtype=np.bool_)
    forbidden[0, :3] = True
    problem = replace(drawn, forbidden=forbidden)
    recorder = Recorder()
    result = solve(
        problem,
        disclose="quantiles:5",
        limits=Limits(generations=20),
        engine="simulated",
        observe=recorder,
        settings=SearchParameters(population=30, elites=2, tournament=3, reevaluate_parents=True),
    )
    record = recorder.record(result.plan)
    assert record.sizes == [30] + [60] * 20
    weights = problem.objectives[0].weights
    assert weights is not None
    audit = audit_of(record, weights.astype(np.float64))
    assert audit.known_rows == problem.participants[0].rows
    assert audit.honest()["pointwise"].correlation > 0.6
    assert audit.informed()["next population"].who == "node"


@pytest.mark.parametrize("count", [1, 7])
def test_a_view_can_be_cut(count: int) -> None:
    view = view_of(example_record("order"))
    cut = view.first(count)
    assert cut.evaluations == count
    assert len(cut.cells) == len(cut.levels) == 30 * count
    assert example_problem().rows == cut.cells.shape[1]


def test_several_objectives_are_audited_one_by_one() -> None:
    problem = generate_assignment(3, rows=6, objectives=2)
    recorder = Recorder()
    result = solve(
        problem,
        disclose="order",
        limits=Limits(generations=12),
        engine="simulated",
        observe=recorder,
    )
    record = recorder.record(result.plan)
    weights = problem.objectives[1].weights
    assert weights is not None
    report = audit_record(record, weights.astype(np.float64), objective=1)
    assert report.correlation > 0.9
    assert report.attacks["next population"].correlation < report.correlation


def test_a_disclosure_without_groups_says_nothing() -> None:
    report = audit_record(example_record("quantiles:1", best="nothing"), example_weights())
    assert report.attacks["pairwise"].correlation == 0
    assert report.correlation < 0.4


def test_a_single_evaluation_and_the_smallest_problems() -> None:
    for disclosure in ("none", "top:5"):
        audit_record(example_record(disclosure, generations=0), example_weights())
    tiny = generate_assignment(7, rows=2)
    weights = tiny.objectives[0].weights
    assert weights is not None
    report = audit_record(
        example_record("top:5", problem=tiny, generations=3), weights.astype(np.float64)
    )
    assert report.evaluations == 4


def test_a_capacitated_problem_with_a_forbidden_beginning_has_no_schedule() -> None:
    problem = generate_capacitated(3, rows=8, columns=4)
    forbidden = np.zeros((8, 4), dtype=np.bool_)
    forbidden[:5, 0] = True
    weights = problem.objectives[0].weights
    assert weights is not None
    record = example_record("top:5", problem=replace(problem, forbidden=forbidden), generations=4)
    report = audit_record(record, weights.astype(np.float64))
    assert report.prior == "range"
    assert "schedule" not in report.attacks
