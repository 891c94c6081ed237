"""How much a curious platform could infer from a run, in the words that participants read.

The figures are those of `tacit.audit`'s table: the agreed search and the worst case side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from pydantic import ValidationError

from tacit.audit import (
    costs_or_values,
    expected_leakage,
    explain_expected,
    first_columns,
    plan_for,
)
from tacit.errors import TacitError
from tacit.search import resembles_a_preset
from tacit.service.api.terms import RunTerms
from tacit.service.workflow.drafting import (
    budget_of_terms,
    parameters_of_terms,
    plans_of_terms,
    population_of_terms,
    problem_of_terms,
)


def inferred(terms: dict[str, Any], /) -> list[tuple[str, str]]:
    """Each objective with a paragraph on it, for all evaluations that the terms allow.

    Terms that are still wrong say nothing: the API says what is wrong with them.
    """
    try:
        return _inferred(RunTerms.model_validate(terms))
    except (TacitError, ValidationError):
        return []


def _inferred(terms: RunTerms) -> list[tuple[str, str]]:
    problem, evaluations = terms.problem, budget_of_terms(terms)
    population = population_of_terms(terms) or 1
    parameters = parameters_of_terms(terms)
    plans = plans_of_terms(terms)
    measured = resembles_a_preset(parameters, objectives=len(terms.objectives))
    explained = []
    for each in terms.objectives:
        if not each.confidential:
            continue
        expected = expected_leakage(
            each.disclosure,
            kind=problem.kind,
            rows=problem.rows,
            columns=problem.columns,
            population=population,
            evaluations=evaluations,
            scheduled=first_columns(problem.forbidden, problem.rows) is not None,
        )
        paragraph = explain_expected(
            expected,
            disclosure=each.disclosure,
            evaluations=evaluations,
            population=population,
            costs=costs_or_values(each.sense),
            best=each.best,
            asks="nodes" if measured else "unmeasured",
            plans=plans,
            plan_for=plan_for(problem_of_terms(terms, proven=True), terms.plan),
        )
        explained.append((each.name, paragraph))
    return explained


def inferred_markup(explained: Sequence[tuple[str, str]], /) -> str:
    """The paragraphs as a list; where there are several, each with its objective's name."""
    several = len(explained) > 1
    items = "".join(
        f"<li>{escape(f'{name}: {text}' if several else text)}</li>" for name, text in explained
    )
    return f'<ul class="sentences">{items}</ul>' if items else ""
