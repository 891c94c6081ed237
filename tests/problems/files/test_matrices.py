"""Weights from CSV and NumPy files."""

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import FileError
from tacit.problems import (
    Problem,
    generate_assignment,
    generate_delays,
    generate_tour,
    load_problem,
)
from tacit.problems.files.decimals import unscaled_text
from tacit.problems.files.load_and_save import save_participants
from tacit.problems.files.matrices import (
    cell_place,
    has_header,
    has_ids,
    read_csv_weights,
    read_mask,
    read_npy_weights,
)

NAMES = st.text(
    st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=8
).filter(lambda name: any(character.isalpha() for character in name) and name == name.strip())


@st.composite
def tables(draw: st.DrawFn) -> Any:
    rows, columns = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    weight = st.integers(0, 10**9)
    weights = draw(
        st.lists(st.lists(weight, min_size=columns, max_size=columns), min_size=rows, max_size=rows)
    )
    row_names = draw(st.none() | st.lists(NAMES, min_size=rows, max_size=rows))
    column_names = draw(st.none() | st.lists(NAMES, min_size=columns, max_size=columns))
    return weights, row_names, column_names


@given(
    tables(),
    st.sampled_from(",;\t"),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["utf-8", "utf-8-sig"]),
    st.sampled_from([1, 10, 1000]),
)
def test_round_trip(
    tmp_path_factory: pytest.TempPathFactory,
    table: Any,
    delimiter: str,
    newline: str,
    encoding: str,
    scale: int,
) -> None:
    weights, row_names, column_names = table
    text = io.StringIO()
    writer = csv.writer(
        text, delimiter=delimiter, lineterminator=newline, quoting=csv.QUOTE_MINIMAL
    )
    if column_names is not None:
        writer.writerow([""] * (row_names is not None) + column_names)
    for r, row in enumerate(weights):
        name = [] if row_names is None else [row_names[r]]
        writer.writerow(name + [unscaled_text(weight, scale) for weight in row])
    path = tmp_path_factory.mktemp("csv") / "w.csv"
    path.write_bytes(text.getvalue().encode(encoding))
    found = read_csv_weights(
        path,
        scale=scale,
        header=column_names is not None,
        ids=row_names is not None,
        limit=10**10,
    )
    assert found.weights.tolist() == weights
    assert found.row_names == (None if row_names is None else tuple(row_names))
    assert found.column_names == (None if column_names is None else tuple(column_names))


@pytest.mark.parametrize(
    ("text", "header", "ids"),
    [
        ("1,2,3|4,5,6", False, False),
        ("a,b,c|1,2,3|4,5,6", True, False),
        ("s1,s2,s3|1,2,3|2,5,6|3,8,9", True, False),
        (",s1,s2|1,2,3|2,5,6", True, True),
        ("id,s1,s2|1,2,3|2,5,6", True, True),
        ("flight,s1,s2|F1,2,3|F2,5,6", True, True),
        ("plane,s1,s2|17,2,3|12,5,6", True, True),
        ("plane,AMS,BRU|17,2,3|12,5,6", True, True),
        ("AMS,BRU,CDG|17,2,3|12,5,6", True, False),
        ("F1,2,3|F2,5,6", False, True),
        ("F1,1,2|F2,5,6", False, True),
        ("flight,1,2|F1,5,6|F2,7,8", True, True),
        (",0,1|0,5,6|1,7,8", True, True),
        ("row\\column,x,y long|3,5,6|9,7,8", True, True),
        ("slots|5", True, False),
        ("1,x,3|4,5,6", False, False),
        ("x,2,3|4,5,6", False, False),
        ("1,2,3|x,5,6", False, False),
        ("NaN,2,3|4,5,6", False, False),
    ],
)
def test_names_are_detected_where_cells_say_so(text: str, header: bool, ids: bool) -> None:
    cells = [line.split(",") for line in text.split("|")]
    assert has_header(cells) == header
    assert has_ids(cells, header=header) == ids


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,2\n3\n", "row 2: has 1 cells where row 1 has 2; give every row the same number"),
        ("1,2\n\n3,4,5\n", "row 3: has 3 cells where row 1 has 2;"),
        ("1,2\n3,\n", "row 2, column 2 (cell B2): the cell is empty; fill in a number"),
        ("1,2\nnan,4\n", "row 2, column 1 (cell A2): nan is not a finite number;"),
        ("1,2\n3,inf\n", "row 2, column 2 (cell B2): inf is not a finite number;"),
        ("1,2\n3,-4\n", "row 2, column 2 (cell B2): -4 is negative; shift all weights"),
        ("1,2\n3,1e15\n", "row 2, column 2 (cell B2): 1E+15 is above the largest weight,"),
        ("1,2\n3,n/a\n", "row 2, column 2 (cell B2): 'n/a' is not a number; fill in a number"),
        ("1,x\n3,4\n", "row 1, column 2 (cell B1): 'x' is not a number; fill in a number, or say"),
        ("1,2\nx,4\n", "row 2, column 1 (cell A2): 'x' is not a number; fill in a number, or say"),
        ("1;2.5\n3;4,5\n", "'4,5' is not a number; write decimals with a point, as in 4.5"),
        ("1;2\n3;4,500\n", "'4,500' is not a number; write decimals with a point, as in 4.500"),
        ("", "w.csv: the file is empty; give one row of weights per line"),
        ("\n , \n", "w.csv: the file is empty;"),
        ('1,2\n"3,4\n', "line 2: the CSV breaks off"),
        ("0.1234567,1\n", "0.1234567 has more decimals than scale 1000000 keeps; round it"),
    ],
)
def test_bad_cells_are_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "w.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FileError) as caught:
        read_csv_weights(path)
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["F1;1;2,5\nF2;3,25;4\n", '"8,5",c\n"1,00","2,5"\n"3,25",4\n'])
def test_decimal_commas_are_read_where_nothing_else_is_meant(tmp_path: Path, text: str) -> None:
    path = tmp_path / "w.csv"
    path.write_text(text, encoding="utf-8")
    table = read_csv_weights(path, header=text.startswith('"'))
    assert (table.weights.tolist(), table.scale) == ([[100, 250], [325, 400]], 100)
    assert table.column_names in (None, ("8,5", "c"))


def test_names_without_weights(tmp_path: Path) -> None:
    path = tmp_path / "w.csv"
    path.write_text("a,b\n", encoding="utf-8")
    with pytest.raises(FileError, match="there are names but no weights; add rows of numbers"):
        read_csv_weights(path, header=True)


def test_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "w.csv"
    path.write_bytes(b"1,2\n3,\xff\n")
    with pytest.raises(FileError, match="line 2: byte 0xff is not UTF-8; save the file as UTF-8"):
        read_csv_weights(path)


def test_options_overrule_what_the_cells_say(tmp_path: Path) -> None:
    path = tmp_path / "w.csv"
    path.write_text("1,2,3\n4,5,6\n", encoding="utf-8")
    table = read_csv_weights(path, header=True, ids=True)
    assert table.weights.tolist() == [[5, 6]]
    assert (table.row_names, table.column_names) == (("4",), ("2", "3"))


def test_empty_rows_at_the_end_and_quotes_are_fine(tmp_path: Path) -> None:
    path = tmp_path / "w.csv"
    path.write_text('"id";"8:00; first"\n"F;1"; 2.50 \n;\n\n', encoding="utf-8")
    table = read_csv_weights(path)
    assert (table.weights.tolist(), table.scale) == ([[25]], 10)
    assert (table.row_names, table.column_names) == (("F;1",), ("8:00; first",))
    assert table.weights.dtype == np.int64


def test_cells_are_named_as_in_a_spreadsheet() -> None:
    assert cell_place(1, 26).endswith("(cell Z1)")
    assert cell_place(9, 703).endswith("(cell AAA9)")


@given(
    st.lists(st.lists(st.integers(0, 10**6), min_size=2, max_size=2), min_size=1, max_size=4),
    st.sampled_from([1, 10, 1000]),
    st.sampled_from([np.float64, np.int64]),
)
def test_arrays_are_read_as_they_were_saved(
    tmp_path_factory: pytest.TempPathFactory, weights: Any, scale: int, dtype: Any
) -> None:
    path = tmp_path_factory.mktemp("npy") / "w.npy"
    if dtype is np.float64:
        np.save(path, np.array(weights) / scale)
        assert read_npy_weights(path, scale=scale).weights.tolist() == weights
    else:
        np.save(path, np.array(weights))
        assert read_npy_weights(path).weights.tolist() == weights


def test_float32_and_small_integers(tmp_path: Path) -> None:
    path = tmp_path / "w.npy"
    np.save(path, np.array([[0.1, 2.5]], dtype=np.float32))
    table = read_npy_weights(path)
    assert (table.weights.tolist(), table.scale) == ([[1, 25]], 10)
    np.save(path, np.array([[200, 7]], dtype=np.uint8))
    assert read_npy_weights(path, scale=100).weights.tolist() == [[20000, 700]]


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.array([[1.0, np.nan]]), "[0, 1] (counted from 0): nan is not a finite number"),
        (np.array([[1.0, np.inf]]), "[0, 1] (counted from 0): inf is not a finite number"),
        (np.array([[1, 2], [-3, 4]]), "[1, 0] (counted from 0): -3 is negative"),
        (np.array([[1, 2**60]]), "is above the largest weight"),
        (np.array([[1, 2**63]], dtype=np.uint64), "is above the largest weight"),
        (np.array([[1.0, 1e300]]), "is above the largest weight"),
        (np.array([[1.0, 1 / 3]]), "has more decimals than scale 1000000 keeps; round it"),
        (np.array([1, 2]), "its shape is 2; save a matrix of rows and columns"),
        (np.array(3), "its shape is a single number"),
        (np.zeros((0, 3)), "its shape is 0 x 3"),
        (np.array([["a"]]), "not numbers; save integers or floats"),
        (np.array([[1j]]), "it holds complex128, not numbers"),
    ],
)
def test_bad_arrays(tmp_path: Path, array: Any, message: str) -> None:
    path = tmp_path / "w.npy"
    np.save(path, array)
    with pytest.raises(FileError) as caught:
        read_npy_weights(path)
    assert message in str(caught.value)


def test_a_scale_that_is_too_small_or_too_large(tmp_path: Path) -> None:
    path = tmp_path / "w.npy"
    np.save(path, np.array([[0.25]]))
    with pytest.raises(FileError, match="than scale 10 keeps; use a larger scale or round it"):
        read_npy_weights(path, scale=10)
    with pytest.raises(FileError, match=r"0\.25 times scale 100 is above 20"):
        read_npy_weights(path, scale=100, limit=20)
    # Products beyond 64 bits, one of which would wrap around to 448384.
    for large in (18446744073710, float(2**46)):
        np.save(path, np.array([[large]]))
        with pytest.raises(FileError, match="times scale 1000000 is above"):
            read_npy_weights(path, scale=10**6)


@pytest.mark.parametrize("content", [b"", b"not an array", b"\x93NUMPY\x01\x00", b"PK\x03\x04"])
def test_files_that_are_no_arrays(tmp_path: Path, content: Any) -> None:
    path = tmp_path / "w.npy"
    path.write_bytes(content)
    with pytest.raises(FileError, match=r"this is no .npy array; write it with numpy.save"):
        read_npy_weights(path)


def test_objects_are_never_unpickled(tmp_path: Path) -> None:
    path = tmp_path / "w.npy"
    np.save(path, np.array([[{}]], dtype=object), allow_pickle=True)
    with pytest.raises(FileError, match=r"this is no .npy array"):
        read_npy_weights(path)


def test_masks(tmp_path: Path) -> None:
    path = tmp_path / "mask.npy"
    np.save(path, np.array([[True, False]]))
    assert read_mask(path).tolist() == [[True, False]]
    text = tmp_path / "mask.csv"
    text.write_text("0,2\n", encoding="utf-8")
    with pytest.raises(FileError, match=r"\(cell B1\): 2 is above.*1 for a forbidden pair"):
        read_mask(text)
    text.write_text("0,1\n0\n", encoding="utf-8")
    with pytest.raises(FileError, match="give every row the same number of cells"):
        read_mask(text)


@pytest.mark.parametrize(
    "problem",
    [
        generate_delays(1, flights=7, airlines=3),
        generate_assignment(1, rows=4, columns=6, participants=2, objectives=2),
        generate_tour(1, cities=6, participants=2),
    ],
    ids=lambda problem: problem.name,
)
def test_rows_come_back(problem: Problem, tmp_path: Path) -> None:
    paths = save_participants(problem, tmp_path / "them")
    expected = [
        (participant, objective)
        for participant in problem.participants
        for objective in problem.objectives
    ]
    assert len(paths) == len(expected) + 1
    for path, (participant, objective) in zip(paths, expected, strict=False):
        table = read_csv_weights(path)
        assert objective.weights is not None
        assert np.array_equal(table.weights, objective.weights[list(participant.rows)])
        if problem.row_names is not None:
            assert table.row_names == tuple(problem.row_names[row] for row in participant.rows)
            assert table.column_names == problem.column_names


def test_the_public_part_is_a_problem_without_weights(tmp_path: Path) -> None:
    drawn = generate_delays(1, flights=7, airlines=3)
    *_, public = save_participants(drawn, tmp_path)
    assert '"weights"' not in public.read_text()
    problem = load_problem(public)
    assert problem.objectives[0].weights is None
    assert problem.objectives[0].weight_bound == drawn.objectives[0].weight_bound
    assert problem.participants == drawn.participants


def test_a_folder_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="choose another folder"):
        save_participants(generate_delays(1, flights=3), tmp_path / "file" / "below")
