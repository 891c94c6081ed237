"""Watching the platform: event streams (server-sent events), clusters, metrics; problems to try."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Header, Response
from fastapi.responses import StreamingResponse

from tacit.client import ClusterView, Generate, RunTerms
from tacit.errors import TooManyError
from tacit.problems import generate_named
from tacit.service.access.credentials import Requester, is_still_valid
from tacit.service.access.permissions import PARTICIPANT
from tacit.service.api.encoding import error_responses
from tacit.service.api.gate import Asker, Platform, RunId, ThePlatform, gated_router
from tacit.service.storage import Event, events_after, is_member, read_run
from tacit.service.storage.events import last_event
from tacit.service.workflow.terms import terms_of_problem

BEAT_SECONDS = 10.0
"""How often a comment keeps the connection open, and the token is checked again."""
MOST_STREAMS = 20
"""The number of streams that one account may have open."""
BATCH = 500

LastEventId = Annotated[
    str | None,
    Header(
        alias="Last-Event-ID",
        pattern=r"^[0-9]{1,15}$",
        description="Go on after this event; 0 begins at the first. Without: from now on.",
    ),
]
_STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
        "description": "Events of kind state, member, progress and warning; each has an id.",
    }
}


def show_event(event: Event, /) -> str:
    r"""An event as it goes over the line.

    >>> show_event(Event(id=3, run="r-x", at=1.0, kind="state", data={"state": "running"}))
    'id: 3\nevent: state\ndata: {"run":"r-x","at":1.0,"state":"running"}\n\n'
    """
    # JSON escapes line breaks, so that no text can pass for a line of the protocol.
    data = json.dumps({"run": event.run, "at": event.at, **event.data}, separators=(",", ":"))
    return f"id: {event.id}\nevent: {event.kind}\ndata: {data}\n\n"


class _Visibility:
    """Decides which events somebody may see: of one run, or of all runs that are theirs."""

    def __init__(self, platform: Platform, who: Requester, run_id: str | None) -> None:
        self._platform, self._run_id = platform, run_id
        self.participant = who.account if who.role == PARTICIPANT else None
        self._is_mine: dict[str, bool] = {}
        """Of each run that there was an event of."""

    async def covers(self, event: Event) -> bool:
        if self._run_id is not None:
            return event.run == self._run_id
        if self.participant is None:
            return True
        # Somebody becomes a member of a run when it is invited, which changes its state.
        if event.run not in self._is_mine or (
            event.kind == "state" and not self._is_mine[event.run]
        ):
            self._is_mine[event.run] = await self._platform.database.read(
                is_member, event.run, self.participant
            )
        return self._is_mine[event.run]


async def _events(
    platform: Platform, who: Requester, run_id: str | None, after: int | None
) -> AsyncIterator[str]:
    """Yield what was missed, then what comes, until the token is not valid any more."""
    visible = _Visibility(platform, who, run_id)
    platform.streams[who.account] = platform.streams.get(who.account, 0) + 1
    try:
        # Checked once more: several requests may have passed the first check at the same moment.
        if platform.streams[who.account] > MOST_STREAMS:
            return
        # Listening begins before the database is read, and what comes is compared with the last
        # number that was read. So nothing is lost or sent twice in between.
        with platform.announcer.listening() as queue:
            last = await platform.database.read(last_event) if after is None else after
            yield ": here\n\n"
            while missed := await platform.database.read(
                events_after, last, run=run_id, participant=visible.participant, limit=BATCH
            ):
                for event in missed:
                    yield show_event(event)
                last = missed[-1].id
            async for coming in _beaten(queue):
                if coming is None:
                    if not await platform.database.read(is_still_valid, who):
                        return
                    yield ": beat\n\n"
                elif coming.id > last and await visible.covers(coming):
                    yield show_event(coming)
    finally:
        platform.streams[who.account] -= 1


async def _beaten(queue: asyncio.Queue[Event | None]) -> AsyncIterator[Event | None]:
    """Yield what comes until the queue ends, and None at every beat, however much comes."""
    clock = asyncio.get_running_loop().time
    beat = clock() + BEAT_SECONDS
    while True:
        if clock() >= beat:
            beat = clock() + BEAT_SECONDS
            yield None
        try:
            async with asyncio.timeout_at(beat):
                coming = await queue.get()
        except TimeoutError:
            continue
        if coming is None:
            return
        yield coming


def _stream(
    platform: Platform, who: Requester, run_id: str | None, after: str | None
) -> StreamingResponse:
    if platform.streams.get(who.account, 0) >= MOST_STREAMS:
        raise TooManyError(
            f"you watch {MOST_STREAMS} streams already; close one", retry_after=int(BEAT_SECONDS)
        )
    events = _events(platform, who, run_id, None if after is None else int(after))
    return StreamingResponse(events, media_type="text/event-stream")


def watching_router() -> APIRouter:
    """The routes of event streams."""
    router = gated_router("watching")

    @router.get(
        "/runs/{run_id}/events",
        response_class=StreamingResponse,
        responses={**_STREAM, **error_responses(404)},
    )
    async def events_of_run(
        run_id: RunId, who: Asker, platform: ThePlatform, last: LastEventId = None
    ) -> StreamingResponse:
        """What happens to a run."""
        await platform.database.read(read_run, run_id)
        return _stream(platform, who, run_id, last)

    @router.get("/events", response_class=StreamingResponse, responses={**_STREAM})
    async def events(
        who: Asker, platform: ThePlatform, last: LastEventId = None
    ) -> StreamingResponse:
        """What happens to all runs that one may see."""
        return _stream(platform, who, None, last)

    return router


def generated_terms(request: Generate, /) -> RunTerms:
    """A draft without weights: participants draw them by themselves."""
    problem = generate_named(
        request.kind,
        request.seed,
        rows=request.rows,
        columns=request.columns,
        up_to=request.weights_up_to,
        sense="minimize",
        participants=3 if request.participants is None else len(set(request.participants)),
    )
    names = request.participants or [each.name.replace(" ", "-") for each in problem.participants]
    names = list(dict.fromkeys(names))
    owners = dict(zip(names, (each.rows for each in problem.participants), strict=True))
    differ = {"disclosure": request.disclosure or problem.usual_disclosure}
    rules = {
        "name": problem.name,
        "deadline_seconds": request.deadline_seconds,
        "objectives": [differ] * len(problem.objectives),
    }
    return terms_of_problem(problem, owners, rules=rules)


def status_router() -> APIRouter:
    """The routes of clusters, problems and metrics."""
    router = gated_router("status")

    @router.get("/clusters")
    async def clusters(platform: ThePlatform) -> list[ClusterView]:
        """The nodes that the platform knows, as it last saw them."""
        return platform.execution.clusters()

    @router.post("/problems/generate", responses=error_responses(422))
    async def generate(body: Generate) -> RunTerms:
        """Draw a problem to try things with; returns a draft, without any weights."""
        return await asyncio.to_thread(generated_terms, body)

    @router.get(
        "/metrics",
        response_class=Response,
        responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
    )
    async def metrics(platform: ThePlatform) -> Response:
        """Figures for Prometheus; also without a token from the machine itself."""
        from prometheus_client.exposition import CONTENT_TYPE_LATEST

        data = await asyncio.to_thread(platform.execution.metrics.render)
        return Response(data, media_type=CONTENT_TYPE_LATEST)

    return router
