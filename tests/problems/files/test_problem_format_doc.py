"""The example of docs/problem-format.md is a problem, and what it says of fields is true."""

import re
from pathlib import Path

import msgspec

from tacit.problems import Assignment, load_problem
from tacit.problems.files.json_format import ObjectiveEntry, ProblemFile

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
