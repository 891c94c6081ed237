"""Series: list, create, read."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import APIRouter, Response
from sqlalchemy.orm import Session

from tacit.service.access.permissions import PARTICIPANT
from tacit.service.api.errors import error_responses
from tacit.service.api.gate import Asker, SeriesId, ThePlatform, gated_router
from tacit.service.api.series_terms import SeriesTerms
from tacit.service.api.shapes.series import SeriesAnswer, SeriesInvited, SeriesSummary
from tacit.service.storage import (
    StandingSeries,
    list_series,
    members_of_series,
    read_standing_series,
    runs_of_series,
)
from tacit.service.workflow.series_lifecycle import (
    checked_series_terms,
    create_series,
    draw_up_series,
    is_agreed,
    series_bytes,
)


def _summary(session: Session, series: StandingSeries) -> dict[str, Any]:
    state = "invited"
    if series.ended is not None:
        state = "ended"
    elif is_agreed(session, series.id):
        state = "agreed"
    columns = ("id", "name", "hash", "cluster", "created", "next_at", "ended", "reason")
    known = {name: getattr(series, name) for name in columns}
    return {**known, "state": state, "runs": len(runs_of_series(session, series.id))}


def _all(session: Session, participant: str | None) -> list[SeriesSummary]:
    found = list_series(session, participant=participant)
    return [SeriesSummary.model_validate(_summary(session, each)) for each in found]


def _shown(session: Session, series_id: str) -> dict[str, Any]:
    series = read_standing_series(session, series_id)
    members = [
        {
            "name": each.participant,
            "joined": key is not None,
            "signed": each.signature is not None,
        }
        for each, key in members_of_series(session, series_id)
    ]
    runs = [
        {"id": run.id, "number": run.series_number, "name": run.name, "state": run.state}
        for run in runs_of_series(session, series_id)
    ]
    known = _summary(session, series)
    return {**known, "terms": series.terms, "members": members, "its_runs": runs}


def series_answer(session: Session, series_id: str, /) -> SeriesAnswer:
    """A series with its members and runs."""
    return SeriesAnswer.model_validate(_shown(session, series_id))


def series_router() -> APIRouter:
    """The routes of series."""
    router = gated_router("series")

    @router.get("/series")
    async def series(who: Asker, platform: ThePlatform) -> list[SeriesSummary]:
        """All series that one may see: a participant its own, the newest first."""
        mine = who.account if who.role == PARTICIPANT else None
        return await platform.database.read(_all, mine)

    @router.post("/series", status_code=201, responses=error_responses(409, 422))
    async def create(body: SeriesTerms, who: Asker, platform: ThePlatform) -> SeriesInvited:
        """Create a series and invite its participants; new ones get a code, shown once.

        It is drawn up, to be signed, as soon as all have joined.
        """
        cluster = body.cluster or await platform.execution.cluster_for_new_run()
        terms = await asyncio.to_thread(checked_series_terms, body, platform.settings, cluster)
        series_id, codes = await platform.database.write(
            create_series, platform.settings, terms, by=who.account, cluster=cluster
        )
        await platform.database.write(draw_up_series, platform.settings, series_id)
        shown = await platform.database.read(_shown, series_id)
        return SeriesInvited.model_validate({**shown, "invitations": codes})

    @router.get("/series/{series_id}", responses=error_responses(404))
    async def one_series(series_id: SeriesId, platform: ThePlatform) -> SeriesAnswer:
        """A series with its members and runs."""
        return await platform.database.read(series_answer, series_id)

    @router.get(
        "/series/{series_id}/document",
        response_class=Response,
        responses={
            200: {
                "content": {"application/json": {"schema": {"type": "object"}}},
                "description": "The canonical bytes; their SHA-256 is in Tacit-Series.",
            },
            **error_responses(404),
        },
    )
    async def document(series_id: SeriesId, platform: ThePlatform) -> Response:
        """The series, byte for byte as it is signed."""
        data, digest = await platform.database.read(series_bytes, series_id)
        return Response(data, media_type="application/json", headers={"Tacit-Series": digest})

    return router
