"""What stands around runs: the clusters, problems to try, metrics."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal

from fastapi import APIRouter, Response
from pydantic import Field, StringConstraints

from tacit.problems import generate_named
from tacit.service.api.errors import error_responses
from tacit.service.api.gate import ThePlatform, gated_router
from tacit.service.api.terms import ParticipantName, RunTerms, Taken, draft_of_problem
from tacit.service.execution.port import ClusterStatus

MOST_ROWS = 300


class Generate(Taken):
    """What to draw: airline delays, or a problem of a kind."""

    kind: Literal["delays", "ap", "tsp", "capacitated", "routing"]
    rows: Annotated[int, Field(ge=2, le=MOST_ROWS)] = 20
    columns: Annotated[int, Field(ge=2, le=2 * MOST_ROWS)] | None = None
    """Of a routing problem: its vehicles."""
    participants: Annotated[list[ParticipantName], Field(min_length=1, max_length=50)] | None = None
    """Their names; left out, three are made up."""
    seed: Annotated[int, Field(ge=0, lt=2**53)] = 1
    weights_up_to: Annotated[int, Field(ge=1, le=10**6)] = 1000
    disclosure: Annotated[str, StringConstraints(max_length=40)] | None = None
    """Left out, sealed where the kind can be, otherwise top:15."""
    deadline_seconds: Annotated[float, Field(gt=0, le=86_400)] = 60.0


def generated_terms(asked: Generate, /) -> RunTerms:
    """A draft without weights: participants draw them by themselves."""
    problem = generate_named(
        asked.kind,
        asked.seed,
        rows=asked.rows,
        columns=asked.columns,
        up_to=asked.weights_up_to,
        sense="minimize",
        participants=3 if asked.participants is None else len(set(asked.participants)),
    )
    names = asked.participants or [each.name.replace(" ", "-") for each in problem.participants]
    names = list(dict.fromkeys(names))
    owners = dict(zip(names, (each.rows for each in problem.participants), strict=True))
    disclosure = asked.disclosure or problem.usual_disclosure
    draft = draft_of_problem(problem, owners, disclosure=disclosure)
    return RunTerms.model_validate(
        {**draft, "name": problem.name, "deadline_seconds": asked.deadline_seconds}
    )


def status_router() -> APIRouter:
    """The routes of clusters, problems and metrics."""
    router = gated_router("status")

    @router.get("/clusters")
    async def clusters(platform: ThePlatform) -> list[ClusterStatus]:
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
