"""From a run's last report to how it ended, and its result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tacit.engine.agreement import Agreement, sealed_terms
from tacit.service.execution.report import Report
from tacit.service.workflow.lifecycle import State


@dataclass(frozen=True)
class Answer:
    """An end with its reason and its result."""

    state: State
    reason: str
    result: dict[str, Any] | None


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
    """How a run that was running has ended; `is_due` says whether its deadline has come."""
    result = result_of(report, agreement, late_by=late_by)
    trouble = report.error or (report.notes[-1] if report.notes else "")
    if report.is_over and result is not None:
        reason = _SENTENCES.get(report.stopped, f"it reached its limit: {report.stopped}")
        return Answer(State.FINISHED, _with(reason, trouble), result)
    if is_due and result is not None:
        return Answer(State.FINISHED, _with("the deadline came", trouble), result)
    if report.stage == "failed" and not report.can_retry and result is None:
        return Answer(State.FAILED, trouble, None)
    reason = trouble or "the process that searched has ended unexpectedly"
    if is_due:
        reason = _with("the deadline came before there was a plan", trouble)
    return Answer(State.INTERRUPTED, f"{reason}; resume it to go on", result)


def _weightings(agreement: Agreement, searches: Sequence[int]) -> list[str]:
    """What each plan of a sealed search was found for, in the order of the plans.

    Without numbers, which reports of before do not have, all of them.
    """
    written = [":".join(map(str, factors)) for factors in sealed_terms(agreement).weightings]
    return [written[search] for search in searches] or written


def _with(reason: str, trouble: str) -> str:
    return f"{reason}; {trouble}" if trouble else reason


def result_of(
    report: Report | None, agreement: Agreement, /, *, late_by: float = 0.0
) -> dict[str, Any] | None:
    """The best so far as the database keeps it, or None if nothing was found."""
    if report is None or not (report.plans or report.for_owners):
        return None
    several = bool(report.plans) and len(agreement.objectives) > 1
    return {
        "items": report.plans[0] if report.plans else None,
        "for_owners": report.for_owners,
        "proved": report.proved,
        "gaps": report.gaps,
        "told": report.disclosed,
        "generation": report.generation,
        "evaluations": report.evaluations,
        "seconds": round(report.seconds, 3),
        "late_by_seconds": round(late_by, 4),
        "nodes": len(agreement.nodes),
        "front": report.plans if several else None,
        "values": report.values if several else None,
        "weightings": _weightings(agreement, report.searches)
        if agreement.sealed and several
        else None,
    }
