"""Make the markup of a run's page. Everything from outside is escaped here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from html import escape

from tacit.client import MemberView, RunTerms, RunView
from tacit.service.dashboard.disclosures import objective_words
from tacit.service.dashboard.frame import mark, table, terms_markup
from tacit.service.dashboard.nodes import QUIET_SECONDS, SILENT_SEALED_SECONDS, silence
from tacit.service.dashboard.words import WAY, exact_number, number, state_name
from tacit.service.workflow.terms import parameters_of_terms, population_of_terms


def way_of(state: str, /) -> str:
    """List the states of a run in order, with the current one marked."""
    if state not in WAY:
        return ""
    here = WAY.index(state)
    steps = []
    for i, each in enumerate(WAY):
        kind = "done" if i < here or state == "finished" else "here" if i == here else "ahead"
        current = ' aria-current="step"' if i == here else ""
        steps.append(f'<li class="{kind}"{current}>{escape(state_name(each))}</li>')
    return f'<ol class="way" aria-label="The way of a run">{"".join(steps)}</ol>'


def warnings_list(warnings: Sequence[str], /) -> str:
    if not warnings:
        return ""
    items = "".join(f"<li>{escape(text)}</li>" for text in warnings)
    return f'<ul class="warnings" aria-label="Warnings">{items}</ul>'


def members_of(run: RunView, /) -> list[MemberView]:
    """Return the members of a run; a draft's are those to be invited."""
    owners = run.terms.participants.items()
    return run.members or [
        MemberView(name, joined=False, signed=False, rows=rows) for name, rows in owners
    ]


def members_table(members: Sequence[MemberView], /) -> str:
    costs = {
        "missing": mark(False, "not yet"),
        "waiting": mark(None, "being checked"),
        "accepted": mark(True, "checked"),
        "refused": mark(None, "refused by the nodes"),
    }
    rows = [
        [
            escape(each.name),
            number(len(each.rows)),
            mark(each.joined, "yes" if each.joined else "not yet"),
            mark(each.signed, "yes" if each.signed else "not yet"),
            costs[each.submission_state],
        ]
        for each in members
    ]
    shown = table(["Name", "Rows", "Joined", "Signed", "Costs"], rows, "Participants")
    return f'<div class="members">{shown}</div>'


def figures(run: RunView, /, *, population: int, now: float, waits: bool = False) -> str:
    """Show how fast the search is and how far it got. A run that waits for a node has rate 0."""
    progress = run.progress
    if progress is None:
        return ""
    rate = 0.0 if waits else _generations_per_second(run, now)
    what = "Generations" if population else "Steps"
    steps_made = number(progress.generation)
    if steps := progress.steps:
        steps_made += f" of {number(steps)}"
    when = "now" if run.state == "running" else "on average"
    disclosed = [
        (objective.name, best)
        for objective, best in zip(run.terms.objectives, progress.best, strict=False)
        if best is not None and not isinstance(best, bool)
    ]
    whose = "" if len(run.terms.objectives) == 1 else " of any plan"
    items = [(f"Best {name}{whose}", number(best)) for name, best in disclosed]
    items += [
        (what, steps_made),
        (f"{what} per second, {when}", number(round(rate, 1))),
    ]
    if progress.evaluations:
        items.append((f"Plans per second, {when}", number(round(rate * population))))
    cells = "".join(f"<div><dt>{escape(name)}</dt><dd>{value}</dd></div>" for name, value in items)
    return f'<dl class="figures">{cells}</dl>'


def _generations_per_second(run: RunView, now: float) -> float:
    """Return the current rate, or the average of a run that has ended."""
    progress = run.progress
    assert progress is not None
    # A sealed search reports batches.
    if silence(run, now) >= (QUIET_SECONDS if progress.evaluations else SILENT_SEALED_SECONDS):
        return 0.0
    if run.state == "running" and progress.evaluations:
        return float(progress.evaluations_per_second)
    return float(progress.generation / progress.seconds) if progress.seconds > 0 else 0.0


def terms_list(
    terms: RunTerms, /, *, population: int, search: str, known: Sequence[tuple[str, str]] = ()
) -> str:
    """List what a run is about, its rules, and what else is known of it."""
    problem, limits = terms.problem, terms.limits
    barred = f"{number(len(problem.forbidden))} of {number(problem.rows * problem.columns)}"
    items = [
        ("Problem", f"{problem.kind}, {problem.rows} x {problem.columns}"),
        ("Forbidden pairs", barred if problem.forbidden else "none"),
    ]
    for each in terms.objectives:
        largest, step = exact_number(each.weight_bound, each.scale), exact_number(1, each.scale)
        shown = f"{objective_words(terms, each)}. Weights from 0 to {largest} in steps of {step}."
        items.append((f"{each.name} ({each.sense})", shown))
    deadline = f"{number(terms.deadline_seconds)} s from the start of the search"
    if not population:
        # A sealed run has a number of steps, and ends after them.
        deadline += " at the latest; the run ends when its steps are made"
    most = limits.evaluations
    items += [
        ("Deadline", deadline),
        (
            "Evaluations at most" if population else "Steps at most",
            "as many as fit the deadline" if most is None else number(most),
        ),
        ("Search", search),
        ("Signatures expire", f"after {number(limits.expiry_hours)} hours"),
    ]
    items += known
    return terms_markup(items)


def search_words(terms: RunTerms, /) -> str:
    """List the settings of a search: all where plans are evaluated, else those that were named.

    The others of a sealed search follow from the problem, the time and the nodes, and stand in the
    agreement.
    """
    if population_of_terms(terms):
        named = asdict(parameters_of_terms(terms))
        algorithm = named.pop("algorithm")
        preset = f"{terms.preset}: " if terms.preset else ""
        return preset + ", ".join([algorithm, *(_setting(*each) for each in named.items())])
    changed = [_setting(name, value) for name, value in terms.parameters.items()]
    weightings = [f"weighting {each}" for each in terms.weightings]
    fits = "for the rest, what fits" if changed else "what fits"
    return ", ".join([*changed, *weightings, f"{fits} the problem, the time and the nodes"])


def _setting(name: str, value: object) -> str:
    """A setting as people read it.

    >>> _setting("crossover_percent", 95), _setting("reevaluate_parents", True)
    ('crossover percent 95', 'reevaluate parents yes')
    """
    shown = {True: "yes", False: "no"}[value] if isinstance(value, bool) else value
    return f"{name.replace('_', ' ')} {shown}"
