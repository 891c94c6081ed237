"""`tacit solve` as users run it, with files in and out.

What a process of its own could change is run in one; the rest calls the same `main` here, since a
new interpreter takes most of a second.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tacit
from tacit.errors import FileError
from tacit.problems import generate_assignment, generate_tour, save_problem
from tacit.records import Ledger
from tacit.runs import Limits
from tacit.search import SearchParameters
from tests.conftest import RunTacit
from tests.on_nodes.entries import evaluation
from tests.support.simulated import solve

FULL = Path("/dev/full")
"""Whatever is written there meets a full disk."""
only_with_full = pytest.mark.skipif(not FULL.exists(), reason="only Linux has /dev/full")


@only_with_full
@pytest.mark.parametrize("options", [["--out"], ["--disclose", "top:2", "--record"]])
def test_a_plan_is_shown_where_its_file_cannot_be_written(
    run_here: RunTacit, tmp_path: Path, options: list[str]
) -> None:
    (tmp_path / "w.csv").write_text("1,2\n3,9\n")
    done = run_here("solve", tmp_path / "w.csv", "--generations", "2", *options, FULL)
    assert done.returncode == 2
    assert "plan     0 1" in done.stdout
    assert done.stderr == (
        "tacit: /dev/full: cannot be written (No space left on device); choose another place\n"
    )


@only_with_full
def test_a_ledger_that_cannot_be_written_names_its_file() -> None:
    ledger = Ledger(FULL)
    with pytest.raises(FileError, match=r"/dev/full: cannot be written .*; make room"):
        ledger.add(evaluation(1, [1, 0]))


WEIGHTS = "9,1,2\n3,8,1\n2,1,7\n"
SHOWN = ("--disclose", "none")
QUICK = (*SHOWN, "--set", "population=20", "--set", "elites=2", "--generations", "15")


@pytest.fixture
def csv(tmp_path: Path) -> Path:
    file = tmp_path / "weights.csv"
    file.write_text(WEIGHTS)
    return file


def solved(run: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The result that --json printed, once it is clear that nothing else was."""
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    result: dict[str, Any] = json.loads(run.stdout)
    return result


def test_a_bare_csv_is_an_assignment_to_maximize(run_tacit: RunTacit, csv: Path) -> None:
    result = solved(run_tacit("solve", csv, *QUICK, "--json"))
    assert result["plan"] == [0, 1, 2]
    assert result["value"] == [24]
    assert result["percent_of_optimum"] == 100
    assert result["objectives"][0]["sense"] == "maximize"
    assert result["problem"]["name"] == "weights"


def test_minimize_makes_the_matrix_costs(run_here: RunTacit, csv: Path) -> None:
    result = solved(run_here("solve", csv, "--minimize", *QUICK, "--json"))
    best = min((9, 8, 7), (9, 1, 1), (1, 3, 7), (1, 1, 2), (2, 3, 1), (2, 8, 2), key=sum)
    assert result["value"] == [sum(best)]
    assert result["objectives"][0]["sense"] == "minimize"


def test_decimals_are_told_in_the_users_unit(run_here: RunTacit, tmp_path: Path) -> None:
    file = tmp_path / "decimals.csv"
    file.write_text("1.25,0.5\n0.5,2.25\n")
    result = solved(run_here("solve", file, *QUICK, "--json"))
    assert result["value"] == [3.5]
    assert result["objectives"][0]["scale"] == 100
    coarse = solved(run_here("solve", file, "--scale", "1000", *QUICK, "--json"))
    assert coarse["value"] == [3.5]


def test_names_in_the_csv_come_back_in_the_plan(run_here: RunTacit, tmp_path: Path) -> None:
    file = tmp_path / "named.csv"
    file.write_text("flight,early,late\nOS1,9,1\nOS2,1,9\n")
    result = solved(run_here("solve", file, *QUICK, "--json"))
    assert result["named_plan"] == [["OS1", "early"], ["OS2", "late"]]
    shown = run_here("solve", file, *QUICK)
    assert "OS1→early" in shown.stdout


def test_an_npy_with_forbidden_pairs(run_here: RunTacit, tmp_path: Path) -> None:
    file, mask = tmp_path / "w.npy", tmp_path / "mask.csv"
    np.save(file, np.array([[9, 1, 2], [3, 8, 1]]))
    mask.write_text("1,0,0\n0,1,0\n")
    result = solved(run_here("solve", file, "--forbidden", mask, *QUICK, "--json"))
    assert result["plan"] == [2, 0]
    assert result["value"] == [5]


def test_a_shipped_tour_by_name(run_here: RunTacit) -> None:
    result = solved(run_here("solve", "kroD100", *SHOWN, "--generations", "5", "--json"))
    assert sorted(result["plan"]) == list(range(100))
    assert (result["optimum"], result["problem"]["kind"]) == (21294, "tour")
    assert result["parameters"]["crossover"] == "edge"


def test_a_problem_file_with_two_objectives_and_a_disclosure_for_one(
    run_here: RunTacit, tmp_path: Path
) -> None:
    file = tmp_path / "two.json"
    save_problem(generate_assignment(1, rows=8, objectives=2), file)
    result = solved(
        run_here(
            *("solve", file, "--disclose", "weight 1=order", "--disclose", "weight 2=top:15"),
            *("--generations", "5", "--json"),
        )
    )
    assert [each["disclosure"] for each in result["objectives"]] == ["order", "top:15"]
    assert result["algorithm"] == "nsga2"
    assert len(result["value"]) == 2


def test_the_front_of_objectives_that_are_evaluated_together(
    run_here: RunTacit, tmp_path: Path
) -> None:
    file, out = tmp_path / "two.json", tmp_path / "result.json"
    save_problem(generate_assignment(1, rows=6, objectives=2), file)
    asked = ("solve", file, "--engine", "simulated", "--generations", "3", "--seed", "1")
    few = ("--set", "population=20", "--disclose", "pareto:top:9", "--out", out)
    shown = run_here(*asked, *few, "--reveal-front", "values")
    result = json.loads(out.read_text())
    front = result["front"]
    assert result["parameters"]["tournament"] == 10  # the preset for it
    assert result["plan"] == result["best_known"]["plans"][front["nondominated"][0]]
    actual = result["best_known"]["actual"]
    assert front["values"] == [actual[k] for k in front["nondominated"]]
    line = f"{len(front['values'])} of {len(actual)} plans of the last set are non-dominated"
    assert line in " ".join(shown.stdout.split())
    run_here(*asked, *few)
    assert "front" not in json.loads(out.read_text())


def test_a_tsp_file(run_here: RunTacit, tmp_path: Path) -> None:
    file = tmp_path / "square.tsp"
    file.write_text(
        "NAME: square\nTYPE: TSP\nDIMENSION: 4\nEDGE_WEIGHT_TYPE: EUC_2D\n"
        "NODE_COORD_SECTION\n1 0 0\n2 10 10\n3 0 10\n4 10 0\nEOF\n"
    )
    result = solved(run_here("solve", file, *QUICK, "--json"))
    assert result["value"] == [40]


def test_the_command_gives_what_the_library_gives(run_here: RunTacit, tmp_path: Path) -> None:
    problem = generate_tour(4, cities=15)
    file = tmp_path / "tour.json"
    save_problem(problem, file)
    shown = solved(
        run_here(
            *("solve", file, "--disclose", "quantiles:5", "--seed", "7", "--generations", "20"),
            *("--best", "improvement", "--set", "crossover=order", "--set", "mutation=insert"),
            *("--set", "population=30", "--set", "elites=3", "--set", "tournament=4", "--json"),
            *("--set", "crossover_percent=80", "--set", "mutation-percent=60"),
            *("--set", "estimator=exponential", "--set", "reevaluate_parents=true"),
            *("--set", "ties=first"),
        )
    )
    parameters = SearchParameters(
        population=30,
        elites=3,
        tournament=4,
        crossover="order",
        crossover_percent=80,
        mutation="insert",
        mutation_percent=60,
        estimator="exponential",
        reevaluate_parents=True,
        ties="first",
    )
    library = solve(
        problem,
        disclose="quantiles:5",
        best="improvement",
        seed=7,
        limits=Limits(generations=20),
        settings=parameters,
    )
    shown["timing"] = None
    assert shown == json.loads(library.to_json(timing=False))


def test_out_and_plot_are_written_and_the_summary_names_them(
    run_tacit: RunTacit, csv: Path, tmp_path: Path
) -> None:
    out, plot = tmp_path / "result.json", tmp_path / "run.png"
    run = run_tacit("solve", csv, *QUICK, "--out", out, "--plot", plot)
    assert (run.returncode, run.stderr) == (0, "")
    result = json.loads(out.read_text())
    assert result["plan"] == [0, 1, 2]
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert plot.stat().st_size > 5000
    for shown in ("weights", "disclosing none", "100.00 % of the optimum 24", str(out), str(plot)):
        assert shown in run.stdout
    assert "0 1 2" in run.stdout


def test_values_are_shown_with_all_their_digits(run_here: RunTacit, tmp_path: Path) -> None:
    for weights, value in (("1000000,4\n9,5\n", "1000005"), ("12345.67,0\n0,1.5\n", "12347.17")):
        file = tmp_path / "large.csv"
        file.write_text(weights)
        run = run_here("solve", file, "--best", "value", "--engine", "simulated")
        assert f"maximize = {value}; disclosing sealed; best disclosed {value}" in run.stdout
        assert f"of the optimum {value} " in run.stdout


def test_several_limits_and_a_target(run_here: RunTacit, csv: Path) -> None:
    limits = ("--deadline", "1m", "--target", "24", "--generations", "400", "--stall", "300")
    result = solved(run_here("solve", csv, *QUICK[:6], *limits, "--json"))
    assert result["stopped"] == "target"
    few = solved(run_here("solve", csv, *SHOWN, "--evaluations", "3", "--json"))
    assert (few["stopped"], few["evaluations"]) == ("evaluations", 3)


def test_a_checkpoint_is_resumed(run_here: RunTacit, csv: Path, tmp_path: Path) -> None:
    file = tmp_path / "run.checkpoint"
    common = ("solve", csv, *QUICK[:6], "--json")
    solved(run_here(*common, "--generations", "4", "--checkpoint", file))
    resumed = solved(run_here(*common, "--generations", "9", "--resume", file))
    whole = solved(run_here(*common, "--generations", "9"))
    resumed["timing"] = whole["timing"] = None
    assert resumed == whole
    refused = run_here(*common, "--generations", "9", "--resume", file, "--seed", "5")
    assert_refused(refused, str(file), "belongs to another seed")


def test_exact_refuses_confidential_weights(run_here: RunTacit, csv: Path) -> None:
    assert_refused(run_here("solve", csv, "--algorithm", "exact"), "confidential", "use genetic")


def assert_refused(run: subprocess.CompletedProcess[str], *fragments: str) -> None:
    """Exit code 2, one line that says what and what to do, and nothing else."""
    assert run.returncode == 2, run.stderr
    assert run.stdout == ""
    assert "Traceback" not in run.stderr
    lines = run.stderr.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("tacit: ")
    for fragment in fragments:
        assert fragment in lines[0]


BAD_FILES = {
    "ragged.csv": ("1,2,3\n4,5\n", ("ragged.csv", "row 2", ";")),
    "nan.csv": ("1,nan\n2,3\n", ("nan.csv", ";")),
    "negative.csv": ("1,-2\n2,3\n", ("negative.csv", "negative", ";")),
    "tall.csv": ("1,2\n3,4\n5,6\n", ("tall.csv", "3 rows", "swap rows and columns")),
    "empty.csv": ("", ("empty.csv", ";")),
    "broken.json": ('{"name": ', ("broken.json", ";")),
    "odd.tsp": (
        "NAME: x\nTYPE: TSP\nDIMENSION: 2\nEDGE_WEIGHT_TYPE: XRAY1\nEOF\n",
        ("odd.tsp", "XRAY1", ";"),
    ),
    "broken.npy": ("no array", ("broken.npy", ";")),
    "notes.xlsx": ("1,2\n", ("notes.xlsx", "give a .json, .csv, .npy")),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_bad_file_is_refused_in_one_line(run_here: RunTacit, tmp_path: Path, name: str) -> None:
    content, fragments = BAD_FILES[name]
    file = tmp_path / name
    file.write_text(content)
    assert_refused(run_here("solve", file, *QUICK), *fragments)


@pytest.mark.parametrize(
    ("arguments", "fragments"),
    [
        (["--disclose", "median"], ["'median' is not a disclosure", "use sealed, top:15"]),
        (["--disclose", "top:400"], ["top:400 needs at least 400", "lower the one"]),
        (["--disclose", "order", "--disclose", "top:3"], ["--disclose order", "delay=order"]),
        (["--disclose", "pay=order"], ["no objective 'pay'", "there are weight"]),
        (["--deadline", "soon"], ["'soon' is not a time", "30s"]),
        (["--deadline", "0s"], ["leaves no time"]),
        (["--generations", "-3"], ["generations is -3", "give 0 or more"]),
        (["--preset", "best"], ["'best' is not a preset", "paper-ap"]),
        (["--set", "crossover=pmx"], ["'pmx' is not a crossover"]),
        (["--set", "population=1"], ["population is 1", "at least 2"]),
        (["--set", "ties=fair"], ["ties is 'fair'; use one of random, shared, first, last"]),
        (["--set", "population=many"], ["population is 'many'", "expected a whole number"]),
        (["--set", "elites=300"], ["elites is 300", "leave room"]),
        (["--set", "size=3"], ["'size' is not a setting", "algorithm, population, elites"]),
        (["--set", "population"], ["name each setting once", "population=100"]),
        (["--weighting", "3:1"], ["the run is not sealed"]),
        (["--best", "all"], ["use value, improvement or nothing"]),
        (["--scale", "7"], ["scale is 7", "power of ten"]),
        (["--out", "nowhere/result.json"], ["no folder nowhere", "create it"]),
        (["--plot", "nowhere/run.png"], ["no folder nowhere", "create it"]),
        (["--resume", "nowhere.checkpoint"], ["nowhere.checkpoint", "check the path"]),
        (["--checkpoint-every", "0"], ["every 0 generations", "at least 1"]),
    ],
    ids=lambda value: " ".join(value) if value and value[0].startswith("--") else "",
)
def test_a_bad_option_is_refused_in_one_line(
    run_here: RunTacit, csv: Path, arguments: list[str], fragments: list[str]
) -> None:
    shown = () if "--disclose" in arguments else SHOWN
    assert_refused(run_here("solve", csv, *shown, *arguments, cwd=csv.parent), *fragments)


def test_a_mistake_ends_the_process_with_one_line_and_exit_code_2(
    run_tacit: RunTacit, csv: Path
) -> None:
    assert_refused(run_tacit("solve", csv, "--disclose", "median"), "'median' is not")
    csv.write_text("1,2,3\n4,5\n")
    assert_refused(run_tacit("solve", csv), "weights.csv", "row 2")


def test_an_absent_file_is_refused(run_here: RunTacit, tmp_path: Path) -> None:
    assert_refused(
        run_here("solve", tmp_path / "nowhere.json"), "nowhere.json", "no such file", "check"
    )
    assert_refused(run_here("solve", "kroZ100"), "kroZ100", "kroD100")


def test_version_and_help(run_here: RunTacit) -> None:
    for words in ("version", "--version"):
        assert run_here(words).stdout.strip() == tacit.__version__
    shown = run_here("solve", "--help")
    assert shown.returncode == 0
    for option in ("--disclose", "--deadline", "--plot", "--resume", "--minimize"):
        assert option in shown.stdout
    assert run_here("nonsense").returncode == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["solve", "kroD100", "--plot", "run.txt"], "run.txt does not end in"),
        (["solve", "kroD100", "--out", "."], "is a folder"),
        (["solve", "kroD100", "--seed", "-1"], "--seed"),
        (["solve", "kroD100", "--bogus"], "--bogus"),
        (["solve"], "PROBLEM"),
        (["frobnicate"], "frobnicate"),
        (["instance", "new"], "kind"),
    ],
)
def test_wrong_usage_is_one_line_and_costs_no_search(
    run_here: RunTacit, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.setattr("tacit.cli.solve.solve", None)
    done = run_here(*arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not done.stdout


def test_a_sealed_assignment_says_what_it_did_and_proved(run_here: RunTacit, csv: Path) -> None:
    sealed = ("solve", csv, "--disclose", "sealed", "--deadline", "1m")
    found = solved(run_here(*sealed, "--json"))
    assert (found["algorithm"], found["plan"]) == ("sealed", [0, 1, 2])
    assert (found["proved"], found["stopped"]) == (True, "generations")
    assert found["best_known"]["told"] == [None]
    steps = found["parameters"]["generations"] + found["parameters"]["iterations"]
    assert found["generations"] == steps
    shown = " ".join(run_here(*sealed).stdout.split())
    of_both = "{generations} generations and {iterations} iterations".format(**found["parameters"])
    assert of_both in shown
    assert "in this process, proved to be the optimum" in shown
    foreign = run_here(*sealed, "--preset", "paper-ap")
    assert foreign.returncode == 2
    assert "settings of its own" in foreign.stderr
    wrong = run_here(*sealed, "--weighting", "3:x")
    assert wrong.returncode == 2
    assert "whole factors" in wrong.stderr


def test_a_plan_that_is_not_proved_comes_with_its_gap(run_here: RunTacit, tmp_path: Path) -> None:
    file = tmp_path / "ap.json"
    save_problem(generate_assignment(1, rows=60), file)
    sealed = ("solve", file, "--disclose", "sealed", "--set", "iterations=1", "--set", "gap=10")
    found = solved(run_here(*sealed, "--json"))
    assert found["proved"] is False
    assert found["value"][0] < found["optimum"] <= found["value"][0] + found["gaps"][0]
    shown = " ".join(run_here(*sealed).stdout.split())
    assert f"better by at most {found['gaps'][0]:,}" in shown
    assert "all its iterations were made" in shown


def test_a_sealed_tour_says_what_it_did(run_here: RunTacit) -> None:
    sealed = ("solve", "kroD100", "--disclose", "sealed", "--generations", "20")
    found = solved(run_here(*sealed, "--json"))
    assert (found["generations"], found["stopped"]) == (20, "generations")
    assert "proved" not in found
    assert "20 generations in" in " ".join(run_here(*sealed).stdout.split())


def test_weightings_by_their_number(run_here: RunTacit, tmp_path: Path) -> None:
    run_here(
        "instance", "new", "moap", "--size", "5x5", "--seed", "1", "--out", tmp_path / "m.json"
    )
    sealed = ("solve", tmp_path / "m.json", "--disclose", "sealed", "--engine", "simulated")
    found = solved(run_here(*sealed, "--weightings", "5", "--json"))
    assert found["proved"] is True
    assert found["parameters"]["weightings"][1:-1] == [[1, 3], [1, 1], [3, 1]]
    assert len(found["best_known"]["plans"]) == 5
    both = run_here(*sealed, "--weightings", "5", "--weighting", "1:1")
    assert both.returncode == 2
    assert "exclude each other" in both.stderr


def test_settings_of_a_sealed_run(run_here: RunTacit, csv: Path) -> None:
    sealed = ("solve", csv, "--disclose", "sealed")
    tour = ("solve", "kroD100", "--disclose", "sealed", "--generations", "2")
    found = solved(run_here(*sealed, "--set", "iterations=7", "--set", "checkpoints=2", "--json"))
    assert found["parameters"]["iterations"] == 7
    assert (found["plan"], found["proved"], found["stopped"]) == ([0, 1, 2], True, "optimal")
    found = solved(run_here(*tour, "--set", "parents=3", "--set", "cycles=2", "--json"))
    assert (found["parameters"]["parents"], found["parameters"]["cycles"]) == (3, 2)
    for arguments, words in (
        ((*sealed, "--set", "iterations=x"), "iterations is 'x'"),
        ((*sealed, "--set", "sizes=20"), "use one of iterations, checkpoints, gap, together"),
        ((*sealed, "--set", "method=exact"), "'method' is not a setting"),
        ((*sealed, "--set", "finish=12"), "'finish' is not a setting"),
        ((*sealed, "--set", "phases=12"), "'phases' is not a setting"),
        ((*sealed, "--set", "iteration=12"), "did you mean iterations?"),
        ((*sealed, "--set", "parents=3"), "'parents' is a setting of a sealed tour"),
        ((*tour, "--set", "gap=3"), "'gap' is a setting of a sealed assignment"),
        ((*tour, "--set", "parents=99"), "give 1 to 16"),
        ((*sealed, "--best", "improvement"), "disclose the best value or nothing"),
        (("solve", csv, "--set", "population=20"), "choose another disclosure, such as top:15"),
        (("solve", csv, "--preset", "paper-ap"), "choose another disclosure, such as top:15"),
        (("solve", csv, *SHOWN, "--set", "parents=3"), "is a setting of a sealed tour"),
    ):
        refused = run_here(*arguments)
        assert refused.returncode == 2
        assert words in refused.stderr
        assert len(refused.stderr.splitlines()) == 1
