"""What participants do: read the agreement, sign, submit, withdraw."""

from __future__ import annotations

from fastapi import APIRouter, Response
from sqlalchemy.orm import Session

from tacit.engine.agreement import box_hash
from tacit.service.api.answers import run_answer
from tacit.service.api.errors import error_responses
from tacit.service.api.gate import Asker, RunId, ThePlatform, gated_router
from tacit.service.api.shapes.general import Why
from tacit.service.api.shapes.runs import RunAnswer, Signed, Submission, SubmissionAnswer
from tacit.service.storage import Sealed, sealed_of, set_state
from tacit.service.workflow.lifecycle import BEFORE_RUNNING, State
from tacit.service.workflow.submitting import (
    agreement_bytes,
    check_signature,
    sealed_from,
    sign,
    submit,
)


def _shown(sealed: Sealed) -> SubmissionAnswer:
    return SubmissionAnswer.model_validate(
        {
            "objective": sealed.objective,
            "state": sealed.state,
            "reason": sealed.reason,
            "boxes": [box_hash(box) for box in sealed.boxes],
        }
    )


def _mine(session: Session, run_id: str, participant: str) -> list[SubmissionAnswer]:
    return [_shown(sealed) for sealed in sealed_of(session, run_id, participant)]


def taking_part_router() -> APIRouter:
    """The routes of participants."""
    router = gated_router("taking part")

    @router.get(
        "/runs/{run_id}/agreement",
        response_class=Response,
        responses={
            200: {
                "content": {"application/json": {"schema": {"type": "object"}}},
                "description": "The canonical bytes; their SHA-256 is in Tacit-Agreement.",
            },
            **error_responses(404),
        },
    )
    async def agreement(run_id: RunId, platform: ThePlatform) -> Response:
        """The agreement, byte for byte as it is signed."""
        data, digest = await platform.database.read(agreement_bytes, run_id)
        headers = {"Tacit-Agreement": digest}
        return Response(data, media_type="application/json", headers=headers)

    @router.post(
        "/runs/{run_id}/signature",
        response_model=RunAnswer,
        responses=error_responses(404, 409, 422),
    )
    async def signature(run_id: RunId, body: Signed, who: Asker, platform: ThePlatform) -> Response:
        """Sign the agreement; with the last signature the run is agreed."""
        given = bytes.fromhex(body.signature)
        digest = await platform.database.read(check_signature, run_id, who.account, given)
        if await platform.database.write(sign, run_id, who.account, given, digest=digest):
            await platform.execution.agreed(run_id)
        return await platform.database.read(run_answer, run_id)

    @router.post(
        "/runs/{run_id}/submission", status_code=201, responses=error_responses(404, 409, 422)
    )
    async def submission(
        run_id: RunId, body: Submission, who: Asker, platform: ThePlatform
    ) -> SubmissionAnswer:
        """Hand in sealed rows for one objective; with 201 they are stored for good."""
        sealed = await platform.database.read(
            sealed_from,
            run_id,
            who.account,
            objective=body.objective,
            manifest=bytes.fromhex(body.manifest),
            signature=bytes.fromhex(body.signature),
            boxes=body.boxes,
        )
        stored, is_new = await platform.database.write(submit, sealed)
        if is_new:
            await platform.execution.submission(run_id)
        return _shown(stored)

    @router.get("/runs/{run_id}/submission", responses=error_responses(404))
    async def submissions(
        run_id: RunId, who: Asker, platform: ThePlatform
    ) -> list[SubmissionAnswer]:
        """One's own sealed rows, and how the nodes took them."""
        return await platform.database.read(_mine, run_id, who.account)

    @router.post(
        "/runs/{run_id}/withdraw", response_model=RunAnswer, responses=error_responses(404, 409)
    )
    async def withdraw(
        run_id: RunId, who: Asker, platform: ThePlatform, body: Why | None = None
    ) -> Response:
        """Take no part after all, which cancels the run; possible until it is running."""
        reason = f"{who.account} has withdrawn"
        reason += f": {body.reason}" if body is not None and body.reason else ""
        await platform.database.write(
            set_state, run_id, State.CANCELLED, reason=reason, only_from=BEFORE_RUNNING
        )
        await platform.execution.cancel(run_id, reason)
        return await platform.database.read(run_answer, run_id)

    return router
