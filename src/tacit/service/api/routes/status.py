"""What stands around runs: the clusters, problems to try, metrics."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, Response

from tacit.service.api.errors import error_responses
from tacit.service.api.gate import ThePlatform, gated_router
from tacit.service.api.generate import Generate, generated_terms
from tacit.service.api.terms import RunTerms
from tacit.service.execution.port import ClusterStatus


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
