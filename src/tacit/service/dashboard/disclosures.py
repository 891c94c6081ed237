"""Say what a run discloses, and how much a curious platform could infer from it.

The figures are those of `tacit.audit`'s table: the agreed search and the worst case side by side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from tacit.audit import (
    Expected,
    Told,
    costs_or_values,
    expected_leakage,
    explain_expected,
    first_columns,
    plan_for,
)
from tacit.client import RunObjective, RunTerms
from tacit.disclosure import PARETO, SEALED, split_disclosure
from tacit.errors import TacitError
from tacit.search import resembles_a_preset
from tacit.service.dashboard.words import number
from tacit.service.workflow.drafting import budget_of_terms, fitting_evaluations
from tacit.service.workflow.terms import (
    parameters_of_terms,
    plans_of_terms,
    population_of_terms,
    problem_of_terms,
)

SEALED_WORDS = "sealed: nothing is disclosed before the plan is opened"


def disclosure_words(disclosure: str, /, *, for_owners: bool = False) -> str:
    """What one evaluation reveals under a disclosure; `for_owners` is the plan of a sealed one."""
    if disclosure.startswith(f"{PARETO}:"):
        shown = disclosure_words(disclosure.removeprefix(f"{PARETO}:"))
        return f"of all objectives together, {shown}"
    method, k = split_disclosure(disclosure)
    if for_owners:
        return (
            "that there is a plan, and nothing of it: each owner learns its own rows; of the "
            "search nothing but its time and steps"
        )
    return {
        "none": "the exact value of every plan of each generation",
        "order": "the order of the plans of each generation, from best to worst",
        "quantiles": f"in which of {k} equally large groups, by rank, each plan is",
        "buckets": f"in which of {k} equal ranges between worst and best each plan is",
        "top": f"which {k} plans of each generation are best",
        "above": f"which plans reach {k} % of the way from worst to best (three at least)",
        SEALED: "the plan in the end, and of the search nothing but its time and steps",
    }.get(method, disclosure)


def objective_words(objective: RunObjective, /, *, for_owners: bool = False) -> str:
    """What of an objective is disclosed, in a few words."""
    if not objective.confidential:
        return "public: everybody knows its weights"
    disclosure = objective.disclosure
    shown = disclosure_words(disclosure, for_owners=for_owners)
    return f"{disclosure}: {shown}; {best_words(objective.best)}"


def best_words(best: str, /) -> str:
    """What is disclosed of the best value besides."""
    return {
        "value": "the best value",
        "improvement": "whether the best value improved",
        "nothing": "nothing about the best value",
    }.get(best, best)


def proof_sentences(kind: str, parameters: Mapping[str, Any], /) -> list[str]:
    """What a sealed run opens besides its plan: nothing of a tour, of which nothing is proved.

    >>> proof_sentences("assignment", {"checkpoints": "48:64"})
    ['With each plan comes whether it is proved to be the best.', 'After iterations 48, 64 it is \
opened whether all plans are proved.']
    """
    if kind == "tour":
        return []
    gap = "With each plan comes by at most how much a better one could differ, rounded up."
    sentences = ["With each plan comes whether it is proved to be the best."]
    sentences += [gap] if parameters.get("gap") else []
    if checkpoints := str(parameters.get("checkpoints") or ""):
        named = checkpoints.replace(":", ", ")
        sentences.append(f"After iterations {named} it is opened whether all plans are proved.")
    return sentences


def disclosed_so_far(terms: RunTerms, generations: int, population: int, /) -> list[str]:
    """Per objective, what the platform has learned so far; `population` is 0 in a sealed search."""
    objectives = terms.objectives
    if not population:
        opened = _opened_so_far(
            objectives, is_open=generations > 0, for_owners=terms.plan == "owners"
        )
        return [opened, *proof_sentences(terms.problem.kind, terms.parameters)]
    sentences = []
    for objective in objectives:
        if not objective.confidential:
            sentences.append(f"{objective.name} is public: everybody knows its weights.")
            continue
        answers = f"{number(generations)} answer{'' if generations == 1 else 's'}"
        about = f" about {number(population)} plans each"
        shown = disclosure_words(objective.disclosure)
        best = objective.best
        more = "" if best == "nothing" or objective.disclosure == "none" else best_words(best)
        tail = f", and {more}" if more else ""
        if not generations:
            sentences.append(
                f"{objective.name}: nothing yet. Each answer will disclose {shown}{tail}."
            )
        else:
            sentences.append(f"{objective.name}: {answers}{about}. Each disclosed {shown}{tail}.")
    return sentences


def _opened_so_far(objectives: Sequence[RunObjective], *, is_open: bool, for_owners: bool) -> str:
    """What a sealed search has disclosed; several objectives open a plan for each weighting."""
    best = objectives[0].best
    plans = "the plan" if len(objectives) == 1 else "the plans, one per weighting,"
    opened = "opened to its owners alone" if for_owners else "opened"
    more = ""
    if best == "value":
        more = ", with its value" if len(objectives) == 1 else ", each with its value"
    if is_open:
        were = "was" if len(objectives) == 1 else "were"
        return f"Only {plans} {were} {opened}{more}."
    are = "is" if len(objectives) == 1 else "are"
    return f"Sealed: nothing yet. In the end {plans} {are} {opened}{more}."


class Inferred(NamedTuple):
    """What could be inferred of one objective: in words, and as figures from 0 to 1."""

    name: str
    text: str
    bars: tuple[tuple[str, float], ...]


def inferred(terms: RunTerms, /, *, evaluations: int | None = None) -> list[Inferred]:
    """Each objective, for all evaluations that the terms allow, or for those that were made.

    Terms that are still wrong say nothing: the API says what is wrong with them.
    """
    try:
        return _inferred(terms, evaluations)
    except TacitError:
        return []


def _inferred(terms: RunTerms, made: int | None) -> list[Inferred]:
    evaluates = population_of_terms(terms)
    evaluations = made or (budget_of_terms(terms) if evaluates else fitting_evaluations(terms))
    population = evaluates or 1
    parameters = parameters_of_terms(terms)
    measured = resembles_a_preset(parameters, objectives=len(terms.objectives))
    explained = []
    for each in terms.objectives:
        if not each.confidential:
            continue
        expected = _expected(each.disclosure, terms, evaluations, population)
        paragraph = explain_expected(
            expected,
            disclosure=each.disclosure,
            evaluations=evaluations,
            population=population,
            costs=costs_or_values(each.sense),
            best=each.best,
            asks="nodes" if measured else "unmeasured",
            plans=plans_of_terms(terms),
            plan_for=plan_for(problem_of_terms(terms, proven=True), terms.plan),
        )
        exact = _expected("none", terms, evaluations, population)
        bars = (
            ("this run", 0.0 if terms.plan == "owners" else _figure(expected, expected.honest)),
            ("if every value were disclosed", _figure(exact, exact.honest)),
            ("the published plan alone", _figure(expected, expected.plan_only)),
        )
        explained.append(Inferred(each.name, paragraph, bars))
    return explained


def _expected(disclosure: str, terms: RunTerms, evaluations: int, population: int) -> Expected:
    problem = terms.problem
    return expected_leakage(
        disclosure,
        kind=problem.kind,
        rows=problem.rows,
        columns=problem.columns,
        population=population,
        evaluations=evaluations,
        scheduled=first_columns(problem.forbidden, problem.rows) is not None,
    )


def _figure(expected: Expected, told: Told) -> float:
    """Where much is known before the run, what it adds."""
    return told.gain if expected.prior_alone else told.correlation


def inferred_markup(explained: Sequence[Inferred], /) -> str:
    """A gauge for each objective, with what it is to be compared to, and the words behind it."""
    several = len(explained) > 1
    return "".join(
        (f"<h3>{escape(each.name)}</h3>" if several else "")
        + _gauge(each.bars)
        + f"<details><summary>In words</summary><p>{escape(each.text)}</p></details>"
        for each in explained
    )


def _gauge(bars: Sequence[tuple[str, float]]) -> str:
    """A bar per figure; what a bar says is also there as text."""
    rows = "".join(
        f'<div class="{"own" if i == 0 else "other"}"><dt>{escape(label)}</dt><dd>'
        f'<span class="track"><span style="width: {100 * min(max(value, 0), 1):.0f}%"></span>'
        f"</span><span>{value:.2f}</span></dd></div>"
        for i, (label, value) in enumerate(bars)
    )
    return f'<dl class="gauge">{rows}</dl><p class="hint">From 0, nothing, to 1, everything.</p>'
