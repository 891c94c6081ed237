"""Drafts from drawn and uploaded problems: the API takes them, and they hold nobody's weights."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from nicegui import Client, ui

from tacit.client.models import PublicWeights
from tacit.client.terms import RunTerms
from tacit.errors import ParameterError
from tacit.problems import Assignment, Objective, Participant, Problem, save_problem
from tacit.problems.files.matrices import read_csv_weights
from tacit.runs import setting_names
from tacit.service.dashboard.draft_page import objectives_table, participants_table
from tacit.service.dashboard.drafts import (
    KINDS,
    ObjectiveRule,
    costs_archive,
    draft_of_terms,
    drawn_problem,
    uploaded,
    usual_terms,
)
from tacit.service.dashboard.rules_form import (
    RulesForm,
    RunSettings,
    lines_of,
    search_kind,
    why_not_together,
)
from tacit.service.workflow.drafting import checked_terms

RULE = ObjectiveRule("top:15", "improvement")


def drawn(kind: str = "ap") -> Problem:
    return drawn_problem(kind, rows=6, columns=9, participants=3, seed=4)


@pytest.mark.parametrize("kind", KINDS)
def test_the_api_takes_the_terms_of_a_drawn_problem(kind: str) -> None:
    problem = drawn(kind)
    terms = checked_terms(usual_terms(problem, [RULE], reveal_best=True))
    assert (terms.problem.rows, terms.problem.kind) == (6, problem.kind)
    assert sorted(row for rows in terms.participants.values() for row in rows) == list(range(6))
    assert terms.objectives[0].weight_bound == problem.objectives[0].weight_bound
    assert terms.reveal_best


def test_costs_in_an_upload_go_no_further(tmp_path: Path) -> None:
    problem = drawn_problem("delays", rows=20, columns=30, participants=3, seed=4)
    save_problem(problem, tmp_path / "p.json")
    uploaded_problem, _ = uploaded((tmp_path / "p.json").read_bytes())
    terms = usual_terms(uploaded_problem, [RULE])
    assert terms == usual_terms(problem, [RULE])
    weights = problem.objectives[0].weights
    assert weights is not None
    secrets = {int(weight) for weight in weights.flat if 1000 < weight < 100_000}
    assert secrets
    assert not any(str(secret) in str(terms) for secret in secrets)


def test_files_beside_an_upload_cannot_be_reached(tmp_path: Path) -> None:
    (tmp_path / "w.csv").write_text("1,2\n3,4\n")
    text = (
        '{"format": "tacit-problem/1", "kind": "assignment", "objectives": '
        f'[{{"name": "c", "weights": {{"file": "{tmp_path / "w.csv"}"}}}}]}}'
    )
    with pytest.raises(ParameterError, match="refers to another file"):
        uploaded(text.encode())


def test_a_broken_upload_is_told(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="the file, format") as refused:
        uploaded(b"{}")
    assert "/tmp" not in str(refused.value)


FILE: dict[str, Any] = {
    "format": "tacit-problem/1",
    "kind": "assignment",
    "name": "shifts",
    "rows": 4,
    "columns": 4,
    "participants": [
        {"name": "ce\u0301leste", "rows": [0, 1]},
        {"name": "Nord Est", "rows": [2, 3]},
    ],
    "objectives": [
        {"name": "punctuality", "sense": "maximize", "disclosure": "top:5",
         "best": "improvement", "weight_bound": 90},
        {"name": "way", "sense": "minimize", "confidential": False, "weights": [[1, 2, 3, 4]] * 4},
    ],
}  # fmt: skip


def form_of(objectives: list[dict[str, Any]], *, nodes: int = 3) -> tuple[RulesForm, Problem]:
    """The form as it is when such a file has just been uploaded."""
    given, rules = uploaded(json.dumps({**FILE, "objectives": objectives}).encode())
    with Client(ui.page("/only-here")):
        start = usual_terms(given, rules)
        return RulesForm(given, start, nodes=nodes), given


def disclosed(form: RulesForm) -> list[tuple[str, str]]:
    return [(each.disclosure, each.best) for each in form.terms().objectives]


def copied(problem: Problem, terms: RunTerms) -> RulesForm:
    with Client(ui.page("/only-here")):
        return RulesForm(problem, terms)


def test_what_a_file_says_of_each_objective_stands() -> None:
    form, problem = form_of(FILE["objectives"])
    terms = checked_terms(form.terms())
    punctuality, way = terms.objectives
    assert (punctuality.disclosure, punctuality.best) == ("top:5", "improvement")
    assert (way.confidential, way.weights) == (False, [[1, 2, 3, 4]] * 4)
    assert list(terms.participants) == ["c\u00e9leste", "Nord-Est"]
    shown = objectives_table(problem)
    assert "maximize" in shown
    assert "minimize" in shown
    assert "public, with its weights" in shown
    assert participants_table(problem).count("in the file") == 1
    assert "Nord-Est (in the file: Nord Est)" in participants_table(problem)


def test_objectives_are_compared_together_where_that_fits() -> None:
    reason = why_not_together(form_of(FILE["objectives"][:1])[1])
    assert "this problem has one" in reason
    both = [{**FILE["objectives"][0], "name": name, "best": None} for name in ("a", "b")]
    form, _ = form_of([{**each, "disclosure": "pareto:top:7"} for each in both], nodes=4)
    assert disclosed(form) == [("pareto:top:7", "nothing")] * 2
    form._together.method.value = "quantiles"
    form._advanced.field.value = "on_loss=three\ngrace_seconds=20"
    terms = checked_terms(form.terms())
    assert [each.disclosure for each in terms.objectives] == ["pareto:quantiles:20"] * 2
    assert (terms.on_loss, terms.grace_seconds) == ("three", 20.0)
    form._compared.value = "each"
    form._each[1].method.value = "sealed"
    assert {each.disclosure for each in form.terms().objectives} == {"sealed"}


def test_a_number_that_does_not_fit_is_refused_and_stays() -> None:
    form, _ = form_of(FILE["objectives"])
    assert form.wrong_field() is None
    form._deadline.value = -3
    form._deadline.sanitize()  # as leaving the field does
    assert form._deadline.value == -3
    assert form.wrong_field() is form._deadline
    assert form._deadline.error == "Give 0.5 to 604,800"


def test_a_name_that_is_missing_is_said_at_its_field() -> None:
    form, _ = form_of(FILE["objectives"])
    form._name.value = " "
    with pytest.raises(ParameterError) as refused:
        form.terms()
    assert form.field_of(str(refused.value)) is form._name


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_that_is_copied_is_the_same(kind: str) -> None:
    """Whatever can be agreed on goes through the form and back."""
    problem = drawn(kind)
    rules = {
        "preset": "paper-ap",
        "parameters": {"elites": 20, "reevaluate_parents": True},
        "limits": {"distinct_min": 30, "evaluations": 77, "expiry_hours": 0.5},
        "reveal_best": True,
        "deadline_seconds": 2.5,
    }
    terms = checked_terms(usual_terms(problem, [ObjectiveRule("top:5", "value")], **rules))
    wide = [replace(terms.objectives[0], weight_bound=10**7, scale=100)]
    terms = replace(terms, objectives=wide)
    form = copied(*draft_of_terms(terms))
    assert form.wrong_field() is None
    assert form.terms() == terms


def test_what_was_left_open_stays_open() -> None:
    problem = drawn()
    terms = checked_terms(usual_terms(problem, [ObjectiveRule("top:5", "value")]))
    assert terms.limits.evaluations
    assert draft_of_terms(terms)[1].limits.evaluations is None


def test_public_weights_and_weightings_are_copied() -> None:
    form, _ = form_of(FILE["objectives"])
    terms = checked_terms(form.terms())
    public = PublicWeights({1: [[1, 2, 3, 4]] * 4})
    again, read = draft_of_terms(public.filled_in(terms.without_weights()))
    assert checked_terms(copied(again, read).terms()) == terms
    both = [{**FILE["objectives"][0], "name": name, "disclosure": "sealed", "best": "nothing"}
            for name in "ab"]  # fmt: skip
    form, _ = form_of(both)
    box = form._advanced.field
    box.value = "iterations=40\ncheckpoints=16:24\nweightings=3:1, 1"
    assert form.wrong_field() is box
    assert "give 2, one per objective" in str(box.error)
    box.value = "iterations=40\ncheckpoints=16:24\nweightings=3:1, 1:1"
    assert form.wrong_field() is None
    found = form.terms()
    assert found.parameters == {"iterations": 40, "checkpoints": "16:24"}
    assert (found.preset, found.weightings) == (None, ["3:1", "1:1"])
    checked_terms(found)


@pytest.mark.parametrize("kind", ["ap", "capacitated", "tsp"])
def test_the_settings_of_a_sealed_run_follow_from_its_kind(kind: str) -> None:
    problem = drawn(kind)
    form = copied(problem, usual_terms(problem, [ObjectiveRule("sealed", "nothing")]))
    shown = form._advanced._known
    for name in setting_names(search_kind(problem, sealed=True)):
        assert f">{name}<" in shown.content
    assert "tournament" not in shown.content
    form._each[0].method.value = "top"
    assert "tournament" in shown.content


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("popluation=40", "did you mean population"),
        ("population", "name each setting once"),
        ("elites=many", "Elites is 'many'"),
        ("expiry_hours=0", "At expiry_hours"),
        ("on_loss=three", "this platform's clusters have three"),
        ("iterations=4", "is not a setting of this run"),
    ],
)
def test_what_is_wrong_in_the_box_is_said_beside_it(line: str, said: str) -> None:
    form, _ = form_of(FILE["objectives"][:1])
    form._advanced.field.value = line
    assert form.wrong_field() is form._advanced.field
    assert said in str(form._advanced.field.error)
    form._advanced.field.value = ""
    assert form.wrong_field() is None


def test_the_box_has_every_setting_that_differs_from_the_usual() -> None:
    problem = drawn()
    terms = usual_terms(problem, [RULE])
    assert lines_of(terms) == ""
    differ = replace(terms, parameters={"ties": "first"}, front="plans", reveal_best=True)
    assert lines_of(differ).splitlines() == ["reveal_best=true", "front=plans", "ties=first"]
    assert {*RunSettings.__struct_fields__} >= {*msgspec.structs.asdict(terms.limits)}


def test_a_sealed_run_that_is_left_open_stays_open_and_can_be_copied() -> None:
    problem = drawn()
    usual = usual_terms(problem, [ObjectiveRule("sealed", "nothing")], parameters={"gap": 2})
    for most in (None, 33):
        terms = checked_terms(replace(usual, limits=replace(usual.limits, evaluations=most)))
        assert terms.limits.evaluations == most
        again, read = draft_of_terms(terms)
        assert read.limits.evaluations == most
        assert copied(again, read).terms() == terms


def test_a_sealed_run_cannot_say_whether_its_best_improved() -> None:
    form, _ = form_of(FILE["objectives"][:1])
    rules = form._each[0]
    assert rules.best is not None
    assert "improvement" in rules.best.options
    rules.method.value = "sealed"
    assert "improvement" not in rules.best.options
    assert disclosed(form) == [("sealed", "nothing")]
    rules.best.value = "value"
    rules.method.value = "top"
    assert "improvement" in rules.best.options


def test_weights_at_hand_fit_their_range() -> None:
    problem = drawn_problem("ap", rows=5, columns=5, participants=2, seed=4)
    form = copied(problem, usual_terms(problem))
    largest = form._weights[0].largest
    largest.value = 1
    assert form.wrong_field() is largest
    assert "The weights at hand go up to" in str(largest.error)
    largest.value = 2000.5
    assert form.wrong_field() is largest
    assert "more decimals" in str(largest.error)
    form._weights[0].decimals.value = 1
    assert form.wrong_field() is None
    (one,) = form.terms().objectives
    assert (one.weight_bound, one.scale) == (20005, 10)


def test_a_refusal_is_said_at_its_field() -> None:
    form, _ = form_of(FILE["objectives"])
    box = form._advanced.field
    assert form.field_of("elites is 10 of a population of 10; leave room for offspring") is box
    assert form.field_of("at deadline_seconds: expected a number > 0") is form._deadline
    assert form.field_of("something else") is None


def test_names_that_only_accounts_confuse() -> None:
    cost = Objective("cost", None, weight_bound=9)
    owners = (Participant("a b", (0,)), Participant("a-b", (1,)))
    problem = Assignment(name="p", rows=2, columns=2, objectives=(cost,), participants=owners)
    with pytest.raises(ParameterError, match="rename one"):
        usual_terms(problem)


def test_the_archive_has_a_file_for_each_participant(tmp_path: Path) -> None:
    problem = drawn_problem("ap", rows=5, columns=5, participants=2, seed=4)
    with zipfile.ZipFile(io.BytesIO(costs_archive(problem))) as archive:
        assert archive.namelist() == ["participant-1.csv", "participant-2.csv", "public.json"]
        archive.extractall(tmp_path)
    weights = problem.objectives[0].weights
    assert weights is not None
    assert read_csv_weights(tmp_path / "participant-2.csv").weights.tolist() == weights[3:].tolist()
