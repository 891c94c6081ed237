"""Say what a run discloses, and how much a curious platform could infer from it.

The figures are those of `tacit.audit`'s table: the agreed search and the worst case side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from tacit.audit import (
    Expected,
    LeakageFigure,
    costs_or_values,
    expected_leakage,
    explain_expected,
    first_columns,
    plan_for,
    words_for_plans,
)
from tacit.client import RunObjective, RunTerms
from tacit.disclosure import (
    PARETO,
    SEALED,
    checkpoint_words,
    gap_words,
    opened_words,
    revealed_words,
)
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

OF_EACH_GENERATION = "the plans of each generation"


def objective_words(terms: RunTerms, objective: RunObjective, /) -> str:
    """Return what of an objective is disclosed, after the text of its disclosure."""
    if not objective.confidential:
        return "public: everybody knows its weights"
    disclosure = objective.disclosure
    if disclosure == SEALED:
        return f"{disclosure}: {opened_of(terms)[0]}"
    shown = revealed_words(disclosure, OF_EACH_GENERATION, best=objective.best)
    return f"{disclosure}: {shown}"


def opened_of(terms: RunTerms, /) -> list[str]:
    """Return what a sealed run opens."""
    # Of a tour nothing is proved, so it has neither a gap nor checkpoints.
    proves = terms.problem.kind != "tour"
    opened = opened_words(
        plans_of_terms(terms)[0],
        proves=proves,
        value=terms.objectives[0].best == "value",
        for_owners=terms.plan == "owners",
    )
    gap, checkpoints = terms.parameters.get("gap"), terms.parameters.get("checkpoints")
    more = [gap_words(int(gap))] if proves and gap else []
    if proves and checkpoints:
        more.append(checkpoint_words([int(each) for each in str(checkpoints).split(":")]))
    return [opened, *more]


def to_be_disclosed(terms: RunTerms, /) -> list[str]:
    """Return what the platform will learn under these terms, in sentences."""
    if any(each.disclosure == SEALED for each in terms.objectives):
        return [f"The platform will learn {each}." for each in opened_of(terms)]
    together = terms.objectives[0].disclosure.startswith(f"{PARETO}:")
    names = len(terms.objectives) > 1 and not together
    sentences = []
    for each in terms.confidential:
        shown = revealed_words(each.disclosure, OF_EACH_GENERATION, best=each.best)
        sentences.append(
            f"{f'Of {each.name} the' if names else 'The'} platform will learn {shown}."
        )
    return list(dict.fromkeys(sentences))


def disclosed_so_far(terms: RunTerms, answers: int, population: int, /) -> list[str]:
    """Return what the platform has learned; `population` is 0 in a sealed search."""
    if not population and answers:
        return [f"The platform learned {each}." for each in opened_of(terms)]
    if not answers:
        return ["Nothing yet.", *to_be_disclosed(terms)]
    count = f"{number(answers)} answer{'' if answers == 1 else 's'}"
    sentences = []
    for each in terms.objectives:
        if not each.confidential:
            sentences.append(f"{each.name} is public: everybody knows its weights.")
            continue
        plans = f"its {number(population)} plans"
        shown = revealed_words(each.disclosure, plans, best=each.best)
        sentences.append(f"{each.name}: {count}. Each disclosed {shown}.")
    return sentences


class Inferred(NamedTuple):
    """What could be inferred of one objective: in words, and as figures from 0 to 1."""

    name: str
    text: str
    bars: tuple[tuple[str, float], ...]


def inferred(terms: RunTerms, /, *, evaluations: int | None = None) -> list[Inferred]:
    """Estimate for each objective, for all evaluations that the terms allow or for `evaluations`.

    Terms that are still wrong say nothing: the API says what is wrong with them.
    """
    try:
        return _inferred(terms, evaluations)
    except TacitError:
        return []


def _inferred(terms: RunTerms, made: int | None) -> list[Inferred]:
    evaluates = population_of_terms(terms)
    # A run that is over is judged by what was evaluated, not by what might have been.
    evaluations = made or (budget_of_terms(terms) if evaluates else fitting_evaluations(terms))
    population = evaluates or 1
    parameters = parameters_of_terms(terms)
    measured = resembles_a_preset(parameters, objectives=len(terms.objectives))
    explained = []
    opened, plans = plans_of_terms(terms)
    for each, of_it in zip(terms.objectives, plans, strict=True):
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
            of_plans=words_for_plans(of_it, opened),
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


def _figure(expected: Expected, learned: LeakageFigure) -> float:
    """Where much is known before the run, what it adds."""
    return learned.gain if expected.prior_alone else learned.correlation


def inferred_markup(explained: Sequence[Inferred], /) -> str:
    """Draw a gauge for each objective, with the words behind it."""
    several = len(explained) > 1
    return "".join(
        (f"<h3>{escape(each.name)}</h3>" if several else "")
        + _gauge(each.bars)
        + f"<details><summary>In words</summary><p>{escape(each.text)}</p></details>"
        for each in explained
    )


def _gauge(bars: Sequence[tuple[str, float]]) -> str:
    """Draw a bar per figure. The figure is there as text, too."""
    rows = "".join(
        f'<div class="{"own" if i == 0 else "other"}"><dt>{escape(label)}</dt><dd>'
        f'<span class="track"><span style="width: {100 * min(max(value, 0), 1):.0f}%"></span>'
        f"</span><span>{value:.2f}</span></dd></div>"
        for i, (label, value) in enumerate(bars)
    )
    return f'<dl class="gauge">{rows}</dl><p class="hint">From 0, nothing, to 1, everything.</p>'
