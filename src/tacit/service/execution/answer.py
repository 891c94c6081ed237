"""Decide from a run's last report how it ended, and with which result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from tacit.agreement import Agreement
from tacit.client import FoundPlans, Plan, RunState
from tacit.problems import Problem
from tacit.service.execution.report import Report


@dataclass(frozen=True)
class Answer:
    """An end with its reason and its result."""

    state: RunState
    reason: str
    result: FoundPlans | None


_SENTENCES = {
    "deadline": "the deadline came",
    "evaluations": "all evaluations that the agreement allows were made",
    "nodes": "the nodes could not continue",
    "generations": "all agreed steps were made",
    "optimal": "all plans are proved to be optima",
}


def answer_of(
    report: Report, agreement: Agreement, /, *, is_due: bool, late_by: float = 0.0
) -> Answer:
    """Decide how a run that was running has ended; `is_due`: its deadline has come."""
    # The order matters. A plan counts even if the process failed afterwards; only a run without
    # any plan can fail, and one whose time is left can be resumed.
    result = result_of(report, agreement, late_by=late_by)
    trouble = report.error or (report.notes[-1] if report.notes else "")
    if report.is_over and result is not None:
        reason = _SENTENCES.get(report.stopped, f"it reached its limit: {report.stopped}")
        return Answer("finished", _sentence(reason, trouble), result)
    if is_due and result is not None:
        return Answer("finished", _sentence("the deadline came", trouble), result)
    if report.stage == "failed" and not report.can_retry and result is None:
        return Answer("failed", trouble, None)
    reason = trouble or "the process that searched has ended unexpectedly"
    if is_due:
        reason = _sentence("the deadline came before there was a plan", trouble)
    return Answer("interrupted", f"{reason}; resume it to go on", result)


def _weightings(agreement: Agreement, searches: Sequence[int]) -> list[str]:
    """What each plan of a sealed search was found for, in the order of the plans."""
    written = [":".join(map(str, factors)) for factors in agreement.sealed_run.weightings]
    return [written[search] for search in searches]


def _sentence(reason: str, trouble: str) -> str:
    return f"{reason}; {trouble}" if trouble else reason


def result_of(
    report: Report | None, agreement: Agreement, /, *, late_by: float = 0.0
) -> FoundPlans | None:
    """The best so far as the database keeps it, or None if nothing was found."""
    if report is None or not report.has_plan:
        return None
    several = bool(report.plans) and len(agreement.objectives) > 1
    found_for = _weightings(agreement, report.searches) if agreement.sealed and several else []
    plans = found_plans(
        agreement.known_problem,
        report.plans if several else report.plans[:1],
        values=report.values if several else [],
        weightings=found_for,
    )
    return FoundPlans(
        plan=plans[0] if plans else None,
        front=plans if several else None,
        for_owners=report.for_owners,
        proved=report.proved,
        gaps=report.gaps,
        disclosed=report.disclosed,
        generation=report.generation,
        evaluations=report.evaluations,
        seconds=round(report.seconds, 3),
        late_by_seconds=round(late_by, 4),
        nodes=len(agreement.nodes),
    )


def found_plans(
    problem: Problem,
    plans: Sequence[list[int]],
    /,
    *,
    values: Sequence[list[float | None]] = (),
    weightings: Sequence[str] = (),
) -> list[Plan]:
    """The plans of a result in the problem's own names; those found several times are there once.

    They are named here, once, since a run's page asks for its result again and again.
    """
    found: dict[tuple[int, ...], Plan] = {}
    for i, items in enumerate(plans):
        own = values[i] if i < len(values) else None
        known = own if own and any(value is not None for value in own) else None
        found_for = list(weightings[i : i + 1]) or None
        before = found.get(tuple(items))
        if before is None:
            plan = Plan(
                items=items,
                named=problem.named_plan(items),
                values=known,
                weightings=found_for,
            )
        else:
            plan = _with(before, known, found_for)
        found[tuple(items)] = plan
    return list(found.values())


def _with(plan: Plan, values: list[float | None] | None, weightings: list[str] | None) -> Plan:
    """The same plan once more: another weighting may tell the value of another objective."""
    if weightings is not None:
        plan = replace(plan, weightings=[*(plan.weightings or []), *weightings])
    if values is not None:
        before = plan.values or [None] * len(values)
        known = [old if new is None else new for old, new in zip(before, values, strict=True)]
        plan = replace(plan, values=known)
    return plan
