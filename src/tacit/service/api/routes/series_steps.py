"""What is done with a series: sign it once, make runs of it, end it."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, Response
from sqlalchemy.orm import Session

from tacit.service.api.answers import run_answer
from tacit.service.api.errors import error_responses
from tacit.service.api.gate import Asker, SeriesId, ThePlatform, gated_router
from tacit.service.api.routes.series import series_answer
from tacit.service.api.series_terms import NextRun
from tacit.service.api.shapes.general import Why
from tacit.service.api.shapes.runs import RunAnswer, Signed
from tacit.service.api.shapes.series import SeriesAnswer
from tacit.service.workflow.series_lifecycle import (
    add_run,
    begin_run,
    end_series,
    fitting_terms,
    next_terms,
    sign_series,
)


def series_steps_router() -> APIRouter:
    """The routes that take a series further."""
    router = gated_router("series")

    @router.post("/series/{series_id}/signature", responses=error_responses(404, 409, 422))
    async def signature(
        series_id: SeriesId, body: Signed, who: Asker, platform: ThePlatform
    ) -> SeriesAnswer:
        """Sign a series; with the last signature runs can be made of it."""
        given = bytes.fromhex(body.signature)
        await platform.database.write(sign_series, series_id, who.account, given)
        return await platform.database.read(series_answer, series_id)

    @router.post(
        "/series/{series_id}/runs",
        response_model=RunAnswer,
        status_code=201,
        responses=error_responses(404, 409, 422),
    )
    async def next_run(
        series_id: SeriesId, who: Asker, platform: ThePlatform, body: NextRun | None = None
    ) -> Response:
        """The next run: the last one copied, with what is given here; it starts at once."""
        changes = body or NextRun()
        terms, series = await platform.database.read(next_terms, series_id, changes)
        terms = await asyncio.to_thread(fitting_terms, terms, series)

        def write(session: Session) -> str:
            run_id = add_run(session, series_id, terms, by=who.account, name=changes.name)
            if changes.start:
                begin_run(session, platform.settings, run_id)
            return run_id

        run_id = await platform.database.write(write)
        if changes.start:
            await platform.execution.draw_up(run_id)
        answer = await platform.database.read(run_answer, run_id)
        answer.status_code = 201
        return answer

    @router.post("/series/{series_id}/end", responses=error_responses(404, 409))
    async def end(
        series_id: SeriesId, who: Asker, platform: ThePlatform, body: Why | None = None
    ) -> SeriesAnswer:
        """Make no more runs; operators and participants may do this, and what runs goes on."""
        reason = f"ended by {who.account}"
        reason += f": {body.reason}" if body is not None and body.reason else ""
        await platform.database.write(end_series, series_id, reason)
        return await platform.database.read(series_answer, series_id)

    return router
