"""Problems are loaded from any file or the package, and saved to be read back the same."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.disclosure import BestMode, parse_disclosure
from tacit.errors import FileError, InputError, ParameterError, ProblemError
from tacit.problems import (
    Assignment,
    Objective,
    Participant,
    Problem,
    Tour,
    generate_tour,
    load_problem,
    save_problem,
    shipped_names,
    shipped_problem,
    with_usual_disclosures,
)
from tacit.problems.files.load_and_save import problem_text
from tacit.runs import with_disclosures


def test_a_bare_csv_is_an_assignment_to_maximize_with_one_owner(tmp_path: Path) -> None:
    path = tmp_path / "slots.csv"
    path.write_text("flight,s1,s2\nF1,1.25,2\nF2,3,4\n", encoding="utf-8")
    problem = load_problem(path)
    assert isinstance(problem, Assignment)
    objective = problem.objectives[0]
    assert (problem.name, problem.row_names) == ("slots", ("F1", "F2"))
    assert (objective.sense, objective.scale, len(problem.participants)) == ("maximize", 100, 1)
    assert load_problem(str(path), minimize=True).objectives[0].sense == "minimize"
    assert load_problem(path, scale=1000).objectives[0].weight_bound == 4000
    with pytest.raises(FileError, match=r"1\.25 has more decimals than scale 10 keeps"):
        load_problem(path, scale=10)


def test_a_bare_npy_and_a_mask(tmp_path: Path) -> None:
    np.save(tmp_path / "w.npy", np.array([[1, 2], [3, 4]]))
    mask = tmp_path / "mask.csv"
    mask.write_text("1,0\n0,0\n", encoding="utf-8")
    problem = load_problem(tmp_path / "w.npy", forbidden=mask)
    assert isinstance(problem, Assignment)
    assert problem.forbidden is not None
    assert problem.forbidden.tolist() == [[True, False], [False, False]]
    mask.write_text("1,1\n0,0\n", encoding="utf-8")
    with pytest.raises(FileError, match=r"w\.npy: the forbidden pairs leave no way"):
        load_problem(tmp_path / "w.npy", forbidden=mask)


def test_more_rows_than_columns_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "tall.csv"
    path.write_text("1\n2\n", encoding="utf-8")
    with pytest.raises(FileError, match=r"tall\.csv: 2 rows cannot each get one of 1 columns"):
        load_problem(path)


def test_a_shipped_name_counts_where_no_file_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert isinstance(load_problem("kroA100"), Tour)
    Path("kroA100").write_text("mine", encoding="utf-8")
    with pytest.raises(FileError, match=r"the file has no suffix; give a \.json, \.csv"):
        load_problem("kroA100")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nothing.csv", "nothing.csv: there is no such file; check the path"),
        ("nothing.json", "nothing.json: there is no such file; check the path"),
        ("nothing.tsp", "nothing.tsp: there is no such file; check the path"),
        ("nothing.npy", "nothing.npy: there is no such file; check the path"),
        (
            "kroZ100",
            "kroZ100: there is no such file; check the path, or use a shipped",
        ),
        ("folder", "folder: this is a folder; name a file in it"),
        ("folder.csv", "folder.csv: this is a folder; name a file in it"),
        ("sheet.xlsx", "sheet.xlsx: problems are not read from '.xlsx' files; give a .json, .csv"),
        ("x" * 5000, "there is no such file"),
        ("x" * 5000 + ".csv", "cannot be read (File name too long); check the path"),
        ("nul\0.csv", "cannot be read"),
    ],
)
def test_files_that_are_not_there_or_not_problems(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("folder.csv").mkdir()
    Path("sheet.xlsx").write_bytes(b"PK")
    with pytest.raises(FileError) as caught:
        load_problem(name)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_options_that_the_file_overrules_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="minimize cannot be set for kroA100"):
        load_problem("kroA100", minimize=True)
    with pytest.raises(ParameterError, match=r"header and ids cannot be set for p\.json"):
        load_problem("p.json", header=True, ids=False)
    with pytest.raises(ParameterError, match="forbidden cannot be set"):
        load_problem("p.tsp", forbidden="mask.csv")
    with pytest.raises(ParameterError, match="scale is 7; use a power of ten"):
        load_problem("p.csv", scale=7)


def test_errors_about_files_end_with_exit_code_2() -> None:
    with pytest.raises(InputError) as caught:
        load_problem("nothing.csv")
    assert caught.value.exit_code == 2


@pytest.mark.processes
def test_problems_need_neither_numba_nor_scipy_nor_matplotlib() -> None:
    code = (
        "import sys\n"
        "for name in ('numba', 'scipy', 'matplotlib'): sys.modules[name] = None\n"
        "import tacit.problems as p\n"
        "import numpy as np\n"
        "print(p.load_problem('rd100').fitness(0, np.arange(100, dtype=np.int32)[None]) < 0)\n"
        "try: p.optimum(p.generate_assignment(1, rows=2))\n"
        "except Exception as error: print(type(error).__name__, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "[ True]" in done.stdout
    assert "TacitError the optimum needs SciPy, which is not installed" in done.stdout


OPTIMA = {
    "kroA100": 21282,
    "kroB100": 22141,
    "kroC100": 20749,
    "kroD100": 21294,
    "kroE100": 22068,
    "rd100": 7910,
}

# The optimal tours of TSPLIB, cities counted from 1.
TOURS = {
    "kroD100": """
        1 50 34 81 38 66 8 52 46 23 42 89 11 90 17 94 32 97 98 49 70 22 58 29 36 67 75 7 74 61
        76 80 72 57 31 78 99 45 33 68 14 65 86 96 16 63 54 91 77 43 64 85 59 3 83 40 6 18 82 25
        20 9 10 21 47 12 28 56 95 26 87 55 92 48 2 100 30 35 51 19 37 62 5 53 60 44 93 4 71 39
        73 15 69 84 41 24 27 88 79 13
    """,
    "rd100": """
        1 18 62 87 15 63 86 97 67 13 49 21 75 82 85 14 12 4 32 9 26 74 20 78 3 33 10 27 92 17 72
        70 38 54 73 50 46 56 19 37 28 93 77 95 59 76 58 89 2 23 35 29 44 100 39 96 55 40 43 25
        24 42 7 34 41 22 5 61 11 52 45 16 31 84 88 66 98 94 6 79 53 99 47 57 36 64 91 81 80 30
        48 65 90 51 83 68 71 8 69 60
    """,
}


@pytest.mark.parametrize("name", OPTIMA)
def test_shipped(name: str) -> None:
    problem = shipped_problem(name)
    assert isinstance(problem, Tour)
    assert (problem.name, problem.rows, problem.optimum) == (name, 100, OPTIMA[name])
    assert problem.source is not None
    assert "TSPLIB (Reinelt 1991)" in problem.source
    assert problem.coordinates is not None
    assert problem.objectives[0].sense == "minimize"


@pytest.mark.parametrize("name", TOURS)
def test_an_optimal_tour_has_the_published_length(name: str) -> None:
    tour = np.array([TOURS[name].split()], dtype=np.int32) - 1
    problem = shipped_problem(name)
    problem.check_plan(tour[0].tolist())
    assert problem.fitness(0, tour).tolist() == [-OPTIMA[name]]


def test_names() -> None:
    assert shipped_names() == tuple(sorted(OPTIMA))
    with pytest.raises(ParameterError, match="no problem 'kroF100' is shipped; use one of kroA100"):
        shipped_problem("kroF100")


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
