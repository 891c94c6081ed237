"""Rows of the database as the API shows them."""

from __future__ import annotations

import msgspec
from fastapi import Response
from sqlalchemy.orm import Session

from tacit.service.api.glances import glance, summary_columns
from tacit.service.api.plans import distinct_plans, shown_plan
from tacit.service.api.shapes.results import RunResult
from tacit.service.api.terms import RunTerms
from tacit.service.storage import Run, members_with_keys, read_run
from tacit.service.workflow.drafting import problem_of_terms
from tacit.service.workflow.public_weights import without_weights

FIGURES = (
    "told",
    "generation",
    "evaluations",
    "seconds",
    "late_by_seconds",
    "nodes",
    "proved",
    "gaps",
)


def run_answer(
    session: Session, run_id: str, /, *, invitations: dict[str, str] | None = None
) -> Response:
    """A run with everything that its members may know, in the shape of `RunAnswer`.

    Written here, in the query's thread, and not checked again: terms can be long, were checked when
    they came, and the event loop has deadlines to keep.
    """
    run = read_run(session, run_id)
    members = [
        {
            "name": member.participant,
            "rows": member.rows,
            "joined": key is not None,
            "signed": member.signature is not None,
            "submission_state": member.submission_state,
        }
        for member, key in members_with_keys(session, run_id)
    ]
    answer = {
        **summary_columns(run),
        **glance(run.terms)._asdict(),
        "joined": sum(each["joined"] is True for each in members),
        "signed": sum(each["signed"] is True for each in members),
        "accepted": sum(each["submission_state"] == "accepted" for each in members),
        "terms": without_weights(run.terms),
        "members": members,
        "cluster": run.cluster,
        "agreement_hash": run.agreement_hash,
        "progress": run.progress,
        "warnings": run.warnings,
        "created_by": run.created_by,
    }
    if invitations is not None:
        answer["invitations"] = invitations
    return Response(msgspec.json.encode(answer), media_type="application/json")


def run_result(run: Run, /) -> RunResult:
    """The result of a run, in the problem's own names."""
    result = run.result or {}
    terms = RunTerms.model_validate(run.terms)
    items, front, shown = result.get("items"), None, None
    # A run that ended without a plan may be of a kind that is not installed any more.
    if items is not None:
        problem = problem_of_terms(terms, proven=True)
        front = distinct_plans(result, problem)
        shown = front[0] if front else shown_plan(items, problem)
    return RunResult.model_validate(
        {
            "state": run.state,
            "reason": run.reason,
            "plan": shown,
            **{name: result.get(name) for name in FIGURES},
            "front": front,
            "for_owners": bool(result.get("for_owners")),
        }
    )
