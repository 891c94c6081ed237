"""Which file is taken as what."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tacit.errors import FileError, InputError, ParameterError
from tacit.problems import Assignment, Tour, load_problem


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
