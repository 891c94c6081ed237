"""`tacit instance` with capacitated assignments and routes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tacit.cli.instance import app
from tacit.disclosure import BestMode, Sealed
from tacit.problems import load_problem


@pytest.mark.parametrize(
    ("kind", "name", "told"),
    [("capacitated", "cap1K8x3", "capacities"), ("routing", "routing1K8v3", "demands")],
)
def test_problems_with_capacities_are_drawn_shown_checked_and_plotted(
    kind: str, name: str, told: str, tmp_path: Path
) -> None:
    runner, file = CliRunner(), tmp_path / f"{name}.json"
    made = runner.invoke(
        app, ["new", kind, "--size", "8x3", "--participants", "2", "--out", str(file)]
    )
    assert made.exit_code == 0, made.output
    assert load_problem(file).name == name
    shown = runner.invoke(app, ["show", str(file), "--plot", str(tmp_path / "p.png")])
    assert told in shown.output
    assert (tmp_path / "p.png").exists()
    described = json.loads(runner.invoke(app, ["show", str(file), "--json"]).output)
    assert described["data"] == load_problem(file).data
    assert (described["optimum"] is None) == (kind == "routing")
    checked = runner.invoke(app, ["check", str(file)])
    assert f"{kind} 8 x" in checked.output


@pytest.mark.parametrize("kind", ["ap", "moap", "tour", "delays", "sparse"])
def test_a_new_problem_discloses_its_plan_and_not_what_the_plan_is_worth(
    kind: str, tmp_path: Path
) -> None:
    file = tmp_path / "new.json"
    size = "8" if kind == "tour" else "8x8"
    made = CliRunner().invoke(app, ["new", kind, "--size", size, "--out", str(file)])
    assert made.exit_code == 0, made.output
    for objective in load_problem(file).objectives:
        assert isinstance(objective.disclosure, Sealed)
        assert objective.best_mode is BestMode.NOTHING
