"""What is saved is loaded back the same."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.disclosure import BestMode, parse_disclosure
from tacit.errors import FileError, ProblemError
from tacit.problems import (
    Assignment,
    Objective,
    Participant,
    Problem,
    Tour,
    generate_tour,
    load_problem,
    save_problem,
    with_usual_disclosures,
)
from tacit.problems.files.load_and_save import problem_text
from tacit.runs import with_disclosures

NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=10)


@st.composite
def objectives(draw: st.DrawFn, rows: int, columns: int) -> Any:
    found = []
    for i in range(draw(st.integers(1, 3))):
        rng = np.random.default_rng(draw(st.integers(0, 2**32)))
        bound = draw(st.integers(0, 10**9))
        here = draw(st.booleans())
        found.append(
            Objective(
                f"{i} {draw(NAMES)}",
                rng.integers(0, bound + 1, (rows, columns)) if here else None,
                sense=draw(st.sampled_from(["maximize", "minimize"])),
                confidential=draw(st.booleans()),
                disclosure=parse_disclosure(draw(st.sampled_from(["none", "order", "top:3"]))),
                best_mode=draw(st.sampled_from(BestMode)),
                scale=draw(st.sampled_from([1, 10, 10**4])),
                weight_bound=bound,
            )
        )
    return tuple(found)


@st.composite
def problems(draw: st.DrawFn) -> Any:
    rows = draw(st.integers(2, 5))
    is_tour = draw(st.booleans())
    columns = rows if is_tour else rows + draw(st.integers(0, 2))
    given_objectives = draw(objectives(rows, columns))
    cut = draw(st.integers(1, rows - 1))
    order = draw(st.permutations(range(rows)))
    owners = (Participant("a", tuple(order[:cut])), Participant("b", tuple(order[cut:])))
    names = st.none() | st.lists(NAMES, min_size=rows, max_size=rows, unique=True).map(tuple)
    common = {
        "name": draw(NAMES),
        "source": draw(st.none() | NAMES),
        "rows": rows,
        "columns": columns,
        "objectives": given_objectives,
        "participants": draw(st.sampled_from([(), owners])),
        "row_names": draw(names),
        "optimum": draw(st.none() | st.integers(0, 10**12)) if len(given_objectives) == 1 else None,
    }
    if is_tour:
        point = st.floats(-1e9, 1e9, allow_nan=False)
        places = st.lists(st.tuples(point, point), min_size=rows, max_size=rows)
        coordinates = draw(st.none() | places.map(np.array))
        return Tour(**common, coordinates=coordinates)
    mask = np.array(draw(st.lists(st.booleans(), min_size=columns, max_size=columns)))
    forbidden = np.zeros((rows, columns), dtype=np.bool_)
    forbidden[0] = mask & (np.arange(columns) != 1)
    return Assignment(**common, forbidden=draw(st.sampled_from([None, forbidden])))


def assert_same_array(a: Any, b: Any) -> None:
    assert (a is None) == (b is None)
    assert a is None or np.array_equal(a, b)


def assert_same(a: Problem, b: Problem) -> None:
    for name in ("kind", "name", "source", "rows", "columns", "participants", "row_names"):
        assert getattr(a, name) == getattr(b, name), name
    assert (a.column_names, a.optimum) == (b.column_names, b.optimum)
    for name in ("forbidden", "coordinates"):
        mine, other = getattr(a, name, None), getattr(b, name, None)
        assert_same_array(mine, other)
    assert len(a.objectives) == len(b.objectives)
    for x, y in zip(a.objectives, b.objectives, strict=True):
        for name in ("name", "sense", "confidential", "disclosure", "best_mode", "scale"):
            assert getattr(x, name) == getattr(y, name), name
        assert x.weight_bound == y.weight_bound
        assert_same_array(x.weights, y.weights)


@given(problems())
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, problem: Any) -> None:
    path = tmp_path_factory.mktemp("json") / "p.json"
    save_problem(problem, path)
    assert_same(load_problem(path), problem)


def test_distances_that_coordinates_give_are_not_written_out(tmp_path: Path) -> None:
    problem = generate_tour(3, cities=20, participants=2)
    assert '"weights"' not in problem_text(problem)
    assert '"metric": "EUC_2D"' in problem_text(problem)
    save_problem(problem, tmp_path / "t.json")
    assert_same(load_problem(tmp_path / "t.json"), with_usual_disclosures(problem))


def test_what_nobody_said_is_not_written_and_read_as_what_is_usual(tmp_path: Path) -> None:
    problem = generate_tour(3, cities=5)
    save_problem(problem, tmp_path / "t.json")
    assert "disclosure" not in (tmp_path / "t.json").read_text()
    assert [str(each.disclosure) for each in load_problem(tmp_path / "t.json").objectives] == [
        "sealed"
    ]


def test_what_cannot_be_saved(tmp_path: Path) -> None:
    odd = Objective("hours", np.array([[1, 2]]), scale=60)
    with pytest.raises(ProblemError, match="cannot be written with scale 60; use a power of ten"):
        problem_text(Assignment(name="p", rows=1, columns=2, objectives=(odd,)))
    with pytest.raises(FileError, match=r"cannot be written .*; choose another place"):
        save_problem(generate_tour(1, cities=2), tmp_path / "none" / "p.json")


@pytest.mark.parametrize("best", list(BestMode))
@pytest.mark.parametrize("beside", [True, False])
def test_what_was_said_of_the_best_stands_where_no_disclosure_was(
    best: BestMode, beside: bool, tmp_path: Path
) -> None:
    weights = np.arange(9).reshape(3, 3)
    said = Objective("a", weights, best_mode=best)
    public = (Objective("b", weights, confidential=False),) if beside else ()
    problem = Assignment(name="x", rows=3, columns=3, objectives=(said, *public))
    save_problem(problem, tmp_path / "x.json")
    read = load_problem(tmp_path / "x.json")
    meant = [with_disclosures(each, None, None).objectives[0] for each in (problem, read)]
    assert meant[0].disclosure == meant[1].disclosure
    assert meant[0].best_mode is meant[1].best_mode
