"""Drafts from drawn and uploaded problems: the API takes them, and they hold nobody's weights."""

import io
import zipfile
from pathlib import Path

import pytest

from tacit.errors import FileError, ParameterError
from tacit.problems import Assignment, Objective, Participant, save_problem
from tacit.problems.files.csv_weights import read_csv_weights
from tacit.service.api.terms import RunTerms
from tacit.service.dashboard.drafts import (
    KINDS,
    Rules,
    costs_archive,
    drawn_problem,
    run_terms,
    uploaded_problem,
)

RULES = Rules("a run", "top:15", "improvement", 10.0, 500, 24.0, reveal_best=True)


@pytest.mark.parametrize("kind", KINDS)
def test_the_api_takes_the_terms_of_a_drawn_problem(kind: str) -> None:
    problem = drawn_problem(kind, rows=6, columns=9, participants=3, seed=4)
    terms = RunTerms.model_validate(run_terms(problem, RULES))
    assert (terms.problem.rows, terms.problem.kind) == (6, problem.kind)
    assert sorted(row for rows in terms.participants.values() for row in rows) == list(range(6))
    assert terms.objectives[0].weight_bound == problem.objectives[0].weight_bound
    assert (terms.reveal_best, terms.limits.evaluations) == (True, 500)


def test_costs_in_an_upload_go_no_further(tmp_path: Path) -> None:
    problem = drawn_problem("delays", rows=20, columns=30, participants=3, seed=4)
    save_problem(problem, tmp_path / "p.json")
    uploaded = uploaded_problem((tmp_path / "p.json").read_bytes())
    terms = run_terms(uploaded, RULES)
    assert terms == run_terms(problem, RULES)
    weights = problem.objectives[0].weights
    assert weights is not None
    secrets = {int(weight) for weight in weights.flat if 1000 < weight < 100_000}
    assert secrets
    assert not any(str(secret) in str(terms) for secret in secrets)


def test_files_beside_an_upload_cannot_be_reached(tmp_path: Path) -> None:
    (tmp_path / "w.csv").write_text("1,2\n3,4\n")
    text = (
        '{"format": "tacit-problem/1", "kind": "assignment", "objectives": '
        f'[{{"name": "c", "weights": {{"file": "{tmp_path / "w.csv"}"}}}}]}}'
    )
    with pytest.raises(ParameterError, match="refers to another file"):
        uploaded_problem(text.encode())


def test_a_broken_upload_is_told(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="format"):
        uploaded_problem(b"{}")


def test_names_that_only_accounts_confuse() -> None:
    cost = Objective("cost", None, weight_bound=9)
    owners = (Participant("a b", (0,)), Participant("a-b", (1,)))
    problem = Assignment(name="p", rows=2, columns=2, objectives=(cost,), participants=owners)
    with pytest.raises(ParameterError, match="rename one"):
        run_terms(problem, RULES)


def test_the_archive_has_a_file_for_each_participant(tmp_path: Path) -> None:
    problem = drawn_problem("ap", rows=5, columns=5, participants=2, seed=4)
    with zipfile.ZipFile(io.BytesIO(costs_archive(problem))) as archive:
        assert archive.namelist() == ["participant-1.csv", "participant-2.csv", "public.json"]
        archive.extractall(tmp_path)
    weights = problem.objectives[0].weights
    assert weights is not None
    assert read_csv_weights(tmp_path / "participant-2.csv").weights.tolist() == weights[3:].tolist()
