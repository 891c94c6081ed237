"""`tacit instance`: what it writes, prints and refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tacit.cli.instance import app
from tacit.disclosure import BestMode, Sealed
from tacit.errors import InputError, TacitError
from tacit.problems import Assignment, Tour, load_problem


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


runner = CliRunner()


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")


def run(*arguments: str) -> Result:
    result = runner.invoke(app, list(arguments))
    assert result.exception is None, result.exception
    return result


def refused(*arguments: str) -> str:
    result = runner.invoke(app, list(arguments))
    assert isinstance(result.exception, TacitError), result.output
    assert "\n" not in str(result.exception)
    return str(result.exception)


def test_new_ap_is_the_same_from_the_same_seed() -> None:
    assert (
        run("new", "ap", "--size", "20x30", "--seed", "7", "--out", "a.json").output == "a.json\n"
    )
    run("new", "ap", "--size", "20x30", "--seed", "7", "--out", "b.json")
    assert Path("a.json").read_bytes() == Path("b.json").read_bytes()
    problem = load_problem("a.json")
    assert isinstance(problem, Assignment)
    assert (problem.name, problem.rows, problem.columns) == ("ap1K20x30", 20, 30)


def test_new_moap_with_all_options() -> None:
    output = run(
        "new", "moap", "--size", "6", "--objectives", "3", "--up-to", "50", "--participants", "2",
        "--disclose", "top:15", "--disclose", "order", "--disclose", "none",
    ).output  # fmt: skip
    assert output == "ap3W50_6x6.json\n"
    problem = load_problem("ap3W50_6x6.json")
    assert [o.disclosure.text for o in problem.objectives] == ["top:15", "order", "none"]
    assert [o.weight_bound for o in problem.objectives] == [50, 50, 50]
    assert [p.rows for p in problem.participants] == [(0, 1, 2), (3, 4, 5)]


def test_new_series_of_tours() -> None:
    run("new", "tour", "--size", "5", "--count", "3", "--out", "some/tours", "--disclose", "top:9")
    names = ["tour1K5-02.json", "tour1K5-03.json", "tour1K5.json"]
    assert sorted(path.name for path in Path("some/tours").iterdir()) == names
    problem = load_problem("some/tours/tour1K5-02.json")
    assert isinstance(problem, Tour)
    assert problem.objectives[0].disclosure.text == "top:9"
    alone = run("new", "tour", "--size", "5", "--out", "alone.json", "--disclose", "top:9")
    assert alone.exit_code == 0
    assert Path("alone.json").read_text() == Path("some/tours/tour1K5.json").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("ap --size big", "'big' is not a size; give rows and columns such as 100x100"),
        ("ap --size 5x4", "5 rows cannot each get one of 4 columns"),
        ("ap --objectives 2", "ap has one objective; use moap for 2"),
        ("moap --objectives 1", "a moap has several objectives, not 1; use ap for one"),
        ("ap --count 0", "count is 0; give at least 1"),
        ("ap --seed -1", "seed is -1; give 0 or more"),
        ("ap --participants 0", "0 participants cannot share 100 rows"),
        ("ap --disclose median", "'median' is not a disclosure"),
        ("ap --up-to -5", "weights up to -5 cannot be drawn"),
        ("ap --out ap.csv", "ap.csv is not a .json file"),
        ("ap --size 3 --out none/ap.json", "none/ap.json: cannot be written"),
        ("ap --size 3 --count 2 --out file", "file cannot be created; name another folder"),
        ("tour --size 5x6", "a tour is not 5x6; give one number, the cities"),
        ("tour --size 5 --disclose order --disclose none", "a tour problem has one objective"),
    ],
)
def test_new_refuses(arguments: str, message: str) -> None:
    Path("file").write_text("here", encoding="utf-8")
    assert message in refused("new", *arguments.split())


def test_show_a_shipped_problem() -> None:
    output = run("show", "kroD100").output
    for part in ("kroD100: tour, 100 x 100", "TSPLIB (Reinelt 1991)", "21,294", "minimize"):
        assert part in output


def test_show_as_json() -> None:
    run("new", "moap", "--size", "8", "--participants", "4", "--out", "m.json")
    found = json.loads(run("show", "m.json", "--json").output)
    assert (found["kind"], found["rows"], found["forbidden_share"]) == ("assignment", 8, 0.0)
    assert (found["optimum"], found["ground_truth_size"] > 2) == (None, True)
    assert found["participants"] == {f"participant {i}": 2 for i in (1, 2, 3, 4)}
    assert found["objectives"][0]["weight_bound"] == 1000


def test_show_a_bare_csv_in_its_own_unit() -> None:
    Path("w.csv").write_text("1.5,2\n0.5,4\n", encoding="utf-8")
    assert json.loads(run("show", "w.csv", "--json").output)["optimum"] == 5.5
    found = json.loads(run("show", "w.csv", "--json", "--minimize").output)
    assert (found["optimum"], found["objectives"][0]["least"]) == (2.5, 0.5)


def test_show_weights_that_are_with_their_owners_and_many_of_these() -> None:
    run("new", "ap", "--size", "9", "--participants", "9", "--out", "p.json")
    content = json.loads(Path("p.json").read_text(encoding="utf-8"))
    del content["objectives"][0]["weights"]
    content["objectives"][0]["name"] = "[bold]x[/bold]"
    Path("p.json").write_text(json.dumps(content), encoding="utf-8")
    output = run("show", "p.json").output
    for part in ("9, with 1 rows each", "with owners", "unknown", "[bold]x[/bold]"):
        assert part in output
    assert "nothing to draw" in refused("show", "p.json", "--plot", "p.png")


@pytest.mark.parametrize("name", ["rd100", "w.csv"])
@pytest.mark.parametrize("suffix", ["png", "svg"])
@pytest.mark.slow
def test_show_draws(name: str, suffix: str) -> None:
    Path("w.csv").write_text("1,2\n3,4\n", encoding="utf-8")
    run("show", name, "--plot", f"picture.{suffix}")
    assert Path(f"picture.{suffix}").stat().st_size > 1000


def test_show_refuses() -> None:
    assert "nowhere.csv: there is no such file; check the path" in refused("show", "nowhere.csv")
    assert "name a .png file" in refused("show", "rd100", "--plot", "picture.doc")
    assert "cannot be written" in refused("show", "rd100", "--plot", "none/picture.png")


def test_check() -> None:
    Path("good.csv").write_text("1,2\n3,4\n", encoding="utf-8")
    Path("bad.csv").write_text("1,2\n3\n", encoding="utf-8")
    good = run("check", "good.csv", "kroA100")
    assert good.output == (
        "ok  good.csv: assignment 2 x 2, 1 objective\nok  kroA100: tour 100 x 100, 1 objective\n"
    )
    mixed = runner.invoke(app, ["check", "good.csv", "bad.csv", "gone.tsp"])
    assert mixed.exit_code == InputError.exit_code == 2
    lines = mixed.output.splitlines()
    assert len(lines) == 3
    assert lines[1].startswith("error  bad.csv, row 2: has 1 cells where row 1 has 2; give every")
    told = runner.invoke(app, ["check", "good.csv", "bad.csv", "--json"])
    assert told.exit_code == 2
    assert [entry["ok"] for entry in json.loads(told.output)] == [True, False]


def test_list_and_help() -> None:
    assert run("list").output.split() == [
        "kroA100", "kroB100", "kroC100", "kroD100", "kroE100", "rd100",
    ]  # fmt: skip
    for command in ("new", "show", "check"):
        assert f"tacit instance {command}" in run(command, "--help").output


def test_new_delays_with_a_file_for_each_airline() -> None:
    output = run("new", "delays", "--size", "6x9", "--participants-dir", "them").output
    names = ["them/amber.csv", "them/birch.csv", "them/cobalt.csv", "them/public.json"]
    assert output.splitlines() == ["delays6x9.json", *names]
    problem = load_problem("delays6x9.json")
    assert problem.objectives[0].sense == "minimize"
    assert Path("them/amber.csv").read_text().startswith("row,06:00,06:04,")


@pytest.mark.parametrize("kind", ["delays", "slots"])
def test_costs_of_delay_take_no_range(kind: str) -> None:
    assert refused("new", kind, "--up-to", "9").endswith("leave --up-to out")


def test_files_of_owners_are_those_of_one_problem() -> None:
    assert "leave --count out" in refused("new", "ap", "--count", "2", "--participants-dir", "x")
