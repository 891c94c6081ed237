"""Estimates of what could be inferred: the dashboard has the words that participants read."""

from __future__ import annotations

import re
from html import unescape

import msgspec
import pytest
from nicegui import Client, ui

from tacit.audit import explain_leakage
from tacit.client import converted
from tacit.client.models import RunProgress
from tacit.client.terms import RunTerms
from tacit.problems import Problem
from tacit.service.dashboard.disclosures import inferred, inferred_markup
from tacit.service.dashboard.drafts import ObjectiveRule, drawn_problem, usual_terms
from tacit.service.dashboard.rules_form import RulesForm, inferred_from
from tacit.service.dashboard.run_page import evaluations_made
from tests.service.dashboard.plain_browser import browser, sign_in
from tests.service.example_terms import agreement_on, plain_terms, run_about
from tests.service.world import World


def problem(kind: str = "ap") -> Problem:
    return drawn_problem(kind, rows=40, columns=40, participants=2, seed=1)


def about(kind: str = "ap", disclosure: str = "top:15") -> RunTerms:
    rule = ObjectiveRule(disclosure, "improvement")
    return usual_terms(problem(kind), [rule], limits={"evaluations": 500})


@pytest.mark.parametrize("kind", ["ap", "delays", "tsp"])
@pytest.mark.parametrize("disclosure", ["none", "quantiles:5", "top:15", "above:95"])
def test_the_form_says_what_the_agreement_will_say(kind: str, disclosure: str) -> None:
    terms = about(kind, disclosure)
    (said,) = explain_leakage(agreement_on(terms))
    shown = unescape(inferred_from(terms))
    assert f"<p>{said}</p></details>" in shown
    # The figure of the words is that of the gauge, beside what it is to be compared to.
    figure = re.search(r"this run</dt>.*?<span>([.\d]+)</span>", shown)
    assert figure is not None
    assert f"({figure[1]}" in said
    assert "if every value were disclosed" in shown
    assert "After 500 evaluations of" in said
    assert "no platform can ask for anything else" in said


def test_the_form_follows_what_is_filled_in() -> None:
    with Client(ui.page("/only-here")):
        form = RulesForm(problem(), usual_terms(problem()))
        form._each[0].method.value = "top"
        shown = form._inferred
        first = shown.content
        # 300 candidates, 100 times a second for ten seconds.
        assert "After 1,000 evaluations of" in first
        form._deadline.value = 5
        assert "After 500 evaluations of" in shown.content
        form._advanced.field.value = "evaluations=3"
        assert "After 3 evaluations of" in shown.content
        form._each[0].method.value = "order"
        assert "under order" in shown.content
        form._each[0].method.value, form._each[0].k.value = "top", None
        assert shown.content == ""


def test_what_was_evaluated_counts_once_a_run_is_over() -> None:
    progress = RunProgress(
        generation=316, evaluations=317, evaluations_per_second=1.0, best=[], seconds=9.0
    )
    run = run_about(state="running", progress=progress)
    assert evaluations_made(run) is None
    made = evaluations_made(msgspec.structs.replace(run, state="finished"))
    assert inferred(about(), evaluations=made)[0].text.startswith("After 317 evaluations")


def test_terms_that_are_wrong_say_nothing() -> None:
    (one,) = about().objectives
    for wrong in ("top:0", "no"):
        objectives = [msgspec.structs.replace(one, disclosure=wrong)]
        assert inferred_from(msgspec.structs.replace(about(), objectives=objectives)) == ""


def test_sealed_and_several_objectives() -> None:
    terms = plain_terms()
    one = terms["objectives"][0]
    terms["objectives"] = [
        {**one, "name": "<delay>", "disclosure": "sealed", "best": "nothing"},
        {**one, "name": "noise", "disclosure": "sealed", "best": "nothing"},
    ]
    terms |= {"preset": None, "parameters": {}}
    told = inferred(converted(terms, RunTerms))
    assert [each.name for each in told] == ["<delay>", "noise"]
    assert all("nothing but the plan is disclosed" in each.text for each in told)
    assert "<h3>&lt;delay&gt;</h3>" in inferred_markup(told)
    # Each of the two has no say in the plan of the other alone.
    assert all("Of the 5 plans" in each.text and "4 are of this" in each.text for each in told)
    assert (
        "Of the 2 plans"
        in inferred(converted({**terms, "weightings": ["3:1", "1:3"]}, RunTerms))[0].text
    )
    # With the words that participants read before they sign.
    first, second = told
    assert first.text == second.text
    assert explain_leakage(agreement_on(terms)) == [f"'<delay>' and 'noise': {first.text}"]


def test_the_page_of_a_run_says_it(dashboard: World) -> None:
    terms = plain_terms()
    run_id = dashboard.draft()
    (said,) = explain_leakage(agreement_on(terms))
    with browser(dashboard) as client:
        sign_in(client, dashboard.tokens["op"])
        page = client.get(f"/runs/{run_id}")
    assert "What could be inferred" in page.text
    assert said.split(",", 1)[0] in page.text
    assert "this search has settings of its own" in page.text
