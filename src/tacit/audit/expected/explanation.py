"""What an agreement gives away, explained to its signatories."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.audit.expected.table import OPEN_ONLY_A_PLAN, Expected, expected_leakage

if TYPE_CHECKING:
    from tacit.engine.agreement import Agreement

BANDS = (
    (0.97, "could reconstruct {costs} almost exactly"),
    (0.9, "could reconstruct {costs} closely"),
    (0.7, "could draw a good picture of {costs}"),
    (0.4, "could draw a rough picture of {costs}"),
)
LITTLE = "would learn a little about {costs}"
NOTHING_MORE = "would learn hardly more about {costs} than the published plan shows"
SMALL = "Problems as small as this one give away more than was measured."
NOTICEABLE = 0.1
"""The margin over the published plan's correlation from which one counts."""


def explain_leakage(agreement: Agreement, /) -> list[str]:
    """A paragraph on each confidential objective: honest search and worst case side by side."""
    several = len(agreement.objectives) > 1
    return [
        explain_expected(
            expected_in(agreement, k),
            disclosure=terms.disclosure,
            evaluations=agreement.limits.evaluations,
            population=agreement.limits.population_max,
            costs=costs_or_values(terms.sense),
            best=terms.best,
            several=several,
        )
        for k in agreement.confidential()
        for terms in (agreement.objectives[k],)
    ]


def costs_or_values(sense: str, /) -> str:
    """The participants' name for their weights."""
    return "costs" if sense == "minimize" else "values"


def expected_in(agreement: Agreement, objective: int, /) -> Expected:
    """The figures for one objective of an agreement, from 0 (nothing) to 1 (everything)."""
    problem, limits = agreement.problem, agreement.limits
    return expected_leakage(
        agreement.objectives[objective].disclosure,
        kind=problem.kind,
        rows=problem.rows,
        columns=problem.columns,
        population=limits.population_max,
        evaluations=limits.evaluations,
    )


def explain_expected(
    expected: Expected,
    /,
    *,
    disclosure: str,
    evaluations: int,
    population: int,
    costs: str,
    best: str = "nothing",
    several: bool = False,
) -> str:
    """One paragraph. `best` and `several` objectives matter under `sealed` only.

    >>> expected = Expected(0.5, 0.99, 0.16, "top:15", beyond=False, smaller=False)
    >>> run = {"disclosure": "top:15", "evaluations": 500, "population": 300}
    >>> print(explain_expected(expected, costs="costs", **run))
    After 500 evaluations of 300 candidates under top:15, a curious platform that keeps to the \
agreed search could draw a rough picture of your costs (0.50 on a scale from 0, nothing, to 1, \
everything). One that breaks the agreement with unrestricted queries could reconstruct your costs \
almost exactly (0.99); the nodes' logs show that afterwards. A curious node sees the candidates, \
and could learn most of what the platform does. The published plan alone tells 0.16.
    """
    if disclosure in OPEN_ONLY_A_PLAN:
        return _explain_sealed(expected, costs, best, several=several)
    sentences = [
        f"After {evaluations:,} evaluations of {population:,} candidates under {disclosure}, a "
        "curious platform that keeps to the agreed search "
        f"{_verb(expected.honest, expected, costs)} "
        f"({expected.honest:.2f} on a scale from 0, nothing, to 1, everything).",
        "One that breaks the agreement with unrestricted queries "
        f"{_verb(expected.worst, expected, costs)} ({expected.worst:.2f}); the nodes' logs show "
        "that afterwards.",
        "A curious node sees the candidates, and could learn most of what the platform does.",
        f"The published plan alone tells {expected.plan_only:.2f}.",
    ]
    if expected.measured_as != disclosure:
        sentences.append(f"Measured under {expected.measured_as}.")
    if expected.beyond:
        sentences.append("No measurement has as many evaluations: it may be more.")
    return " ".join([*sentences, *_reservations(expected)])


def _explain_sealed(expected: Expected, costs: str, best: str, *, several: bool) -> str:
    little = LITTLE.format(costs=f"your {costs}")
    sentences = [
        "Under sealed nothing but the plan is disclosed. From the plan alone, a curious platform "
        f"that keeps to the agreed search {little} (about {expected.honest:.2f} on a scale from "
        "0, nothing, to 1, everything).",
        "One that breaks the agreement gets a plan and no more as well, at most a worse one "
        f"(about {expected.worst:.2f}).",
    ]
    if best == "value":
        sentences.append("The total value of the plan is disclosed to it, too.")
    if best == "improvement":
        sentences.append(
            "Which generations improved the best plan is disclosed to it, too, but not that plan."
        )
    if several:
        sentences.append("That is for one plan; each weighting of the objectives opens one more.")
    return " ".join([*sentences, *_reservations(expected)])


def _reservations(expected: Expected) -> list[str]:
    other = expected.measured_kind
    text = f"This kind of problem was not measured: the figures are those of the kind {other}."
    return [SMALL] * expected.smaller + [text] * (other is not None)


def how_much(correlation: float, /, *, plan_only: float, costs: str) -> str:
    """What an attacker with such a correlation could do, or would learn.

    >>> how_much(0.5, plan_only=0.16, costs="your costs")
    'could draw a rough picture of your costs'
    """
    for least, text in BANDS:
        if correlation >= least:
            return text.format(costs=costs)
    more = correlation >= plan_only + NOTICEABLE
    return (LITTLE if more else NOTHING_MORE).format(costs=costs)


def _verb(correlation: float, expected: Expected, costs: str) -> str:
    return how_much(correlation, plan_only=expected.plan_only, costs=f"your {costs}")
