"""Series: list, create, read; sign, make runs, end."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import APIRouter, Response
from sqlalchemy import Row
from sqlalchemy.orm import Session

from tacit.client import (
    ListedSeries,
    MemberView,
    NextRun,
    Page,
    Reason,
    RunView,
    SeriesRun,
    SeriesTerms,
    SeriesView,
    Signed,
)
from tacit.service.access.permissions import PARTICIPANT
from tacit.service.api.answers import run_view
from tacit.service.api.encoding import error_responses
from tacit.service.api.gate import Asker, SeriesId, ThePlatform, gated_router
from tacit.service.api.paging import USUALLY_LISTED, After, Limit, Name, key_of, page_of
from tacit.service.storage import (
    StandingSeries,
    members_of_series,
    read_standing_series,
    runs_of_series,
)
from tacit.service.storage.pages import (
    Position,
    page_of_series,
    runs_per_series,
    unsigned_series,
)
from tacit.service.workflow.series import (
    add_run,
    begin_run,
    checked_series_terms,
    create_series,
    draw_up_series,
    end_series,
    fitting_terms,
    next_terms,
    series_bytes,
    sign_series,
)


def _columns(
    series: StandingSeries | Row[Any], *, unsigned: set[str], runs: dict[str, int]
) -> dict[str, Any]:
    state = "agreed"
    if series.ended is not None:
        state = "ended"
    elif series.id in unsigned:
        state = "invited"
    columns = ("id", "name", "hash", "cluster", "created", "next_at", "ended", "reason")
    known = {name: getattr(series, name) for name in columns}
    return {**known, "state": state, "runs": runs.get(series.id, 0)}


def _series_page(
    session: Session,
    *,
    name: str | None,
    participant: str | None,
    after: Position | None,
    limit: int,
) -> Page[ListedSeries]:
    found = page_of_series(
        session, name=name, participant=participant, after=after, limit=limit + 1
    )
    ids = [row.id for row in found]
    unsigned, runs = unsigned_series(session, ids), runs_per_series(session, ids)
    return page_of(
        found,
        limit,
        shown=lambda rows: [
            ListedSeries(**_columns(row, unsigned=unsigned, runs=runs)) for row in rows
        ],
        key=lambda last: Position(last.created, last.id),
    )


def series_view(
    session: Session, series_id: str, /, *, invitations: dict[str, str] | None = None
) -> SeriesView:
    """A series with its members and runs."""
    series = read_standing_series(session, series_id)
    runs = runs_of_series(session, series_id)
    unsigned = unsigned_series(session, [series_id])
    return SeriesView(
        **_columns(series, unsigned=unsigned, runs={series_id: len(runs)}),
        terms=series.terms,
        members=[
            MemberView(each.participant, joined=key is not None, signed=each.signature is not None)
            for each, key in members_of_series(session, series_id)
        ],
        its_runs=[SeriesRun(run.id, run.series_number or 0, run.name, run.state) for run in runs],
        invitations=invitations or {},
    )


def series_router() -> APIRouter:
    """The routes of series."""
    router = gated_router("series")

    @router.get("/series")
    async def series(
        who: Asker,
        platform: ThePlatform,
        name: Name = None,
        after: After = None,
        limit: Limit = USUALLY_LISTED,
    ) -> Page[ListedSeries]:
        """A page of the series that one may see: a participant its own, the newest first."""
        mine = who.account if who.role == PARTICIPANT else None
        position = key_of(after, Position)
        return await platform.database.read(
            _series_page, name=name, participant=mine, after=position, limit=limit
        )

    @router.post("/series", status_code=201, responses=error_responses(409, 422))
    async def create(body: SeriesTerms, who: Asker, platform: ThePlatform) -> SeriesView:
        """Create a series and invite its participants; new ones get a code, shown once.

        It is drawn up, to be signed, as soon as all have joined.
        """
        cluster = body.cluster or await platform.execution.cluster_for_new_run()
        terms = await asyncio.to_thread(checked_series_terms, body, platform.settings, cluster)
        series_id, codes = await platform.database.write(
            create_series, platform.settings, terms, by=who.account, cluster=cluster
        )
        # Participants of earlier runs have joined already, so it may be complete at once.
        await platform.database.write(draw_up_series, platform.settings, series_id)
        return await platform.database.read(series_view, series_id, invitations=codes)

    @router.get("/series/{series_id}", responses=error_responses(404))
    async def one_series(series_id: SeriesId, platform: ThePlatform) -> SeriesView:
        """A series with its members and runs."""
        return await platform.database.read(series_view, series_id)

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


def series_steps_router() -> APIRouter:
    """The routes that take a series further."""
    router = gated_router("series")

    @router.post("/series/{series_id}/signature", responses=error_responses(404, 409, 422))
    async def signature(
        series_id: SeriesId, body: Signed, who: Asker, platform: ThePlatform
    ) -> SeriesView:
        """Sign a series; with the last signature runs can be made of it."""
        given = bytes.fromhex(body.signature)
        await platform.database.write(sign_series, series_id, who.account, given)
        return await platform.database.read(series_view, series_id)

    @router.post(
        "/series/{series_id}/runs",
        status_code=201,
        responses=error_responses(404, 409, 422),
    )
    async def next_run(
        series_id: SeriesId, who: Asker, platform: ThePlatform, body: NextRun | None = None
    ) -> RunView:
        """The next run: the last one copied, with what is given here; it starts at once."""
        changes = body or NextRun()
        terms, series = await platform.database.read(next_terms, series_id, changes)
        # Drawing up an agreement is slow for large problems: in a thread, and before the write
        # lock.
        terms = await asyncio.to_thread(fitting_terms, terms, series)

        def write(session: Session) -> str:
            run_id = add_run(session, series_id, terms, by=who.account, name=changes.name)
            if changes.start:
                begin_run(session, platform.settings, run_id)
            return run_id

        run_id = await platform.database.write(write)
        if changes.start:
            await platform.execution.changed(run_id)
        return await platform.database.read(run_view, run_id)

    @router.post("/series/{series_id}/end", responses=error_responses(404, 409))
    async def end(
        series_id: SeriesId, who: Asker, platform: ThePlatform, body: Reason | None = None
    ) -> SeriesView:
        """Make no more runs; operators and participants may do this, and what runs goes on."""
        reason = (body or Reason()).of(f"ended by {who.account}")
        await platform.database.write(end_series, series_id, reason)
        return await platform.database.read(series_view, series_id)

    return router
