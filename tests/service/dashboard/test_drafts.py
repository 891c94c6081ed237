"""Drafts from drawn and uploaded problems: the API takes them, and they hold nobody's weights."""

import io
import json
import zipfile
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from nicegui import Client, ui

from tacit.errors import ParameterError
from tacit.problems import Assignment, Objective, Participant, Problem, save_problem
from tacit.problems.files.matrices import read_csv_weights
from tacit.search.moves import TourParameters
from tacit.service.api.terms import RunTerms
from tacit.service.dashboard.drafts import (
    KINDS,
    costs_archive,
    drawn_problem,
    uploaded,
)
from tacit.service.dashboard.forms.rules_form import RulesForm, why_not_together
from tacit.service.dashboard.pages.draft_page import objectives_table, participants_table
from tacit.service.dashboard.rules import (
    ObjectiveRule,
    Rules,
    SearchRules,
    WeightRange,
    draft_of_terms,
    run_terms,
    usual_rules,
)
from tacit.service.workflow.drafting import checked_terms

RULES = Rules("a run", "top:15", "improvement", 10.0, 500, 24.0, reveal_best=True)


@pytest.mark.parametrize("kind", KINDS)
def test_the_api_takes_the_terms_of_a_drawn_problem(kind: str) -> None:
    problem = drawn_problem(kind, rows=6, columns=9, participants=3, seed=4)
    terms = RunTerms.model_validate(run_terms(problem, RULES))
    assert (terms.problem.rows, terms.problem.kind) == (6, problem.kind)
    assert sorted(row for rows in terms.participants.values() for row in rows) == list(range(6))
    assert terms.objectives[0].weight_bound == problem.objectives[0].weight_bound
    assert (terms.reveal_best, terms.limits.evaluations) == (True, 500)


def test_costs_in_an_upload_go_no_further(tmp_path: Path) -> None:
    problem = drawn_problem("delays", rows=20, columns=30, participants=3, seed=4)
    save_problem(problem, tmp_path / "p.json")
    upload = uploaded((tmp_path / "p.json").read_bytes())
    terms = run_terms(upload.problem, RULES)
    assert terms == run_terms(problem, RULES)
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
    upload = uploaded(json.dumps({**FILE, "objectives": objectives}).encode())
    with Client(ui.page("/only-here")):
        start = usual_rules(upload.problem, upload.rules)
        return RulesForm(upload.problem, start, nodes=nodes), upload.problem


def test_what_a_file_says_of_each_objective_stands() -> None:
    form, problem = form_of(FILE["objectives"])
    terms = checked_terms(RunTerms.model_validate(run_terms(problem, form.rules())))
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
    form, problem = form_of([{**each, "disclosure": "pareto:top:7"} for each in both], nodes=4)
    assert form.rules().objectives == (ObjectiveRule("pareto:top:7", "nothing"),) * 2
    form._together.method.value = "quantiles"
    form._on_loss.value = "three"
    terms = checked_terms(RunTerms.model_validate(run_terms(problem, form.rules())))
    assert [each.disclosure for each in terms.objectives] == ["pareto:quantiles:20"] * 2
    assert terms.on_loss == "three"
    form._compared.value = "each"
    form._each[1].method.value = "sealed"
    assert {each.disclosure for each in form.rules().objectives} == {"sealed"}


def test_a_number_that_does_not_fit_is_refused_and_stays() -> None:
    form, _ = form_of(FILE["objectives"])
    assert form.trouble() is None
    form._deadline.value = -3
    form._deadline.sanitize()  # as leaving the field does
    assert form._deadline.value == -3
    assert form.trouble() == "Deadline in seconds: Give 0.5 to 604,800"


def test_a_refusal_speaks_of_the_form() -> None:
    problem = drawn_problem("ap", rows=5, columns=5, participants=2, seed=4)
    with pytest.raises(ParameterError, match="the name of the run is empty"):
        run_terms(problem, replace(RULES, name=""))


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_that_is_copied_is_the_same(kind: str) -> None:
    """Whatever can be agreed on goes through the form and back."""
    problem = drawn_problem(kind, rows=6, columns=9, participants=3, seed=4)
    search = SearchRules("paper-ap", {"elites": 20, "reevaluate_parents": True})
    rules = replace(
        usual_rules(problem, [ObjectiveRule("top:5", "value")]),
        ranges=(WeightRange(10**7, 100),), search=search, distinct_min=30, reveal_best=True,
        evaluations=77, expiry_hours=0.5, deadline_seconds=2.5,
    )  # fmt: skip
    terms = checked_terms(RunTerms.model_validate(run_terms(problem, rules)))
    told = terms.model_dump(mode="json")
    again, read = draft_of_terms(told, {})
    with Client(ui.page("/only-here")):
        form = RulesForm(again, read)
    assert form.trouble() is None
    assert RunTerms.model_validate(run_terms(again, form.rules())) == terms


def test_what_was_left_open_stays_open() -> None:
    problem = drawn_problem("ap", rows=6, columns=9, participants=3, seed=4)
    rules = usual_rules(problem, [ObjectiveRule("top:5", "value")])
    terms = checked_terms(RunTerms.model_validate(run_terms(problem, rules)))
    assert terms.limits.evaluations
    assert draft_of_terms(terms.model_dump(mode="json"), {})[1].evaluations == 0


def test_public_weights_and_weightings_are_copied() -> None:
    form, problem = form_of(FILE["objectives"])
    terms = checked_terms(RunTerms.model_validate(run_terms(problem, form.rules())))
    told = terms.model_dump(mode="json")
    del told["objectives"][1]["weights"]
    again, read = draft_of_terms(told, {"1": [[1, 2, 3, 4]] * 4})
    assert checked_terms(RunTerms.model_validate(run_terms(again, read))) == terms
    both = [{**FILE["objectives"][0], "name": name, "disclosure": "sealed", "best": "nothing"}
            for name in "ab"]  # fmt: skip
    form, problem = form_of(both)
    form._search.in_sight.fields["iterations"].value = 40
    form._search.in_sight.fields["checkpoints"].value = "16:24"
    form._search._weightings.value = "3:1, 1"
    assert form.trouble() == "Weightings, such as 3:1, 1:1: 1: give 2 numbers, one per objective"
    form._search._weightings.value = "3:1, 1:1"
    assert form.trouble() is None
    found = form.rules().search
    assert found == SearchRules(None, {"iterations": 40, "checkpoints": "16:24"}, ("3:1", "1:1"))
    checked_terms(RunTerms.model_validate(run_terms(problem, form.rules())))


@pytest.mark.parametrize(
    ("kind", "named"),
    [
        ("ap", {"iterations", "checkpoints", "gap", "together"}),
        ("capacitated", {"iterations", "checkpoints", "gap", "together"}),
        ("tsp", {field.name for field in fields(TourParameters)}),
    ],
)
def test_the_settings_of_a_sealed_run_follow_from_its_kind(kind: str, named: set[str]) -> None:
    problem = drawn_problem(kind, rows=6, columns=9, participants=3, seed=4)
    with Client(ui.page("/only-here")):
        form = RulesForm(problem, usual_rules(problem, [ObjectiveRule("sealed", "nothing")]))
    assert set(form._search.in_sight.fields) == named
    form._each[0].method.value = "top"
    assert "population" in form._search.in_sight.fields


def test_a_sealed_run_that_is_left_open_stays_open_and_can_be_copied() -> None:
    problem = drawn_problem("ap", rows=6, columns=9, participants=3, seed=4)
    rules = replace(
        usual_rules(problem, [ObjectiveRule("sealed", "nothing")]),
        search=SearchRules(None, {"gap": 2}),
    )
    for most in (0, 33):
        terms = checked_terms(
            RunTerms.model_validate(run_terms(problem, replace(rules, evaluations=most)))
        )
        assert terms.limits.evaluations == (most or None)
        again, read = draft_of_terms(terms.model_dump(mode="json"), {})
        assert read.evaluations == most
        assert RunTerms.model_validate(run_terms(again, read)) == terms


def test_a_sealed_run_cannot_say_whether_its_best_improved() -> None:
    form, _ = form_of(FILE["objectives"][:1])
    rules = form._each[0]
    assert rules.best is not None
    assert "improvement" in rules.best.options
    rules.method.value = "sealed"
    assert "improvement" not in rules.best.options
    assert form.rules().objectives == (ObjectiveRule("sealed", "nothing"),)
    rules.best.value = "value"
    rules.method.value = "top"
    assert "improvement" in rules.best.options


def test_weights_at_hand_fit_their_range() -> None:
    problem = drawn_problem("ap", rows=5, columns=5, participants=2, seed=4)
    with Client(ui.page("/only-here")):
        form = RulesForm(problem, usual_rules(problem))
    largest = form._weights[0].largest
    largest.value = 1
    assert "The weights at hand go up to" in str(form.trouble())
    largest.value = 2000.5
    assert "more decimals" in str(form.trouble())
    form._weights[0].decimals.value = 1
    assert form.trouble() is None
    assert form.rules().ranges == (WeightRange(20005, 10),)


def test_a_refusal_is_said_at_its_field() -> None:
    form, _ = form_of(FILE["objectives"])
    elites = form._search.in_sight.fields["elites"]
    assert form.field_of("elites is 10 of a population of 10; leave room for offspring") is elites
    assert form.field_of("the deadline is too small; correct it") is form._deadline
    assert form.field_of("something else") is None


def test_names_that_only_accounts_confuse() -> None:
    cost = Objective("cost", None, weight_bound=9)
    owners = (Participant("a b", (0,)), Participant("a-b", (1,)))
    problem = Assignment(name="p", rows=2, columns=2, objectives=(cost,), participants=owners)
    with pytest.raises(ParameterError, match="rename one"):
        run_terms(problem, RULES)


def test_the_archive_has_a_file_for_each_participant(tmp_path: Path) -> None:
    problem = drawn_problem("ap", rows=5, columns=5, participants=2, seed=4)
    with zipfile.ZipFile(io.BytesIO(costs_archive(problem))) as archive:
        assert archive.namelist() == ["participant-1.csv", "participant-2.csv", "public.json"]
        archive.extractall(tmp_path)
    weights = problem.objectives[0].weights
    assert weights is not None
    assert read_csv_weights(tmp_path / "participant-2.csv").weights.tolist() == weights[3:].tolist()
