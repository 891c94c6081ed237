"""The result of a run in words, for operators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.errors import InputError
from tacit.plain_text import plain_line

if TYPE_CHECKING:
    from tacit.client import Plan, RunResult, RunTerms

WAYS = ("tour", "routing")
"""Kinds whose plans are ways from place to place."""


def check_number(found: RunResult, number: int, /) -> None:
    """Refuse a plan that is not there; they are counted from 1."""
    count = len(found.plans)
    if count and not 1 <= number <= count:
        raise InputError(f"there is no plan {number}; give 1 to {count}")


def result_notes(run: str, found: RunResult, /) -> list[str]:
    """How the run ended, and what is known of its plan as a whole."""
    why = f": {found.reason}" if found.reason else ""
    notes = [f"{run} is {found.state}{why}"]
    if found.for_owners:
        notes.append("there is a plan, of which each participant has its own part")
    elif found.plan is None:
        notes.append("there is no plan")
    if found.proved:
        notes.append("no plan is better: the nodes proved it")
    elif found.gaps:
        notes.append(f"no plan is better by more than {max(found.gaps):,}")
    return notes


def result_lines(found: RunResult, terms: RunTerms, number: int, /) -> list[str]:
    """One plan as a table, with its values, and the others in a line each."""
    plans, names = found.plans, [each.name for each in terms.objectives]
    if not plans:
        return []
    others = [plan.title(i, len(plans), names) for i, plan in enumerate(plans, 1) if i != number]
    lines = _table(plans[number - 1], terms.problem.kind)
    if others:
        lines.insert(0, plans[number - 1].title(number, len(plans), names))
        lines += ["", "the others; --plan N shows one of them whole, and --json has all", *others]
    elif found.disclosed and isinstance(best := found.disclosed[0], float):
        lines.insert(0, f"best {names[0]} {best:,.10g}")
    return [plain_line(line, longest=2000) for line in lines]


def _table(plan: Plan, kind: str) -> list[str]:
    """Rows and columns in names, or in numbers, which are counted from 0."""
    heads = ("from", "to") if kind in WAYS else ("row", "column")
    pairs = plan.named
    if pairs is None:
        after = [*plan.items[1:], *plan.items[:1]]
        first_of = plan.items if kind in WAYS else range(len(plan.items))
        second_of = after if kind in WAYS else plan.items
        numbered = zip(first_of, second_of, strict=True)
        pairs = [(str(first), str(second)) for first, second in numbered]
        heads = (f"{heads[0]} (from 0)", f"{heads[1]} (from 0)")
    width = max(len(first) for first, _ in [heads, *pairs])
    return [f"{first:{width}}  {second}" for first, second in [heads, *pairs]]
