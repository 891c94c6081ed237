"""The end of a run follows from its last report and the clock alone."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tacit.agreement import pin_sealed
from tacit.agreement.terms import Agreement
from tacit.search.moves import TourParameters
from tacit.service.execution.answer import answer_of
from tacit.service.execution.report import Report
from tests.on_nodes.fixtures import example_cast

FOUND: dict[str, Any] = {
    "generation": 3,
    "evaluations": 4,
    "plans": [[1, 0]],
    "disclosed": [7.0],
    "best": [7.0],
}


@pytest.mark.parametrize(
    ("report", "is_due", "state", "reason"),
    [
        (
            Report(stage="ended", stopped="deadline", **FOUND),
            False,
            "finished",
            "the deadline came",
        ),
        (
            Report(stage="ended", stopped="evaluations", **FOUND),
            False,
            "finished",
            "all evaluations",
        ),
        (Report(stage="running", **FOUND), True, "finished", "the deadline came"),
        (
            Report(stage="ended", stopped="deadline", notes=["node 1: gone"], **FOUND),
            False,
            "finished",
            "node 1: gone",
        ),
        (
            Report(stage="ended", stopped="deadline", for_owners=True),
            False,
            "finished",
            "the deadline came",
        ),
        (Report(stage="ready"), True, "interrupted", "before there was a plan"),
        (
            Report(stage="failed", error="node 1: gone", can_retry=True),
            True,
            "interrupted",
            "node 1",
        ),
        (Report(stage="failed", error="internal error"), False, "failed", "internal"),
        (Report(stage="failed", error="a mistake", **FOUND), False, "interrupted", "resume it"),
        (Report(stage="running", **FOUND), False, "interrupted", "ended unexpectedly"),
        (Report(stage="running"), False, "interrupted", "ended unexpectedly"),
        (
            Report(
                stage="ended",
                stopped="nodes",
                can_retry=True,
                notes=["node 0 refuses: expired"],
                **FOUND,
            ),
            False,
            "interrupted",
            "expired",
        ),
    ],
)
def test_an_end_and_its_reason(report: Report, is_due: bool, state: str, reason: str) -> None:
    answer = answer_of(report, example_cast().agreement, is_due=is_due)
    assert answer.state == state
    assert reason in answer.reason
    assert (answer.result is not None) == bool(report.plans or report.for_owners)


def test_a_sealed_run_has_a_plan_or_can_be_resumed() -> None:
    agreement = sealed_agreement()
    opened = Report(stage="ended", stopped="nodes", notes=["node 1: gone"], **FOUND)
    answer = answer_of(opened, agreement, is_due=False)
    assert (answer.state, answer.result is not None) == ("finished", True)
    assert "node 1: gone" in answer.reason
    late = answer_of(Report(stage="running", generation=9), agreement, is_due=True)
    assert (late.state, late.result) == ("interrupted", None)
    assert "before there was a plan" in late.reason
    assert "resume it" in late.reason


def sealed_agreement() -> Agreement:
    agreement = example_cast().agreement
    pay = replace(agreement.objectives[0], disclosure="sealed", best="nothing")
    return replace(agreement, objectives=[pay], search=pin_sealed(TourParameters()))
