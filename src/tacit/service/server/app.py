"""Build the platform as an ASGI application."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match, Mount
from starlette.types import Receive, Scope, Send

import tacit
from tacit.service.access.credentials import valid_tokens
from tacit.service.access.limits import RateLimit
from tacit.service.api.accounts import (
    accounts_router,
    joining_router,
    notifications_router,
)
from tacit.service.api.encoding import add_error_handlers, add_schemas
from tacit.service.api.gate import GatedRoute, Platform
from tacit.service.api.intake import Intake
from tacit.service.api.middleware import RequestLog, SecurityHeaders, SizeLimit
from tacit.service.api.results import results_router
from tacit.service.api.runs import runs_router, taking_part_router
from tacit.service.api.series import series_router, series_steps_router
from tacit.service.api.watching import status_router, watching_router
from tacit.service.background import Background
from tacit.service.execution.port import Execution
from tacit.service.server.settings import Settings
from tacit.service.storage import Database
from tacit.service.storage.events import Announcer

MEGABYTE = 1_000_000
MakeExecution = Callable[[Settings, Database], Execution]


def make_app(settings: Settings, /, *, execution: MakeExecution) -> FastAPI:
    """Return the API with its database open; execution starts with the app."""
    database = Database(settings.database_url)
    announcer = Announcer(database)
    background = Background()
    platform = Platform(
        settings,
        database,
        announcer,
        execution(settings, database),
        by_account=RateLimit(settings.requests_per_minute),
        by_address=RateLimit(settings.anonymous_requests_per_minute),
        background=background,
        intake=Intake(background, bytes_per_minute=int(settings.mb_per_minute * MEGABYTE)),
    )
    app = _PlatformApp(
        title="tacit",
        version=tacit.__version__,
        description="Participants agree, seal and submit; operators run. See docs/platform.md.",
        openapi_url="/api/v1/openapi.json",
        # FastAPI's own pages would load scripts from elsewhere.
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=_lifespan,
    )
    app.state.platform = platform
    # Not by include_router, which wraps them: the routes of the app are then those of the gate.
    app.router.routes.extend(_routes())
    add_error_handlers(app)
    app.router.routes.append(Mount("/api", _NothingHere(app)))
    app.add_middleware(SizeLimit, most_bytes=int(settings.request_limit_mb * MEGABYTE))
    app.add_middleware(SecurityHeaders, https=settings.is_https)
    app.add_middleware(RequestLog)
    return app


@cache
def _routes() -> tuple[BaseRoute, ...]:
    """Return all routes, once per process: they take the platform from the request."""
    routers = (
        *joining_router(),
        accounts_router(),
        runs_router(),
        series_router(),
        series_steps_router(),
        taking_part_router(),
        results_router(),
        notifications_router(),
        watching_router(),
        status_router(),
    )
    return tuple(route for router in routers for route in router.routes)


class _PlatformApp(FastAPI):
    """FastAPI with the schemas of our records in the API's document."""

    def openapi(self) -> dict[str, Any]:
        return add_schemas(super().openapi(), self.routes)


class _NothingHere:
    """Answers what no route does, before anything that is mounted at the root takes it."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app

    async def __call__(self, scope: Scope, _receive: Receive, _send: Send) -> None:
        whole = {**scope, "root_path": scope.get("app_root_path", "")}
        methods: set[str] = set()
        for route in self._app.routes:
            if isinstance(route, GatedRoute) and route.matches(whole)[0] is Match.PARTIAL:
                methods |= route.methods or set()
        if methods:
            raise HTTPException(405, headers={"Allow": ", ".join(sorted(methods))})
        raise HTTPException(404)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    platform: Platform = app.state.platform
    platform.known_tokens.update(await platform.database.read(valid_tokens))
    # Events have listeners before execution begins to change runs.
    platform.announcer.count_in(platform.execution.tasks)
    await platform.announcer.start()
    await platform.execution.start()
    try:
        yield
    finally:
        # The database is closed last: execution gives its runs back.
        await platform.execution.stop()
        await platform.background.close()
        await platform.announcer.close()
        platform.database.close()
