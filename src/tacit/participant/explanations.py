"""Explain in plain words what an agreement gives away, for somebody who is about to sign it."""

from __future__ import annotations

from dataclasses import dataclass
from math import log2

from tacit.agreement import (
    Agreement,
    AssignmentGroup,
    ObjectiveTerms,
)
from tacit.audit import explain_leakage
from tacit.disclosure import checkpoint_words, gap_words, leakage, opened_words, revealed_words
from tacit.equity import FINENESS, NEUTRAL
from tacit.search.moves import AssignmentParameters, TourParameters


@dataclass(frozen=True)
class SearchWords:
    """Sentences about the agreed kind of search, for a participant."""

    disclosed: list[str]
    """What the platform learns."""
    node: str
    """What a single node learns."""
    limits: list[str]
    """How long it goes on, and when it may end."""
    checked: str
    """How the search is checked afterwards."""
    inferred: list[str]
    """How much can be inferred: what the audit has measured, then the paper's counts."""


def search_words(agreement: Agreement, /) -> SearchWords:
    return _sealed_words(agreement) if agreement.sealed else _evaluating_words(agreement)


def _evaluating_words(agreement: Agreement) -> SearchWords:
    limits = agreement.limits
    disclosed = [
        f"{_named(agreement, k)}, at each of at most {limits.evaluations:,} evaluations: "
        + revealed_words(
            agreement.objectives[k].disclosure,
            f"{limits.population_max:,} plans",
            best=agreement.objectives[k].best,
        )
        for k in agreement.evaluated()
    ]
    if agreement.reveal_best:
        disclosed.append("once, at the end: which of the best plans that it found is truly best")
    if agreement.front != "nothing":
        disclosed.append(front_words(agreement.front))
    return SearchWords(
        disclosed,
        node="Each node: the same, since it derives from it what is evaluated next; no cost.",
        limits=[
            f"at most {limits.evaluations:,} evaluations of {limits.population_min:,} to "
            f"{limits.population_max:,} plans"
        ],
        checked="the nodes follow it themselves, and tacit participant log replays it",
        inferred=[*explain_leakage(agreement), *_counts_of_all(agreement)],
    )


def front_words(front: str, /) -> str:
    """Explain what the final reveal of several objectives discloses to the platform."""
    told = (
        "once, at the end: which plans of the last best group no other one of it beats in every "
        "objective"
    )
    if front == "values":
        return f"{told}; and of each of these its total in every objective, as a number"
    return f"{told}; no total of any"


def _sealed_words(agreement: Agreement) -> SearchWords:
    return SearchWords(
        _opened(agreement),
        node="Each node: nothing of any plan or cost; how many steps there were.",
        limits=length_words(agreement),
        checked="the nodes search by themselves, and tacit participant log checks what they opened",
        inferred=explain_leakage(agreement),
    )


def length_words(agreement: Agreement, /) -> list[str]:
    """Explain how a sealed plan is found, how long that takes, and when it may be opened."""
    run = agreement.sealed_run
    parameters, group = run.parameters, run.groups[0]
    if isinstance(parameters, TourParameters):
        return [f"at most {run.steps:,} generations, then one opening"]
    assert isinstance(group, AssignmentGroup)
    begin = (
        "a plan that they draw, and that nobody knows"
        if group.start is None
        else "a plan without forbidden pairs, which everybody can work out"
    )
    made, of_each = f"{parameters.iterations:,} iterations of the exact method", ""
    if parameters.generations:
        made = f"{parameters.generations:,} generations of a local search and {made}"
    if len(run.weightings) > 1:
        of_each = ", for each weighting of the objectives"
    return [
        f"the nodes begin with {begin}{of_each}. They improve it in {made}. Then they open it once",
        _least_words(parameters),
    ]


def _least_words(parameters: AssignmentParameters) -> str:
    if not parameters.least:
        return (
            "the platform may have the plan opened after any of these, so it can learn which of "
            "the first changes were worth it"
        )
    earlier = []
    if parameters.checkpoint_iterations:
        earlier.append("all is proved after one of the iterations named above")
    if parameters.seconds:
        earlier.append(f"the deadline has come, {parameters.seconds:,} s after the nodes began")
    words = (
        f"the platform cannot have a plan opened before {parameters.least:,} of "
        f"{parameters.iterations:,} iterations"
    )
    return words + (f", unless {' or '.join(earlier)}" if earlier else "")


def _named(agreement: Agreement, objective: int) -> str:
    if agreement.together:
        return "all objectives together"
    return repr(agreement.objectives[objective].name)


def _opened(agreement: Agreement) -> list[str]:
    """Explain what a sealed run reveals, and how many bits its gap and checkpoints are."""
    run = agreement.sealed_run
    disclosed = [
        opened_words(
            agreement.sealed_plans,
            proves=agreement.is_exact,
            value=agreement.objectives[0].best == "value",
            for_owners=agreement.for_owners,
        )
    ]
    if run.gap:
        steps = max(len(group.ladder) for group in run.groups)
        # One of so many numbers tells the logarithm of their count, if all are equally likely.
        bits = f"{log2(steps):.1f} bits at most"
        disclosed.append(f"{gap_words(run.gap)}; that is one of {steps} numbers, {bits}")
    if run.checkpoints:
        assert isinstance(run.parameters, AssignmentParameters)
        groups, times = len(run.groups), len(run.checkpoints)
        of_each = ", of each group of weightings" * (groups > 1)
        disclosed.append(
            f"{checkpoint_words(run.parameters.checkpoint_iterations, of_each=of_each)}. "
            f"It is opened at most {groups * times} times, and tells when the plan was found, "
            f"{groups * log2(times + 1):.1f} bits at most, and so something of what kind of costs "
            "these are"
        )
    return disclosed


def plan_words(agreement: Agreement, /) -> list[str]:
    """Explain who learns the plan, and what follows from that."""
    if not agreement.for_owners:
        return ["Participants and viewers: the plan that is chosen, and the ledger."]
    if agreement.known_problem.between_places:
        learns = "Each participant: the whole plan, which is one way through all places."
    else:
        learns = (
            "Each participant: the columns of its own rows, so also that the others share the "
            "rest. All but one of you together learn the columns of the last one."
        )
    return [
        f"{learns} Viewers: nothing of it. All of them: the ledger, which has nothing of it.",
        "Your part is sealed to the key that you sign with. If you lose the key, nobody can give "
        "you your part again, the platform least of all; whoever gets the key can read it.",
    ]


def equity_words(agreement: Agreement, /) -> list[str]:
    """Explain what is counted over the runs of a series, and to whom it is disclosed."""
    if agreement.equity is None:
        return []
    terms = agreement.equity.terms
    least, most = NEUTRAL - terms.levels, NEUTRAL + terms.levels
    own = {
        "nothing": "you are told nothing of your balance",
        "level": "you are told what you saved, and your level",
        "balance": "you are told what you saved, your level and your balance, from which the mean "
        "of the others follows",
    }[terms.told]
    all_of_us = [
        name
        for name, told in (
            ("the mean of what all saved", terms.mean),
            ("how far apart balances are", terms.spread),
        )
        if told
    ]
    return [
        f"the nodes keep a balance for each, in shares, and multiply costs by {least} to {most} "
        f"({NEUTRAL} for who is neither ahead nor behind)",
        f"levels are {terms.spacing}/{FINENESS} apart; with each further run a step counts "
        f"{terms.decay / 10:g} % of what it did",
        "what you save is counted from "
        + (
            "first come, first served: rows in their order take the first column that has room"
            if terms.reference == "first come"
            else "a plan that the platform gives with each run"
        ),
        f"in every {terms.every}. run that counts {own}, sealed to your key",
        f"everybody is told then: {' and '.join(all_of_us) or 'nothing'}",
        *(
            []
            if agreement.sealed
            else [
                "the platform knows its candidates and their ranks before the run counts: it may "
                "break a run off then, which moves no balance; what it shows as the plan must be "
                "what the nodes counted, which tacit participant log and follow check",
                "ranks tell the platform ratios of factors, so who is ahead: with the same costs "
                "on two days it found the order of three factors in 3 of 3 trials with order or "
                "quantiles:4, and in 1 of 3 with top:15 (few and small trials, the best case for "
                "it); sealed tells no ranks and is the default, else take a small top:K",
            ]
        ),
        "whoever sees the plans of many runs can guess who is ahead; docs/equity.md says how well",
    ]


def _counts_of_all(agreement: Agreement) -> list[str]:
    limits = agreement.limits
    secrets = agreement.problem.rows * agreement.problem.columns
    if agreement.together:
        return [
            "An evaluation tells which plans come before which by all objectives together, and of "
            "no objective by itself which of two plans is better. So it tells most of the sum of "
            "all objectives, and whoever knows one of them learns more of the others. Figures for "
            "costs that follow a structure are those of one objective whose totals are disclosed."
        ]
    lines = [_counts(agreement.objectives[k], agreement) for k in agreement.confidential()]
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
    counted = f"{terms.name!r}: from {limits.evaluations:,} evaluations of up to "
    counted += f"{limits.population_max:,} plans, "
    if most.inequations is None:
        # As if every plan had a group of its own, which is the most that groups can tell.
        pairs = limits.population_max * (limits.population_max - 1) // 2 * limits.evaluations
        return (
            f"{counted}fewer than {pairs:,} inequations; how many depends on the run, since the "
            "groups vary in size, and a group of one plan next to a disclosed best is an equation."
        )
    inequations = most.inequations + most.across_populations
    # An equation takes a number, and otherwise none is disclosed.
    equations = most.equations if terms.best == "value" or terms.disclosure == "none" else 0
    return f"{counted}at most {equations:,} equations and {inequations:,} inequations."
