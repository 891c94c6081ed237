"""What an agreement gives away, in plain words: for somebody who is about to sign it.

`leakage_words` is the one place that says how much can be inferred: what the audit has measured
comes first, then the paper's counts.
"""

from __future__ import annotations

from tacit.audit import explain_leakage
from tacit.disclosure import leakage, split_disclosure
from tacit.engine.agreement import Agreement, ObjectiveTerms, sealed_terms


def disclosure_words(terms: ObjectiveTerms, population: int, /) -> str:
    """What one evaluation of an objective tells the platform."""
    kind, number = split_disclosure(terms.disclosure)
    plans = f"{population:,} plans"
    told = {
        "none": f"the total of each of {plans}, exactly",
        "order": f"the order of {plans} from best to worst, not by how much they differ",
        "quantiles": f"which of {number} groups of equal size, from best to worst, each of {plans} "
        "is in",
        "buckets": f"which of {number} equal steps between the worst and the best total each of "
        f"{plans} is in",
        "top": f"which {number} of {plans} {'is' if number == 1 else 'are'} best, not by how "
        "much" + (", nor in which order" if number > 1 else ""),
        "above": f"which of {plans} reach {number} % of the way from the worst to the best total "
        "(always at least three)",
    }.get(kind, f"what the disclosure {terms.disclosure!r} says of {plans}")
    best = {
        "value": "the total of the best plan, as a number",
        "improvement": "whether the best plan is better than all before it",
        "nothing": "",
    }[terms.best]
    return told if kind == "none" or not best else f"{told}; and {best}"


def sealed_words(agreement: Agreement, /) -> list[str]:
    """What a sealed search tells the platform."""
    plans = len(sealed_terms(agreement).weightings)
    what = "the plan that was found"
    if plans > 1:
        what = f"{plans} plans, one for each agreed weighting of the objectives"
    total = "its total" if plans == 1 else "the weighted total of each"
    best = agreement.objectives[0].best
    if best == "value":
        return [f"once, at the end: {what}, and {total}, as a number; nothing about any other plan"]
    lines = [
        f"once, at the end: {what}, and nothing else; not {total}, nor anything about any other "
        "plan"
    ]
    if best == "improvement":
        lines = [
            f"once, at the end: {what}; not {total}",
            f"after each of at most {agreement.limits.evaluations:,} generations: whether the best "
            "plan so far became better, not by how much, nor which plan it is",
        ]
    return lines


def leakage_words(agreement: Agreement, /) -> list[str]:
    """How much can be inferred from all that an agreement allows to be disclosed."""
    if agreement.sealed:
        return explain_leakage(agreement)
    limits = agreement.limits
    secrets = agreement.problem.rows * agreement.problem.columns
    lines = explain_leakage(agreement)
    lines += [_counts(agreement.objectives[k], agreement) for k in agreement.confidential()]
    lines.append(
        "An equation tells by exactly how much one plan is better than another; an inequation "
        "tells only which of two is better. All participants together hide "
        f"{secrets:,} numbers per objective."
    )
    if any(agreement.objectives[k].disclosure == "none" for k in agreement.confidential()):
        lines.append(
            "Under 'none' the totals of about as many different plans as there are hidden numbers "
            "give nearly all of them away: count on the platform knowing your costs, up to an "
            f"amount per row. The agreement allows {limits.evaluations * limits.population_max:,} "
            "plans."
        )
    lines.append(
        "These are counts of what could be written down (Gruber et al. 2026, section 3.3, no plan "
        "twice), for a platform that follows the agreed search; they do not say how well somebody "
        "guesses."
    )
    return lines


def _counts(terms: ObjectiveTerms, agreement: Agreement) -> str:
    limits = agreement.limits
    most = leakage(
        terms.disclosure, population=limits.population_max, evaluations=limits.evaluations
    )
    told = f"{terms.name!r}: from {limits.evaluations:,} evaluations of up to "
    told += f"{limits.population_max:,} plans, "
    if most.inequations is None:
        pairs = limits.population_max * (limits.population_max - 1) // 2 * limits.evaluations
        return (
            f"{told}fewer than {pairs:,} inequations; how many depends on the run, since the "
            "groups vary in size, and a group of one plan next to a told best is an equation."
        )
    inequations = most.inequations + most.across_populations
    equations = most.equations if terms.best == "value" or terms.disclosure == "none" else 0
    return f"{told}at most {equations:,} equations and {inequations:,} inequations."
