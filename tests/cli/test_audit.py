"""`tacit solve --record` and `tacit audit` as users run them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tacit.problems import generate_assignment, save_problem
from tests.conftest import RunTacit

QUICK = ("--set", "population=20", "--set", "elites=2", "--generations", "15")
pytestmark = pytest.mark.slow


@pytest.fixture
def problem(tmp_path: Path) -> Path:
    path = tmp_path / "ap.json"
    save_problem(generate_assignment(4, rows=8, participants=2), path)
    return path


@pytest.fixture
def record(run_here: RunTacit, problem: Path, tmp_path: Path) -> Path:
    path = tmp_path / "run.record"
    done = run_here("solve", problem, "--disclose", "top:5", *QUICK, "--record", path)
    assert done.returncode == 0, done.stderr
    return path


def test_an_audit_prints_one_table_and_draws(
    run_here: RunTacit,
    problem: Path,
    record: Path,
    tmp_path: Path,
) -> None:
    done = run_here("audit", record, "--truth", problem, "--plot", tmp_path / "growth.png")
    assert done.returncode == 0, done.stderr
    for word in ("plan only", "crafted populations", "tournaments", "inequations", "top:5"):
        assert word in done.stdout
    assert (tmp_path / "growth.png").stat().st_size > 1000


def test_an_audit_as_json(run_here: RunTacit, problem: Path, record: Path) -> None:
    done = run_here("audit", record, "--truth", problem, "--json")
    told = json.loads(done.stdout)
    assert (told["disclosure"], told["evaluations"]) == ("top:5", 16)
    assert {"correlation", "nrmse", "attacker_plan_quality", "attacks"} < set(told)
    headline = told["attacks"][told["strongest"]]
    assert told["attacker_plan_quality"] == headline["plan_quality"]


def test_of_a_sealed_run_there_is_the_plan_alone(
    run_here: RunTacit, problem: Path, tmp_path: Path
) -> None:
    path = tmp_path / "sealed.record"
    sealed = ("--disclose", "sealed", "--generations", "9", "--engine", "simulated")
    done = run_here("solve", problem, *sealed, "--record", path)
    assert done.returncode == 0, done.stderr
    done = run_here("audit", path, "--truth", problem, "--plot", tmp_path / "growth.png")
    assert done.returncode == 0, done.stderr
    assert "no evaluation was disclosed" in done.stdout
    assert "Nothing but the plan was disclosed" in done.stdout
    assert "pairwise" not in done.stdout
    told = json.loads(run_here("audit", path, "--truth", problem, "--json").stdout)
    assert list(told["attacks"]) == ["prior alone", "plan only"]
    assert told["correlation"] == told["attacks"]["plan only"]["correlation"]
    assert told["evaluations"] == 0


def test_mistakes_are_named(
    run_here: RunTacit,
    problem: Path,
    record: Path,
    tmp_path: Path,
) -> None:
    other = tmp_path / "other.csv"
    other.write_text("1,2\n3,4\n")
    for arguments, told in (
        (("audit", record, "--truth", other), "2 x 2 matrix and the record is of 8 x 8"),
        (("audit", problem, "--truth", problem), "not a record of a run"),
        (("audit", record, "--truth", problem, "--objective", "x"), "no objective 'x'"),
        (("audit", record, "--truth", problem, "--plot", tmp_path / "a.txt"), "a.txt"),
        (("solve", problem, *QUICK, "--record", record, "--resume", record), "leave out --resume"),
        (("solve", problem, "--algorithm", "exact", "--record", record), "nothing to record"),
        (("solve", problem, *QUICK, "--record", tmp_path / "no" / "r"), "there is no folder"),
    ):
        done = run_here(*arguments)
        assert done.returncode == 2
        assert told in done.stderr
        assert len(done.stderr.splitlines()) == 1
