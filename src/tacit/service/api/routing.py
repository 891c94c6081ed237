"""What all routers have in common: the gate, the token in the document, the form of errors."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path
from fastapi.security import HTTPBearer

from tacit.service.access.tokens import Who
from tacit.service.api.errors import error_responses
from tacit.service.api.gate import RUN_ID, GatedRoute, platform_of, who_asks
from tacit.service.server.context import Platform

Asker = Annotated[Who, Depends(who_asks)]
ThePlatform = Annotated[Platform, Depends(platform_of)]
RunId = Annotated[str, Path(pattern=RUN_ID)]


def gated_router(subject: str, /, *, anonymous: bool = False) -> APIRouter:
    """A router whose routes stand behind the gate."""
    # The gate has checked the token already; this tells the document's readers to send one.
    bearer = HTTPBearer(auto_error=False, scheme_name="token")
    always = (400, 413, 429) if anonymous else (400, 401, 403, 413, 429)
    return APIRouter(
        prefix="/api/v1",
        tags=[subject],
        route_class=GatedRoute,
        dependencies=[] if anonymous else [Depends(bearer)],
        responses=error_responses(*always),
    )
