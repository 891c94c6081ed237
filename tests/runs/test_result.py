"""Results: what is in them, in which unit, and how they are written."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit.errors import FileError, ParameterError
from tacit.problems import (
    Assignment,
    Objective,
    Problem,
    Tour,
    generate_assignment,
    generate_tour,
    shipped_problem,
)
from tacit.runs import Limits, SolveSettings, load_result
from tacit.runs.plots import plot_result
from tacit.search import SearchParameters
from tests.runs.flat import solve_with
from tests.support.pictures import colliding_ticks, drawn, texts_outside
from tests.support.simulated import solve


def test_a_result_says_what_was_solved_and_how(
    small_assignment: Assignment, small_search: SearchParameters
) -> None:
    result = solve_with(
        small_assignment, disclose="top:5", parameters=small_search, generations=9, seed=8
    )
    shown: dict[str, Any] = json.loads(result.to_json())
    assert shown["format"] == "tacit-result/1"
    assert shown["problem"] == {
        "name": small_assignment.name,
        "kind": "assignment",
        "rows": 12,
        "columns": 12,
    }
    assert shown["objectives"] == [
        {
            "name": "weight",
            "sense": "maximize",
            "confidential": True,
            "disclosure": "top:5",
            "best": "value",
            "scale": 1,
        }
    ]
    assert (shown["engine"], shown["algorithm"], shown["seed"]) == ("simulated", "genetic", 8)
    assert shown["parameters"]["population"] == 20
    assert (shown["generations"], shown["evaluations"]) == (9, 10)
    assert sorted(shown["plan"]) == list(range(12))
    assert len(shown["timing"]["generation_seconds"]) == 10
    small_assignment.check_plan(shown["plan"])


def test_without_timing_nothing_of_it_is_left(
    small_assignment: Assignment, small_search: SearchParameters
) -> None:
    result = solve(small_assignment, settings=small_search, limits=Limits(generations=2))
    assert json.loads(result.to_json(timing=False))["timing"] is None
    text = result.to_json(timing=False).decode()
    assert "seconds" not in text


@pytest.mark.parametrize("disclosure", ["none", "order", "buckets:4"])
def test_the_history_tells_what_was_told_estimated_and_actual(
    small_assignment: Assignment, small_search: SearchParameters, disclosure: str
) -> None:
    result = solve_with(
        small_assignment, disclose=disclosure, parameters=small_search, generations=15
    )
    history = result.history
    assert history.actual_best is not None
    assert history.actual_mean is not None
    columns = (history.disclosed_best, history.estimate, history.set_size, history.actual_best)
    assert {len(column) for column in columns} == {16}
    for told, estimate, best, mean in zip(
        history.disclosed_best,
        history.estimate,
        history.actual_best,
        history.actual_mean,
        strict=True,
    ):
        # The best individual is always in the estimated-best set, at the told value.
        assert told == best == [estimate]
        assert mean[0] <= best[0]
    last = result.estimated_best
    assert last.actual is not None
    assert history.set_size[-1] == len(last.plans)
    assert history.actual_mean[-1][0] == pytest.approx(np.mean([v[0] for v in last.actual]))
    weights = small_assignment.objectives[0].weights
    assert weights is not None
    for plan, value in zip(last.plans, last.actual, strict=True):
        assert value == [sum(int(weights[r, c]) for r, c in enumerate(plan))]


def test_costs_are_positive_and_unscaled(small_search: SearchParameters) -> None:
    weights = np.array([[150, 275], [100, 425]])
    cost = Objective("cost", weights, sense="minimize", scale=100)
    problem = Assignment(
        name="p",
        rows=2,
        columns=2,
        objectives=(cost,),
        row_names=("north", "south"),
        column_names=("a", "b"),
    )
    result = solve(problem, settings=small_search, limits=Limits(generations=3))
    assert result.plan == [1, 0]
    assert result.named_plan == [("north", "b"), ("south", "a")]
    assert result.value == [3.75]
    assert (result.optimum, result.percent_of_optimum) == (3.75, 100.0)
    assert result.history.disclosed_best[-1] == [3.75]
    assert result.history.estimate[-1] == 3.75
    assert json.loads(result.to_json())["named_plan"] == [["north", "b"], ["south", "a"]]


def test_a_shipped_tours_quality_is_told_against_its_known_optimum() -> None:
    result = solve(shipped_problem("kroD100"), limits=Limits(generations=3))
    assert result.optimum == 21294
    assert result.value is not None
    assert result.percent_of_optimum is not None
    assert result.percent_of_optimum == pytest.approx(100 * result.value[0] / 21294)
    assert result.percent_of_optimum > 100


def test_a_tours_legs_are_told_by_the_names_of_its_cities(small_search: SearchParameters) -> None:
    km = Objective("km", np.array([[0, 1, 5], [4, 0, 2], [3, 6, 0]]), sense="minimize")
    problem = Tour(
        name="t", rows=3, columns=3, objectives=(km,), row_names=("Linz", "Wien", "Graz")
    )
    result = solve(problem, settings=small_search, limits=Limits(generations=2))
    stops = [("Linz", "Wien", "Graz")[city] for city in result.plan]
    legs = list(zip(stops, stops[1:] + stops[:1], strict=True))
    assert result.named_plan == legs


def test_a_file_holds_the_same_bytes_and_one_line(
    small_assignment: Assignment, small_search: SearchParameters, tmp_path: Path
) -> None:
    result = solve(small_assignment, settings=small_search, limits=Limits(generations=2))
    file = tmp_path / "result.json"
    result.save(file)
    assert file.read_bytes() == result.to_json() + b"\n"


@pytest.mark.parametrize("best", ["value", "improvement", "nothing"])
@pytest.mark.parametrize("kind", ["assignment", "named", "tour", "two objectives", "exact"])
def test_a_saved_result_reads_back_as_it_was(tmp_path: Path, kind: str, best: str) -> None:
    problem: Problem = generate_assignment(3, rows=6, objectives=1 + (kind == "two objectives"))
    if kind == "named":
        problem = replace(problem, row_names=tuple("abcdef"), column_names=tuple("uvwxyz"))
    if kind == "tour":
        problem = generate_tour(3, cities=6)
    if kind == "exact":
        problem = replace(problem, objectives=(replace(problem.objectives[0], confidential=False),))
        result = solve(problem, settings=SolveSettings(algorithm="exact"))
    else:
        result = solve(problem, disclose="order", best=best, limits=Limits(generations=5))
    result.save(tmp_path / "result.json")
    loaded = load_result(tmp_path / "result.json")
    assert loaded == result
    loaded.save(tmp_path / "again.json")
    assert load_result(tmp_path / "again.json") == result


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"format": "tacit-result/1"}'])
def test_what_is_no_result_is_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "result.json"
    file.write_text(content)
    with pytest.raises(FileError, match=r"result\.json: is not a result .*; give a file of tacit"):
        load_result(file)


def test_a_place_that_cannot_be_written_is_named(
    small_assignment: Assignment, small_search: SearchParameters, tmp_path: Path
) -> None:
    result = solve(small_assignment, settings=small_search, limits=Limits(generations=0))
    with pytest.raises(FileError, match=r"cannot be written \(Is a directory\); choose another"):
        result.save(tmp_path)


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf", ".SVG"])
@pytest.mark.parametrize("objectives", [1, 2, 3])
@pytest.mark.slow
def test_plots_are_drawn(tmp_path: Path, suffix: str, objectives: int) -> None:
    problem = generate_assignment(1, rows=8, objectives=objectives)
    result = solve(problem, disclose="order", limits=Limits(generations=6))
    file = tmp_path / f"run{suffix}"
    plot_result(result, file)
    content = file.read_bytes()
    magic = {".png": b"\x89PNG\r\n", ".svg": b"<?xml", ".pdf": b"%PDF"}[suffix.lower()]
    assert content.startswith(magic)
    assert len(content) > 5000
    if suffix == ".svg":
        text = content.decode()
        # Two objectives get a second panel for the front.
        assert text.count('id="axes_') == (2 if objectives == 2 else 1)
        assert "line2d" in text


@pytest.mark.slow
def test_a_png_is_not_blank(tmp_path: Path) -> None:
    from matplotlib.image import imread

    file = tmp_path / "run.png"
    plot_result(
        solve(generate_assignment(1, rows=8, objectives=2), limits=Limits(generations=6)), file
    )
    pixels = imread(file)
    assert pixels.shape[0] > 300
    assert pixels.shape[1] > pixels.shape[0]
    assert len(np.unique(pixels.reshape(-1, pixels.shape[2]), axis=0)) > 50


@pytest.mark.slow
def test_nothing_of_a_plot_is_clipped_or_collides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures = drawn(monkeypatch)
    long_name = "the slots of the morning at an airport whose name is long, second draft of May"
    problem = replace(generate_assignment(1, rows=30), name=long_name)
    result = solve(problem, disclose="order", limits=Limits(generations=6))
    plot_result(result, tmp_path / "run.png")
    assert not texts_outside(figures[0])
    assert not colliding_ticks(figures[0])


@pytest.mark.parametrize("best", ["improvement", "nothing"])
@pytest.mark.slow
def test_plots_do_without_told_values(tmp_path: Path, best: str) -> None:
    result = solve_with(generate_assignment(1, rows=8), disclose="order", best=best, generations=6)
    plot_result(result, tmp_path / "run.svg")
    assert "best value disclosed" not in (tmp_path / "run.svg").read_text()


@pytest.mark.parametrize("name", ["run.txt", "run", "png"])
def test_plots_of_another_kind_are_refused(tmp_path: Path, name: str) -> None:
    result = solve(generate_assignment(1, rows=4), limits=Limits(generations=0))
    with pytest.raises(ParameterError, match=r"does not end in \.png, \.svg or \.pdf"):
        plot_result(result, tmp_path / name)


def test_a_plot_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    result = solve(generate_assignment(1, rows=4), limits=Limits(generations=0))
    with pytest.raises(FileError, match="cannot be written"):
        plot_result(result, tmp_path / "nowhere" / "run.png")


def test_a_plot_without_any_told_value_says_so() -> None:
    from matplotlib.figure import Figure

    from tacit.runs.plots import NOTHING_DISCLOSED, draw_convergence

    axes = Figure().subplots()
    result = solve_with(generate_assignment(1, rows=8), disclose="sealed", generations=6)
    draw_convergence(result, axes)
    assert [each.get_text() for each in axes.texts] == [NOTHING_DISCLOSED]
    assert not axes.lines
