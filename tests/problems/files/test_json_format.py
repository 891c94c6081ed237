"""The JSON format of problems, its errors and its document."""

import io
import json
import re
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.disclosure import BestMode, Top
from tacit.errors import FileError
from tacit.problems import (
    Assignment,
    Participant,
    Tour,
    generate_assignment,
    generate_tour,
    load_problem,
)
from tacit.problems.files.json_format import ObjectiveEntry, ProblemFile
from tacit.problems.files.load_and_save import problem_text

PAY: dict[str, object] = {"name": "pay", "weights": [[1, 9], [8, 3]]}
GOOD: dict[str, object] = {"format": "tacit-problem/1", "kind": "assignment", "objectives": [PAY]}
SQUARE = [[0, 0], [0, 3], [4, 3]]


def write(tmp_path: Path, content: object) -> Path:
    path = tmp_path / "p.json"
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_text(text, encoding="utf-8")
    return path


def objective(**changes: object) -> dict[str, object]:
    return GOOD | {"objectives": [PAY | changes]}


def tour(**fields: object) -> dict[str, object]:
    return {"format": "tacit-problem/1", "kind": "tour", "coordinates": SQUARE} | fields


def test_the_defaults(tmp_path: Path) -> None:
    problem = load_problem(write(tmp_path, GOOD))
    assert isinstance(problem, Assignment)
    assert (problem.name, problem.rows, problem.columns) == ("p", 2, 2)
    assert problem.participants == (Participant("owner", (0, 1)),)
    pay = problem.objectives[0]
    assert (pay.sense, pay.confidential, pay.disclosure.text) == ("maximize", True, "sealed")
    assert (pay.best_mode, pay.scale, pay.weight_bound) == (BestMode.NOTHING, 1, 9)


def test_all_fields(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "cost.csv").write_text("id;x;y\nA;1.5;2\nB;3;4\n", encoding="utf-8")
    (tmp_path / "mask.csv").write_text("0,1\n0,0\n", encoding="utf-8")
    np.save(tmp_path / "value.npy", np.array([[5, 6], [7, 8]]))
    problem = load_problem(
        write(
            tmp_path,
            {
                "format": "tacit-problem/1",
                "kind": "assignment",
                "name": "all of it",
                "source": "by hand",
                "rows": 2,
                "columns": 2,
                "participants": [{"name": "n", "rows": [1]}, {"name": "s", "rows": [0]}],
                "forbidden": {"file": "mask.csv"},
                "objectives": [
                    {
                        "name": "cost",
                        "sense": "minimize",
                        "disclosure": "top:15",
                        "best": "nothing",
                        "scale": 10,
                        "weight_bound": 4.5,
                        "weights": {"file": "data/cost.csv", "header": True},
                    },
                    {"name": "value", "confidential": False, "weights": {"file": "value.npy"}},
                    {"name": "theirs", "weight_bound": 100},
                ],
            },
        )
    )
    assert isinstance(problem, Assignment)
    cost, value, theirs = problem.objectives
    assert cost.weights is not None
    assert value.weights is not None
    assert (cost.weights.tolist(), cost.weight_bound) == ([[15, 20], [30, 40]], 45)
    assert (cost.disclosure, cost.best_mode) == (Top(15), BestMode.NOTHING)
    assert (value.weights.tolist(), value.confidential) == ([[5, 6], [7, 8]], False)
    assert (theirs.weights, theirs.weight_bound) == (None, 100)
    assert (problem.row_names, problem.column_names) == (("A", "B"), ("x", "y"))
    assert problem.forbidden is not None
    assert problem.forbidden.tolist() == [[False, True], [False, False]]
    assert (problem.source, problem.participants[0]) == ("by hand", Participant("n", (1,)))


def test_decimals_are_taken_exactly_as_written(tmp_path: Path) -> None:
    text = json.dumps(objective(scale=100)).replace("[1, 9]", '[0.07, "1.10"]')
    found = load_problem(write(tmp_path, text)).objectives[0].weights
    assert found is not None
    assert found.tolist() == [[7, 110], [800, 300]]


def test_tours_from_coordinates(tmp_path: Path) -> None:
    problem = load_problem(write(tmp_path, tour(metric="EUC_2D", optimum=12)))
    assert isinstance(problem, Tour)
    length = problem.objectives[0]
    assert length.weights is not None
    assert (length.name, length.sense, length.weight_bound) == ("length", "minimize", 5)
    assert length.weights.tolist() == [[0, 3, 5], [3, 0, 4], [5, 4, 0]]
    assert problem.optimum == 12


def test_coordinates_without_a_metric_only_draw(tmp_path: Path) -> None:
    ways = {"name": "toll", "weights": [[0, 1, 2], [1, 0, 3], [2, 3, 0]]}
    problem = load_problem(write(tmp_path, tour(objectives=[ways])))
    assert isinstance(problem, Tour)
    assert problem.coordinates is not None
    both = load_problem(write(tmp_path, tour(objectives=[ways, {"name": "km"}], metric="GEO")))
    assert [o.weights is None for o in both.objectives] == [False, False]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "p.json: the file is empty; give a problem in JSON"),
        ('{"format": "tacit-problem/1",\n "kind" 3}', "p.json, line 2, column 9: broken JSON"),
        ('{"format": "tacit-problem/1"', "line 1, column 29: the JSON ends too early; close what"),
        ('{"format": "tacit-problem/1"} x', "line 1, column 31: broken JSON, trailing characters"),
        ("[]", "p.json: expected named fields, got a list; correct it, see docs/problem-format.md"),
        ({}, 'p.json, format: there is no format; write "format": "tacit-problem/1"'),
        ({"format": "tacit-problem/9"}, "has the format 'tacit-problem/9' of another version"),
        ({"format": "tacit-problem/1"}, "p.json: the field 'kind' is missing; add it, see"),
        (GOOD | {"kind": "knapsack"}, "kind: the kind 'knapsack' is unknown here; use one"),
        (GOOD | {"owner": 1}, "the field 'owner' is unknown; check its spelling or see docs"),
        (GOOD | {"two\nlines": 1}, "the field 'two\\nlines' is unknown"),
        (objective(wieghts=1), "objectives[0]: the field 'wieghts' is unknown; check its spelling"),
        (objective(weights=[[1, 2], [3, "x"]]), "objectives[0].weights[1][1]: this is not a num"),
        (objective(weights=[[1, 2], [3, True]]), "objectives[0].weights[1][1]: this is not a num"),
        (objective(weights=[[1, 2], [3, "NaN"]]), "objectives[0].weights[1][1]: NaN is not a fin"),
        (objective(weights=[[1, 2], [3]]), "objectives[0].weights[1]: has 1 weights where objec"),
        (objective(weights=[[1, 2], [3, -4]]), "objectives[0].weights[1][1]: -4 is negative; sh"),
        (objective(weights=[[1, 2], [3, 1e20]]), "weights[1][1]: 1E+20 is above the largest wei"),
        (objective(weight_bound=8), "objectives[0].weights[0][1]: 9 is above the largest weight"),
        (objective(weights=[[1, 2.5]]), "weights[0][1]: 2.5 has more decimals than scale 1 keep"),
        (objective(weights=[[1, 2.5]]), "use scale 10 or round it"),
        (objective(weights=[]), "objectives[0].weights: the matrix is empty; give one list"),
        (objective(weights=[[]]), "objectives[0].weights: the matrix is empty; give one list"),
        (objective(weights=3), "[0].weights: expected named fields or a list or nothing, got"),
        (objective(weights=None), "p.json, objectives[0]: objective 'pay' has neither weights nor"),
        (objective(weights=None, weight_bound=9), "rows: the size is unknown without weights; add"),
        (objective(weights={"file": "w.csv"}), "w.csv: there is no such file; check the path"),
        (objective(weights={"file": "w.xls"}), "weights are not read from '.xls' files; save them"),
        (objective(scale=60), "objectives[0].scale: 60 is not a power of ten; use 1, 10, 100"),
        (objective(scale=0), "objectives[0].scale: 0 is not a power of ten; use 1, 10, 100 or so"),
        (objective(sense="up"), "objectives[0].sense: 'up' is not one of its values"),
        (objective(disclosure="median"), "objectives[0].disclosure: 'median' is not a disclosure"),
        (objective(best="all"), "objectives[0].best: 'all' is not a way to disclose the best"),
        (objective(weights=[[1], [2]]), "2 rows cannot each get one of 1 columns; swap rows"),
        (GOOD | {"rows": 3}, "p.json: 3 rows cannot each get one of 2 columns; swap rows and"),
        (GOOD | {"objectives": []}, "objectives: there is no objective; give at least one"),
        (objective(weights=None, weight_bound=1) | {"rows": 10**9, "columns": 10**9}, "is more "),
        (GOOD | {"rows": -1}, "the problem has no rows; give at least one"),
        (GOOD | {"objectives": [PAY, PAY]}, "two objectives share a name"),
        (GOOD | {"optimum": -1}, "optimum: -1 is negative"),
        (GOOD | {"objectives": [PAY, PAY], "optimum": 1}, "2 objectives have no single optimum"),
        (GOOD | {"participants": [{"name": "a", "rows": [0]}]}, "p.json: row 1 has no owner; add"),
        (
            GOOD | {"participants": [{"name": "a", "rows": [0, 1]}, {"name": "b", "rows": [1]}]},
            "p.json: row 1 belongs to 'a' and to 'b'; every row has one owner",
        ),
        (GOOD | {"forbidden": [[0, 2]]}, "forbidden[0]: there is no row 0, column 2 in a 2 x 2"),
        (GOOD | {"forbidden": [[0, 0], [0, 1]]}, "the forbidden pairs leave no way to give every"),
        (GOOD | {"forbidden": [[0]]}, "forbidden[0]: expected a list of length 2"),
        (GOOD | {"row_names": ["a", "a"]}, "p.json: the row name 'a' stands twice; name rows"),
        (GOOD | {"metric": "EUC_2D"}, "metric: only ways between places have it; remove"),
        (GOOD | {"coordinates": SQUARE}, "coordinates: only ways between places have it; remove"),
        (tour(coordinates=None, metric="ATT"), "metric: there are no coordinates to measure"),
        (tour(), "objectives: there is no objective; give at least one"),
        (tour(objectives=[{"name": "a", "weight_bound": 1}]), "rows: the size is unknown"),
        (tour(metric="MAN_2D"), "metric: 'MAN_2D' is not one of its values"),
        (tour(metric="ATT", forbidden=[[0, 1]]), "forbidden: a tour has no forbidden pairs"),
        (tour(metric="ATT", rows=4), "a tour needs a square matrix, this one is 4 x 3"),
        (tour(metric="ATT", objectives=[{"name": "a"}, {"name": "b"}]), "metric: 2 objectives"),
        (tour(coordinates=[[0, 0], [1e300, 0]]), "coordinates[1]: (1e+300, 0.0) is too far away"),
    ],
)  # fmt: skip
def test_bad_files_get_one_line(tmp_path: Path, content: Any, message: str) -> None:
    path = write(tmp_path, content)
    with pytest.raises(FileError) as caught:
        load_problem(path)
    line = str(caught.value)
    assert message in line
    assert line.startswith(str(tmp_path))
    assert "\n" not in line
    assert caught.value.remedy


def test_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_bytes(b'{\n"format": "\xe4"}')
    with pytest.raises(FileError, match="line 2: byte 0xe4 is not UTF-8; save the file as UTF-8"):
        load_problem(path)


def test_a_byte_order_mark_is_fine(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(GOOD).encode())
    assert load_problem(path).rows == 2


def test_matrices_whose_names_disagree_are_refused(tmp_path: Path) -> None:
    (tmp_path / "w.csv").write_text(",x,y\nB,1,2\nA,3,4\n", encoding="utf-8")
    content = objective(weights={"file": "w.csv"}) | {"row_names": ["A", "B"]}
    with pytest.raises(FileError, match=r"w.csv calls row 0 'B' where 'A' is expected; bring all"):
        load_problem(write(tmp_path, content))


def npy() -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.array([[1.5, 2], [3, 4]]))
    return buffer.getvalue()


WHOLE_FILES = {
    ".csv": b"id,a,b\nF1,1.5,2\nF2,3,4\n",
    ".npy": npy(),
    ".json": problem_text(generate_assignment(1, rows=2, participants=2)).encode(),
    ".tsp": b"DIMENSION: 3\nEDGE_WEIGHT_TYPE: GEO\nNODE_COORD_SECTION\n1 0 0\n2 3 4\n3 5 6\nEOF\n",
    ".atsp": b"DIMENSION: 2\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: FULL_MATRIX\n"
    b"EDGE_WEIGHT_SECTION\n0 1\n2 0\n",
    ".JSON": problem_text(generate_tour(1, cities=3)).encode(),
}

WORDS = b"-1 nan 1e999999999 1e9999999999 1e-400 null [] {} true 1.5 _SECTION : ; , \xff \0"
SHARDS = st.binary(max_size=4) | st.sampled_from([*WORDS.split(), b"9" * 30, b'"', b"\n", b"\t"])


@pytest.mark.parametrize("suffix", WHOLE_FILES)
@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 9), SHARDS), max_size=3))
def test_damaged_files(
    tmp_path_factory: pytest.TempPathFactory,
    suffix: str,
    damage: list[tuple[float, int, bytes]],
) -> None:
    content = bytearray(WHOLE_FILES[suffix])
    for where, length, shard in damage:
        start = int(where * len(content))
        content[start : start + length] = shard
    path = tmp_path_factory.mktemp("broken") / f"p{suffix}"
    path.write_bytes(content)
    told = None
    try:
        load_problem(path)
    except FileError as error:
        told = str(error)
    assert told is None or told.startswith(str(path))
    assert told is None or len(told.splitlines()) == 1


DOCUMENT = Path(__file__).parents[3] / "docs" / "problem-format.md"


def test_the_example_loads(tmp_path: Path) -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    example = re.search(r"```json\n(.*?)```", text, re.DOTALL)
    assert example is not None
    path = tmp_path / "flights.json"
    path.write_text(example[1], encoding="utf-8")
    problem = load_problem(path)
    assert isinstance(problem, Assignment)
    assert (problem.rows, problem.columns, len(problem.objectives)) == (3, 4, 2)
    assert [p.name for p in problem.participants] == ["Austrian", "Lufthansa"]
    cost = problem.objectives[0]
    assert (cost.disclosure.text, cost.weight_bound, cost.scale) == ("top:15", 9999, 100)
    assert problem.forbidden is not None
    assert problem.forbidden.sum() == 2


def test_the_routing_example_loads_and_its_plan_is_one(tmp_path: Path) -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    example = re.findall(r"```json\n(.*?)```", text, re.DOTALL)[1]
    (tmp_path / "vans.json").write_text(example, encoding="utf-8")
    plan = re.search(r"`\[(0, 1, 4, 0, 2, 3)\]`", text)
    assert plan is not None
    load_problem(tmp_path / "vans.json").check_plan([int(item) for item in plan[1].split(", ")])


def test_every_field_is_documented() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    for struct in (ProblemFile, ObjectiveEntry):
        for field in msgspec.structs.fields(struct):
            assert f"`{field.name}`" in text, field.name
