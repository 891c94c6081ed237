"""A truth of another problem, or of another day, is refused."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from tacit.audit.record import Record, decoded
from tacit.audit.truth_file import load_truth
from tacit.errors import InputError
from tacit.problems import Participant, Problem, generate_assignment, save_problem
from tests.audit.example import example_record

PROBLEM = replace(
    generate_assignment(7, rows=6, participants=3),
    row_names=tuple(f"F{i}" for i in range(6)),
    column_names=tuple(f"S{i}" for i in range(6)),
)


@cache
def recorded(disclosure: str, best: str = "value") -> Record:
    return decoded(example_record(disclosure, problem=PROBLEM, generations=4, best=best).encoded())


def saved(problem: Problem, folder: Path) -> str:
    path = folder / "truth.json"
    save_problem(problem, path)
    return str(path)


def other_weights() -> Problem:
    (pay,) = PROBLEM.objectives
    assert pay.weights is not None
    return replace(PROBLEM, objectives=(replace(pay, weights=pay.weights[::-1].copy()),))


@pytest.mark.parametrize("disclosure", ["none", "order", "quantiles:3", "buckets:4", "above:70"])
def test_the_weights_of_the_run_are_taken_and_others_are_not(
    disclosure: str, tmp_path: Path
) -> None:
    record = recorded(disclosure, "nothing")
    weights, _ = load_truth(saved(PROBLEM, tmp_path), record)
    assert np.array_equal(weights, PROBLEM.objectives[0].weights)  # type: ignore[arg-type]
    other = saved(other_weights(), tmp_path)
    with pytest.raises(InputError, match="evaluation 1 would have disclosed something else"):
        load_truth(other, record)
    load_truth(other, record, earlier=True)


def test_a_disclosed_best_alone_tells_that_weights_are_others(tmp_path: Path) -> None:
    record = recorded("top:30")  # all of them: nothing but the best is disclosed
    load_truth(saved(PROBLEM, tmp_path), record)
    with pytest.raises(InputError, match="would have disclosed something else"):
        load_truth(saved(other_weights(), tmp_path), record)


def test_what_is_public_must_be_the_same(tmp_path: Path) -> None:
    (pay,) = PROBLEM.objectives
    assert pay.weights is not None
    owners = (Participant("a", (0, 1, 2)), Participant("b", (3, 4, 5)))
    others = {
        "owners": replace(PROBLEM, participants=owners),
        "row names": replace(PROBLEM, row_names=tuple("abcdef")),
        "column names": replace(PROBLEM, column_names=tuple("abcdef")),
        "forbidden": replace(PROBLEM, forbidden=np.eye(6, dtype=np.bool_)),
        "weights times 10": replace(PROBLEM, objectives=(replace(pay, scale=10),)),
        "the record's bound is": replace(
            PROBLEM, objectives=(replace(pay, weights=pay.weights * 1000, weight_bound=-1),)
        ),
    }
    for said, problem in others.items():
        with pytest.raises(InputError, match=said):
            load_truth(saved(problem, tmp_path), recorded("order"))


def test_bare_numbers_are_scaled_like_the_record(tmp_path: Path) -> None:
    (pay,) = PROBLEM.objectives
    tenths = replace(PROBLEM, objectives=(replace(pay, scale=10),))
    record = example_record("order", problem=tenths, generations=2)
    assert pay.weights is not None
    path = tmp_path / "truth.csv"
    np.savetxt(path, pay.weights / 10, delimiter=",", fmt="%.1f")
    assert np.array_equal(load_truth(str(path), record)[0], pay.weights)
