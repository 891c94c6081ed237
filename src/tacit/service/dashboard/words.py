"""What the dashboard says in words: states, times, numbers, and what has been disclosed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from tacit.client import RunObjective, RunTerms
from tacit.disclosure import PARETO, SEALED, split_disclosure
from tacit.problems import unscaled_text

STATES = {
    "draft": ("Draft", "Nobody has been invited yet."),
    "invited": (
        "Invited",
        "Waiting until all have joined, pinned each other's keys and signed.",
    ),
    "agreed": ("Agreed", "All have signed. Waiting for their sealed costs."),
    "submitted": ("Ready", "All costs are in and checked. Waiting for free nodes."),
    "running": ("Running", "The nodes compute."),
    "finished": ("Finished", "The plan is below."),
    "interrupted": ("Interrupted", "It ended early. The best plan so far is kept."),
    "failed": ("Failed", "It ended without a plan."),
    "cancelled": ("Cancelled", "It will not go on."),
}
SEALED_WORDS = "sealed: nothing is disclosed before the plan is opened"
WAY = ("draft", "invited", "agreed", "submitted", "running", "finished")
"""The states of a run in which nothing goes wrong, in their order."""


def state_name(state: str, /) -> str:
    """A state as people read it."""
    return STATES[state][0] if state in STATES else state


def state_meaning(state: str, /) -> str:
    """What a state means, in a sentence."""
    return STATES[state][1] if state in STATES else ""


KINDS = {
    "assignment": "Assignment",
    "capacitated": "Assignment with capacities",
    "tour": "Tour",
    "routing": "Routing",
}


def kind_name(kind: str, /) -> str:
    """A kind of problem as people read it."""
    return KINDS.get(kind, kind)


def disclosure_name(disclosure: str, /) -> str:
    """A disclosure in a word or two.

    >>> disclosure_name("none"), disclosure_name("top:15")
    ('every value', 'top:15')
    """
    return "every value" if disclosure == "none" else disclosure


def sentence(text: str, /) -> str:
    """A text as a sentence of its own.

    >>> sentence("the deadline came"), sentence("Why?")
    ('The deadline came.', 'Why?')
    """
    end = "" if text.endswith((".", "!", "?")) else "."
    return text[:1].upper() + text[1:] + end


def number(value: float | None, /) -> str:
    """A number as all texts of tacit write it, with as few decimals as it needs.

    >>> number(1234567), number(12.5), number(None)
    ('1,234,567', '12.5', '–')
    """
    if value is None:
        return "–"
    return f"{value:,.0f}" if value == int(value) or abs(value) >= 1000 else f"{value:,.4g}"


def exact_number(value: int, scale: int, /) -> str:
    """A whole number of steps of 1/scale, with all its decimals.

    >>> exact_number(123_456_705, 100), exact_number(1000, 1), exact_number(5, 10)
    ('1,234,567.05', '1,000', '0.5')
    """
    whole, _, decimals = unscaled_text(value, scale).partition(".")
    return f"{int(whole):,}" + (f".{decimals}" if decimals else "")


def time_left(seconds: float, /) -> str:
    """A countdown.

    >>> time_left(75.2), time_left(4.4), time_left(3700), time_left(-1)
    ('1:15', '4 s', '1:01:40', '0 s')
    """
    whole = max(int(seconds), 0)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def moment(seconds: float | None, /) -> str:
    """A point in time."""
    if seconds is None:
        return "–"
    return datetime.fromtimestamp(seconds, tz=UTC).strftime("%Y-%m-%d %H:%M UTC")


def ago(seconds: float, /) -> str:
    """How long ago something was.

    >>> ago(5), ago(90), ago(7300), ago(200_000)
    ('just now', '1 min ago', '2 h ago', '2 days ago')
    """
    if seconds < 60:
        return "just now"
    if seconds < 3600:
        return f"{int(seconds // 60)} min ago"
    if seconds < 86400:
        return f"{int(seconds // 3600)} h ago"
    days = int(seconds // 86400)
    return f"{days} day{'s' if days > 1 else ''} ago"


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
