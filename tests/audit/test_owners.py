"""A plan for its owners: what the platform sees tells nothing, and owners little of others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tacit.agreement.plan_parts import SealedParts, commitment
from tacit.audit import audit_of, audit_record, explain_leakage, load_record, sealed_record
from tacit.audit.explanation import BY_EXCLUSION
from tacit.audit.measure import Truth
from tacit.audit.opened_plans import from_own_rows
from tacit.audit.recording import record_of_plans, recorded_problem
from tacit.problems import Problem, generate_assignment, optimum
from tacit.runs import Limits, with_disclosures
from tests.conftest import RunTacit
from tests.on_nodes.owners_cast import OwnersCast, owners_cast
from tests.on_nodes.sealed_agreed_cluster import symmetric_tour
from tests.support.simulated import solve

NEGLIGIBLE = 0.02
"""What the audit of the platform's view may find."""


def sealed_problem(rows: int, columns: int, *, seed: int = 1) -> Problem:
    return with_disclosures(
        generate_assignment(seed, rows=rows, columns=columns, participants=3), "sealed", None
    )


def weights_of(problem: Problem) -> NDArray[np.float64]:
    weights = problem.objectives[0].weights
    assert weights is not None
    return weights.astype(np.float64)


def best_plan(problem: Problem) -> list[int]:
    found = optimum(problem)
    assert found is not None
    assert found.plan is not None
    return [int(column) for column in found.plan]


def test_an_audit_finds_nothing_where_a_plan_alone_tells_something() -> None:
    problem = sealed_problem(12, 12)
    result = solve(problem, limits=Limits(generations=200), engine="simulated")
    for best in (None, "value"):
        told = with_disclosures(problem, "sealed", best)
        record = sealed_record(told, result, for_owners=True)
        report = audit_record(record, weights_of(problem))
        assert (report.strongest, report.correlation) == ("no plan", 0.0)
    open_to_all = audit_record(sealed_record(problem, result), weights_of(problem))
    assert open_to_all.correlation > 0.2


def test_a_record_of_it_is_written_and_read_without_a_plan(
    run_here: RunTacit, tmp_path: Path
) -> None:
    run_here("instance", "new", "ap", "--size", "8", "--out", tmp_path / "ap.json")
    record = tmp_path / "run.record"
    options = ("--disclose", "sealed", "--plan", "owners", "--engine", "simulated")
    done = run_here(
        "solve", tmp_path / "ap.json", *options, "--generations", "20", "--record", record
    )
    assert done.returncode == 0, done.stderr
    assert load_record(record).published == []
    shown = run_here("audit", record, "--truth", tmp_path / "ap.json").stdout
    assert "opened to its owners alone; the platform learned 0.00 of 1" in shown


# The same on what the platform really gets: all bytes of all boxes and commitments.


def rated_by_bytes(
    sealed: list[SealedParts | None], rows: int, columns: int
) -> NDArray[np.float64]:
    """Cells rated by the commitments to their rows, and by the boxes: two readings of the bytes."""
    found = []
    for each in sealed:
        assert each is not None
        words = [np.frombuffer(part, np.uint8).reshape(rows, 32) for part in each.commitments]
        found.append(np.resize(np.concatenate(words, axis=1), (rows, columns)))
        boxes = np.frombuffer(b"".join(each.boxes), np.uint8)
        found.append(np.resize(boxes, (rows, columns)))
    return np.array(found, dtype=np.float64)


def test_the_bytes_of_boxes_and_commitments_tell_nothing() -> None:
    problem = sealed_problem(40, 40)
    cast = owners_cast(problem=problem, plan=best_plan(problem))
    record = record_of_plans(problem, [], search={})
    audit = audit_of(record, weights_of(problem))
    scores = [
        audit.truth.score(estimate.ravel()).correlation
        for _ in range(8)
        for estimate in rated_by_bytes(cast.sealed(), 40, 40)
    ]
    # Chance alone is 1/40 for each of these 48, and a sixth of that for their mean.
    assert abs(float(np.mean(scores))) < NEGLIGIBLE
    assert max(map(abs, scores)) < 5 / 40


def test_the_audit_notices_commitments_that_can_be_guessed() -> None:
    """Weakened: hashes of the columns themselves, without a nonce, are tried one by one."""
    problem = sealed_problem(40, 40)
    cast = owners_cast(problem=problem, plan=best_plan(problem))
    context, columns = cast.context.digest, range(40)

    def guessed(nonce: bytes) -> list[int]:
        made = [
            commitment(context, row, 0, nonce, bytes([column]))
            for row, column in enumerate(cast.plan)
        ]
        tried = {
            commitment(context, row, 0, b"", bytes([column])): column
            for row in range(40)
            for column in columns
        }
        return [tried.get(each, -1) for each in made]

    def found(plan: list[int]) -> float:
        plans = [plan] if min(plan) >= 0 else []
        record = record_of_plans(problem, plans, search={})
        return audit_record(record, weights_of(problem)).correlation

    assert found(guessed(b"")) > 10 * NEGLIGIBLE
    assert found(guessed(b"sixteen bytes ok")) < NEGLIGIBLE


# What owners learn of each other.


def by_exclusion(problem: Problem, known: tuple[int, ...]) -> float:
    """The best that those who own some rows make of their part of an optimal plan."""
    plan = best_plan(problem)
    weights = weights_of(problem)
    truth = Truth(recorded_problem(problem), weights, 1, known_rows=known)
    estimates = from_own_rows(weights, {row: plan[row] for row in known})
    return max(truth.score(each).correlation for each in estimates.values())


@pytest.mark.parametrize(("rows", "columns"), [(30, 30), (30, 60)])
def test_owners_learn_little_of_the_others_costs(rows: int, columns: int) -> None:
    found = []
    for seed in range(6):
        problem = sealed_problem(rows, columns, seed=seed)
        *others, last = problem.participants
        assert len(others) == 2
        together = tuple(row for each in others for row in each.rows)
        found += [by_exclusion(problem, others[0].rows), by_exclusion(problem, together)]
        assert set(last.rows).isdisjoint(together)
    most = 0.0 if rows == columns else 2 * BY_EXCLUSION
    assert float(np.mean(found)) <= most + 1e-9


def said_of(cast: OwnersCast) -> str:
    (said,) = explain_leakage(cast.agreement)
    return said


def test_the_words_before_signing_say_so() -> None:
    said = said_of(owners_cast())
    assert "a curious platform learns nothing of your values from it (0.00 on a scale" in said
    assert f"told at most {BY_EXCLUSION:.2f} where it was measured" in said
    tour = said_of(owners_cast(problem=symmetric_tour(), plan=[*range(12)]))
    assert "Every participant learns the plan, which tells it about 0." in tour
    assert "learns nothing of your costs from it (0.00" in tour
