"""Capacitated assignments and routes on the platform: drafts, agreements, results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tacit.client import Plan, RunTerms
from tacit.client.models import FoundPlans, Generate
from tacit.errors import TacitError
from tacit.participant.plans import plan_rows
from tacit.participant.results import OwnResult
from tacit.problems import Problem
from tacit.problems.files.load_and_save import problem_text
from tacit.service.api.results import _result_csv
from tacit.service.api.watching import generated_terms
from tacit.service.dashboard.drafts import ObjectiveRule, drawn_problem, uploaded, usual_terms
from tacit.service.dashboard.run_plan import plan_views
from tacit.service.storage import Run
from tacit.service.workflow.drafting import (
    checked_terms,
)
from tacit.service.workflow.evidence import run_result
from tacit.service.workflow.terms import problem_of_terms
from tests.service.example_terms import agreement_on, run_about

DRAWN = ("capacitated", "routing")


def terms_of(kind: str, **changes: Any) -> RunTerms:
    return generated_terms(Generate(kind=kind, rows=8, columns=3, **changes))  # type: ignore[arg-type]


def a_plan(problem: Problem) -> list[int]:
    genome = np.arange(problem.genome_length, dtype=np.int32)[None]
    return [int(item) for item in problem.plans(genome)[0]]


@pytest.mark.parametrize("kind", DRAWN)
def test_drawn_and_uploaded_problems_become_agreements(kind: str) -> None:
    terms = terms_of(kind)
    checked_terms(terms)
    agreed = agreement_on(terms).known_problem
    assert (agreed.kind, agreed.data) == (kind, problem_of_terms(terms).data)
    problem = drawn_problem(kind, rows=8, columns=3, participants=2, seed=1)
    again, _ = uploaded(problem_text(problem).encode())
    draft = usual_terms(again, [ObjectiveRule("top:15", "value")])
    assert agreement_on(draft).known_problem.data == problem.data


def test_only_kinds_with_moves_are_sealed() -> None:
    checked_terms(terms_of("capacitated", disclosure="sealed"))
    with pytest.raises(TacitError, match="no moves"):
        checked_terms(terms_of("routing", disclosure="sealed"))


@pytest.mark.parametrize("kind", DRAWN)
def test_results_are_shown_in_the_words_of_the_kind(kind: str) -> None:
    terms = terms_of(kind)
    problem = problem_of_terms(terms)
    items = a_plan(problem)
    found = FoundPlans(plan=Plan(items=items, named=problem.named_plan(items)))
    run = Run(state="finished", reason=None, terms=terms, result=found)
    assert run_result(run).plan is not None
    lines = _result_csv(run).splitlines()
    assert lines[0] == ("row,column" if kind == "capacitated" else "vehicle,customer")
    assert len(lines) == 1 + len(problem.listed(items))
    assert "<table" in plan_views(run_about(terms), items)[1]
    agreement = agreement_on(terms)
    name = agreement.participants[0].name
    told = plan_rows(
        OwnResult(state="finished", reason=None, plan=Plan(items=items)), agreement, name
    )
    assert len(told) == len(lines) - 1
    assert any(line[2] for line in told)
    assert [line[0] for line in told] == [line.split(",")[0] for line in lines[1:]]
