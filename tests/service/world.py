"""A platform in this process, and everybody who uses it."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import httpx
import numpy as np
from anyio.from_thread import BlockingPortal, start_blocking_portal
from fastapi import FastAPI
from msgspec.structs import replace

from tacit.agreement import Series, read_series, sign_series
from tacit.agreement.sealing import seal_rows
from tacit.agreement.signatures import Joining, sign_agreement, sign_joining
from tacit.agreement.terms import Agreement, read_agreement
from tacit.client import RunState, platform_address
from tacit.errors import service_error
from tacit.identity.keys import Keys
from tacit.service.access.credentials import invite
from tacit.service.api.gate import Platform
from tacit.service.execution.api_execution import ApiExecution
from tacit.service.execution.worker_thread import WorkerThread
from tacit.service.server.app import make_app
from tacit.service.server.settings import Settings
from tacit.service.storage import Database, create_account
from tests.service.example_terms import plain_terms
from tests.service.stand_in import StandIn
from tests.support.platform import listening

API = "/api/v1"


def joining_body(code: str, keys: Keys, account: str, url: str) -> dict[str, str]:
    """What a participant hands in to join a platform at this address."""
    platform = platform_address(url)
    signature = sign_joining(Joining(code, account, platform), keys.signing)
    signed = {"signing_key": keys.signing_public, "signature": signature.hex()}
    return {"code": code, **signed, "account": account, "platform": platform}


def executing(settings: Settings, database: Database) -> ApiExecution:
    """The real execution, in a thread of this process."""
    return ApiExecution(settings, database, worker=WorkerThread)


@contextmanager
def opened(app: FastAPI) -> Iterator[World]:
    """The app with its event loop in a thread, called without a socket."""
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(app.router.lifespan_context(app)),
    ):
        yield World(portal, app)


@dataclass
class World:
    portal: BlockingPortal | None
    """The loop of an app without a server."""
    app: FastAPI
    address: str = "127.0.0.1"
    url: str = "http://platform"
    tokens: dict[str, str] = field(default_factory=dict)
    keys: dict[str, Keys] = field(default_factory=dict)
    series_id: str = ""

    @property
    def execution(self) -> StandIn:
        assert isinstance(self.platform.execution, StandIn)
        return self.platform.execution

    def call(
        self, method: str, path: str, who: str | None = None, **options: Any
    ) -> httpx.Response:
        headers = dict(options.pop("headers", {}))
        if who is not None:
            headers["Authorization"] = f"Bearer {self.tokens[who]}"
        return self.request(method, API + path, headers=headers, **options)

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        if self.portal is None:
            with httpx.Client(verify=False, timeout=120) as client:
                return client.request(method, self.url + path, **options)

        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(
                self.app, raise_app_exceptions=False, client=(self.address, 1)
            )
            async with httpx.AsyncClient(transport=transport, base_url=self.url) as client:
                return await client.request(method, path, **options)

        return self.portal.call(ask)

    @property
    def platform(self) -> Platform:
        platform: Platform = self.app.state.platform
        return platform

    def ok(self, method: str, path: str, who: str | None = None, **options: Any) -> Any:
        answer = self.call(method, path, who, **options)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None

    def refused(
        self, code: str, method: str, path: str, who: str | None = None, **about: Any
    ) -> str:
        """Have a request refused with the error of this code; returns the error's message."""
        answer = self.call(method, path, who, **about)
        found = answer.json()
        status = 413 if code == "too_large" else service_error(code).status
        assert (answer.status_code, found["error"]) == (status, code), found
        return str(found["message"])

    def first_code(self, name: str, role: str) -> str:
        """As the command line invites."""
        with self.platform.database.writing() as session:
            create_account(session, name, role)
            return invite(session, name, hours=1)[0]

    def join(self, name: str, code: str, *, key: bool = False) -> None:
        body = {"code": code}
        if key:
            self.keys.setdefault(name, Keys.new(name))
            body |= joining_body(code, self.keys[name], name, self.platform.settings.url)
        self.tokens[name] = self.ok("POST", "/join", json=body)["token"]

    def add(self, name: str, role: str) -> None:
        self.join(name, self.first_code(name, role), key=role == "participant")

    def draft(self, **changes: Any) -> str:
        terms = {**plain_terms(), **changes}
        run_id: str = self.ok("POST", "/runs", "op", json=terms)["id"]
        return run_id

    def invited(self, **changes: Any) -> str:
        """A run whose members have all joined."""
        run_id = self.draft(**changes)
        codes = self.ok("POST", f"/runs/{run_id}/invite", "op")["invitations"]
        for name, code in codes.items():
            self.join(name, code, key=True)
        return run_id

    def agreement(self, run_id: str) -> Agreement:
        return read_agreement(self.call("GET", f"/runs/{run_id}/agreement", "op").content)

    def series(self, series_id: str) -> Series:
        return read_series(self.call("GET", f"/series/{series_id}/document", "op").content)

    def signature(self, run_id: str, name: str) -> str:
        return sign_agreement(self.agreement(run_id), self.keys[name].signing).hex()

    def agreed(self, **changes: Any) -> str:
        run_id = self.invited(**changes)
        for name in ("north", "south"):
            body = {"signature": self.signature(run_id, name)}
            self.ok("POST", f"/runs/{run_id}/signature", name, json=body)
        return run_id

    def invited_series(self, **changes: Any) -> str:
        """A series whose members have all joined."""
        terms = {"name": "daily", "run": plain_terms(), **changes}
        made = self.ok("POST", "/series", "op", json=terms)
        for name, code in made["invitations"].items():
            self.join(name, code, key=True)
        return str(made["id"])

    def sign_series(self, series_id: str, name: str) -> Any:
        signature = sign_series(self.series(series_id), self.keys[name].signing).hex()
        body = {"signature": signature}
        return self.ok("POST", f"/series/{series_id}/signature", name, json=body)

    def agreed_series(self, **changes: Any) -> str:
        series_id = self.invited_series(**changes)
        for name in ("north", "south"):
            self.sign_series(series_id, name)
        return series_id

    def sealed(self, run_id: str, name: str, objective: int = 0) -> dict[str, Any]:
        rows = seal_rows(
            self.agreement(run_id), name, objective, np.full((2, 4), 7), key=self.keys[name].signing
        )
        return {
            "objective": objective,
            "manifest": rows.manifest.hex(),
            "signature": rows.signature.hex(),
            "boxes": [b64encode(box).decode() for box in rows.boxes],
        }

    def submitted(self, **changes: Any) -> str:
        run_id = self.agreed(**changes)
        for objective in range(len(changes.get("objectives", [0]))):
            for name in ("north", "south"):
                body = self.sealed(run_id, name, objective)
                self.ok("POST", f"/runs/{run_id}/submission", name, json=body)
        return run_id

    def ended(self, state: RunState = "finished", **changes: Any) -> str:
        run_id = self.submitted(**changes)
        self.run_to(run_id, state)
        return run_id

    def run_to(self, run_id: str, state: RunState, **found: Any) -> None:
        """`found` is what the result has besides the usual."""
        run = partial(self.execution.run_to, run_id, state, **found)
        if self.portal is None:
            # Beside a browser's own event loop, which is in this thread.
            with ThreadPoolExecutor(1) as thread:
                thread.submit(asyncio.run, run()).result()
        else:
            self.portal.call(run)


@contextmanager
def served(settings: Settings, **changes: Any) -> Iterator[World]:
    """The app behind its real web server with TLS, in a thread, at a free port."""
    settings = replace(settings, **changes)
    app = make_app(settings, execution=StandIn)
    with listening(settings, app):
        yield World(None, app, url=settings.url)


MakeWorld = Callable[..., World]
