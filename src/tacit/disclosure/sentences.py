"""Say in plain words what each disclosure reveals: one table for review, dashboard and audit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tacit.disclosure.methods import PARETO, SEALED
from tacit.disclosure.parse import split_disclosure


class DisclosureWords(NamedTuple):
    """The words for one disclosure."""

    choice: str
    """What a form offers."""
    revealed: str
    """What one evaluation reveals, of `{plans}` and with `{k}`."""
    k: int | None = None
    """The number that a form begins with, where the disclosure takes one."""
    k_together: int | None = None
    """That for all objectives together, where it is another one."""
    compares: bool = True
    """Whether the platform learns which plans are better, so that it can keep a best one."""


DISCLOSURES = {
    "top": DisclosureWords(
        "Which k are best",
        "which {k} of {plans} are best, not by how much, nor in which order",
        15,
        60,
    ),
    "quantiles": DisclosureWords(
        "Which of k groups by rank",
        "which of {k} groups of equal size, from best to worst, each of {plans} is in",
        5,
        20,
    ),
    "order": DisclosureWords(
        "The whole order", "the order of {plans} from best to worst, not by how much they differ"
    ),
    "buckets": DisclosureWords(
        "Which of k ranges",
        "which of {k} equal steps between the worst and the best total each of {plans} is in",
        5,
    ),
    "above": DisclosureWords(
        "Which reach k % of the range",
        "which of {plans} reach {k} % of the way from the worst to the best total (always at "
        "least three)",
        90,
    ),
    "none": DisclosureWords("Every exact value", "the total of each of {plans}, exactly"),
    SEALED: DisclosureWords(
        "Nothing: a sealed run", "nothing of {plans}; one plan is opened at the end", compares=False
    ),
}
"""In the order in which a form offers them."""
BEST = {
    "value": ("The best value", "the total of the best plan, as a number"),
    "improvement": ("Whether it improved", "whether the best plan is better than all before it"),
    "nothing": ("Nothing", "nothing more of the best plan"),
}
"""What is revealed of the best plan besides: for a form, and in a sentence."""


def revealed_words(disclosure: str, plans: str, /, *, best: str = "nothing") -> str:
    """Return what one evaluation of `plans` reveals under a disclosure.

    >>> revealed_words("top:15", "300 plans", best="value")
    'which 15 of 300 plans are best, not by how much, nor in which order; and the total of the \
best plan, as a number'
    >>> revealed_words("top:1", "300 plans")
    'which 1 of 300 plans is best, not by how much'
    """
    if disclosure.startswith(f"{PARETO}:"):
        disclosure = disclosure.removeprefix(f"{PARETO}:")
        plans += (
            ", by how many others are better in every objective and then by how much room there is "
            "around each,"
        )
    method, k = split_disclosure(disclosure)
    if (method, k) == ("top", 1):
        said = f"which 1 of {plans} is best, not by how much"
    elif method in DISCLOSURES:
        said = DISCLOSURES[method].revealed.format(k=k, plans=plans)
    else:
        # A method that somebody registered; its own documents say what it reveals.
        said = f"what the disclosure {disclosure!r} says of {plans}"
    # Whoever knows every total knows the best one, too.
    return said if method == "none" or best == "nothing" else f"{said}; and {BEST[best][1]}"


def opened_words(plans: int, /, *, proves: bool, value: bool, for_owners: bool) -> str:
    """Return what a sealed run reveals when it opens its plans.

    >>> opened_words(1, proves=True, value=False, for_owners=True)
    'once, at the end: that there is a plan, and whether it is proved to be the best of all, and \
nothing of it, not which row gets what; not its total'
    """
    one = plans == 1
    what = "the plan that was found"
    if for_owners:
        what = "that there is a plan" if one else f"that there are {plans} plans"
    elif not one:
        what = f"{plans} plans, one for each agreed weighting of the objectives"
    if proves:
        what += f", and whether {'it' if one else 'each'} is proved to be the best of all"
    total = "its total" if one else "the weighted total of each"
    if for_owners:
        what += f", and nothing of {'it' if one else 'them'}, not which row gets what"
        return (
            f"once, at the end: {what}; {f'and {total}, as a number' if value else f'not {total}'}"
        )
    if value:
        return f"once, at the end: {what}, and {total}, as a number; nothing about any other plan"
    return (
        f"once, at the end: {what}, and nothing else; not {total}, nor anything about any other "
        "plan"
    )


def gap_words(base: int, /) -> str:
    """Return what is revealed of how far a plan may be from the best one."""
    return (
        "with each plan: by at most how much the best of all is better, rounded up to 0, 1 or a "
        f"power of {base}"
    )


def checkpoint_words(iterations: Sequence[int], /, *, of_each: str = "") -> str:
    """Return what checkpoints of a sealed run reveal; `of_each` follows the list of them."""
    named = ", ".join(map(str, iterations))
    return (
        f"after iteration {named}{of_each}: whether all is proved by then; the run ends with the "
        "first yes"
    )
