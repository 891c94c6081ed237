"""The plans of a run with several objectives, one line each: which it is, and what is one's own."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.agreement import Agreement
from tacit.errors import InputError
from tacit.participant.account.shapes import Outcome
from tacit.participant.plan_table import plan_rows

MOST_OWN = 6
"""Of one's own rows, so many are in a line."""


def count_plans(outcome: Outcome, /) -> int:
    """How many different plans there are; of parts for their owners, one per weighting."""
    return len(outcome.own_rows) or max(len(outcome.front or []), int(outcome.plan is not None))


def check_number(outcome: Outcome, number: int, /) -> None:
    """Refuse a plan that is not there; they are counted from 1."""
    count = count_plans(outcome)
    if count and not 1 <= number <= count:
        raise InputError(f"there is no plan {number}; give 1 to {count}")


def plan_title(outcome: Outcome, agreement: Agreement | None, number: int, /) -> str:
    """What a plan was found for, and its own values as far as the platform has them.

    >>> from tacit.client import Plan
    >>> plans = [Plan(items=[0]), Plan(items=[1], weightings=["3:1"])]
    >>> found = Outcome(state="finished", reason=None, front=plans)
    >>> plan_title(found, None, 2)
    'plan 2 of 2, weighting 3:1'
    """
    words = f"plan {number} of {count_plans(outcome)}"
    if outcome.own_rows:
        if agreement is None:
            return words
        factors = agreement.sealed_run.weightings[number - 1]
        return f"{words}, weighting {':'.join(map(str, factors))}"
    plan = outcome.front[number - 1] if outcome.front else None
    if plan is None:
        return words
    names = [] if agreement is None else [each.name for each in agreement.objectives]
    return plan.title(number, count_plans(outcome), names)


def other_plans(
    outcome: Outcome,
    agreement: Agreement | None,
    account: str,
    shown: int,
    /,
    *,
    sums: Sequence[str] = (),
) -> list[str]:
    """A line for each plan but the shown one, with what it has for one's own rows.

    `sums` are what one's own rows cost under each plan, where that was computed.
    """
    lines = []
    for number in range(1, count_plans(outcome) + 1):
        if number == shown:
            continue
        rows = plan_rows(outcome, agreement, account, number=number)
        own = [f"{row} {column}" for row, column, whose in rows if whose]
        more = f" and {len(own) - MOST_OWN} more" if len(own) > MOST_OWN else ""
        yours = f"; yours: {', '.join(own[:MOST_OWN])}{more}" if own else ""
        cost = f"; your sum: {sums[number - 1]}" if sums else ""
        lines.append(plan_title(outcome, agreement, number) + cost + yours)
    return lines
