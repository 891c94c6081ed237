"""A platform that can lie: the contract's API over real TLS, real nodes behind it, and hooks.

It answers honestly what `tamper` does not change, and remembers every byte that it was sent.
"""

from __future__ import annotations

import socket
import threading
import time
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import uvicorn
from fastapi import FastAPI, HTTPException, Request, Response

from tacit.disclosure import parse_disclosure
from tacit.engine.agreement.draft import draft_agreement
from tacit.engine.agreement.sealing import SealedRows, box_hash
from tacit.engine.agreement.signatures import is_joining_signed, is_signed
from tacit.engine.agreement.terms import (
    Agreement,
    AgreementLimits,
    PinnedSearch,
    agreement_hash,
    canonical,
)
from tacit.engine.coordinator.secure import SecureEngine
from tacit.engine.identity.certificates import CertificateFiles, new_certificate, read_certificate
from tacit.engine.local.cluster import LocalCluster
from tacit.engine.local.engine import node_terms
from tacit.engine.records.ledger import LedgerEntry, load_ledger
from tacit.mpc.transport import fingerprint
from tacit.problems import Assignment, Objective, Participant, Problem
from tacit.runs import Progress, drive
from tacit.runs.agreed.agreed import Agreed
from tacit.runs.agreed.driver import agreed_driver
from tacit.search import SearchParameters

RUN = "r-abcdefghij"
NAMES = ("north", "south", "west")
EVALUATIONS = 6
PARAMETERS = SearchParameters(population=20, elites=2, tournament=3)
Tamper = Callable[[Any], Any]


def slots(disclosure: str = "top:4") -> Assignment:
    """Nine flights of three airlines and nine slots; delays cost up to 300.0, with one decimal."""
    costs = np.random.default_rng(5).integers(0, 3000, size=(9, 9))
    return Assignment(
        name="slots",
        rows=9,
        columns=9,
        row_names=tuple(f"F{i}" for i in range(9)),
        column_names=("8:00", "8:10", "8:20", "8:30", "8:40", "8:50", "9:00", "9:10", "9:20"),
        objectives=(
            Objective(
                "delay",
                costs,
                sense="minimize",
                scale=10,
                weight_bound=3000,
                disclosure=parse_disclosure(disclosure),
            ),
        ),
        participants=tuple(
            Participant(name, tuple(range(3 * i, 3 * i + 3))) for i, name in enumerate(NAMES)
        ),
    )


def csv_of(problem: Problem, name: str) -> str:
    """A participant's own rows as its desk would have them."""
    weights, rows, columns = problem.objectives[0].weights, problem.row_names, problem.column_names
    assert weights is not None
    assert rows is not None
    assert columns is not None
    own = next(each.rows for each in problem.participants if each.name == name)
    lines = [",".join(("flight", *columns))]
    lines += [",".join((rows[r], *(f"{w / 10:.1f}" for w in weights[r]))) for r in own]
    return "\n".join(lines) + "\n"


class Platform:
    """One run on one agreed; `url` is where it listens."""

    def __init__(
        self,
        cluster: LocalCluster,
        folder: Path,
        *,
        problem: Problem | None = None,
        parameters: SearchParameters = PARAMETERS,
        reveal_best: bool = False,
    ) -> None:
        self.cluster, self.folder, self.problem = cluster, folder, problem or slots()
        self.parameters, self.reveal_best = parameters, reveal_best
        self.certificate = new_certificate("platform-web", folder)
        self.tokens: dict[str, str] = {}
        self.keys: dict[str, str] = {}
        self.codes = {f"code-{name}": name for name in NAMES}
        self.agreement: Agreement | None = None
        self.signatures: dict[str, bytes] = {}
        self.sealed: dict[tuple[str, int], SealedRows] = {}
        self.refused: dict[str, str] = {}
        self.state = "invited"
        self.ledger: list[LedgerEntry] = []
        self.result: dict[str, Any] = {}
        self.engine: SecureEngine | None = None
        self.received: list[bytes] = []
        self.tamper: dict[str, Tamper] = {}
        self.port = 0

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def told(self, name: str, value: Any) -> Any:
        return self.tamper.get(name, lambda honest: honest)(value)

    def draft(self) -> Agreement:
        settings = asdict(self.parameters)
        folder = self.cluster.folder
        bare = tuple(replace(each, weights=None) for each in self.problem.objectives)
        return draft_agreement(
            replace(self.problem, objectives=bare),
            participants=self.keys,
            nodes=node_terms(self.cluster.config),
            platform=fingerprint(read_certificate(folder / "platform.pem")),
            search=PinnedSearch(settings.pop("algorithm"), settings, None),
            limits=AgreementLimits(EVALUATIONS, 20, 40, 2, int(time.time()) + 3600),
            reveal_best=self.reveal_best,
        )

    def view(self) -> dict[str, Any]:
        return {
            "id": RUN,
            "name": "morning",
            "state": self.state,
            "reason": None,
            "terms": {"deadline_seconds": 20},
            "members": [
                {
                    "name": name,
                    "joined": name in self.keys,
                    "signed": name in self.signatures,
                    "submission_state": "accepted" if (name, 0) in self.sealed else "missing",
                }
                for name in NAMES
            ],
            "warnings": [],
        }

    def execute(self, *, stop_after: int | None = None) -> None:
        """Run the agreed search on the nodes, or go on with it, as an honest platform does."""
        assert self.agreement is not None
        self.close()

        def watch(progress: Progress) -> None:
            if progress.generation == stop_after:
                raise KeyboardInterrupt

        self.engine = SecureEngine(self.agreement, self.cluster.config)
        self.engine.__enter__()
        self.engine.start(self.signatures, [self.sealed[key] for key in sorted(self.sealed)])
        manifests = {
            k: [self.sealed[each.participant, k].manifest for each in terms.owners]
            for k, terms in enumerate(self.agreement.objectives)
        }
        agreed = Agreed(agreement=self.agreement, signatures=self.signatures, manifests=manifests)
        with agreed_driver(agreed, self.cluster.config, self.folder) as driver:
            drive(driver, until=time.monotonic() + 30, observe=watch)
            items = driver.plans()[0]
            generation = driver.progress().generation
        self.ledger = load_ledger(self.folder / "ledger.jsonl", sealed=False)
        rows, columns = self.problem.row_names, self.problem.column_names
        named = None
        if rows is not None and columns is not None:
            named = [[rows[r], columns[c]] for r, c in enumerate(items)]
        self.result = {"plan": {"items": items, "named": named}, "generation": generation}
        self.state = "finished"

    def close(self) -> None:
        if self.engine is not None:
            self.engine.__exit__(None, None, None)

    def app(self) -> FastAPI:
        """The contract's paths."""
        app = FastAPI()

        @app.middleware("http")
        async def remember(request: Request, call_next: Any) -> Response:
            self.received.append(await request.body())
            self.received.append(repr(request.headers.items()).encode())
            answer: Response = await call_next(request)
            return answer

        @app.exception_handler(HTTPException)
        async def refuse(_: Request, error: HTTPException) -> Response:
            body = msgspec.json.encode({"error": "no", "message": error.detail})
            return Response(body, error.status_code, media_type="application/json")

        _add_accounts(self, app)
        _add_run(self, app)
        _add_outcome(self, app)
        return app


def _who(platform: Platform, request: Request) -> str:
    token = request.headers.get("Authorization", "").removeprefix("Bearer ")
    if token not in platform.tokens:
        raise HTTPException(401, "no such token")
    return platform.tokens[token]


def _add_accounts(platform: Platform, app: FastAPI) -> None:
    @app.post("/api/v1/join")
    async def join(request: Request) -> Any:
        asked = await request.json()
        name = platform.codes.pop(asked["code"], None)
        if name is None:
            raise HTTPException(401, "no such code")
        signature = bytes.fromhex(asked["signature"])
        if not is_joining_signed(asked["signing_key"], asked["code"], signature):
            raise HTTPException(422, "this key is not yours")
        platform.keys[name] = asked["signing_key"]
        token = f"token-of-{name}-{len(platform.tokens)}"
        platform.tokens[token] = name
        if len(platform.keys) == len(NAMES) and platform.agreement is None:
            platform.agreement = platform.draft()
        expires = time.time() + 86400
        return {"token": token, "account": name, "role": "participant", "expires": expires}

    @app.get("/api/v1/runs")
    def runs(request: Request) -> Any:
        _who(platform, request)
        return [{"id": RUN, "name": "morning", "state": platform.state, "reason": None}]


def _add_run(platform: Platform, app: FastAPI) -> None:
    @app.get(f"/api/v1/runs/{RUN}")
    def view(request: Request) -> Any:
        _who(platform, request)
        return platform.view()

    @app.get(f"/api/v1/runs/{RUN}/agreement")
    def agreement(request: Request) -> Response:
        _who(platform, request)
        if platform.agreement is None:
            raise HTTPException(404, "waiting for: south, west; come back when they have joined")
        shown = platform.told("agreement", platform.agreement)
        data = shown if isinstance(shown, bytes) else canonical(shown)
        return Response(data, media_type="application/json")

    @app.post(f"/api/v1/runs/{RUN}/signature")
    async def signature(request: Request) -> Any:
        who, asked = _who(platform, request), await request.json()
        assert platform.agreement is not None
        signed = bytes.fromhex(asked["signature"])
        digest = agreement_hash(platform.agreement)
        if not is_signed(platform.keys[who], "agreement", digest, signed):
            raise HTTPException(422, "this is not your signature under the agreement")
        platform.signatures[who] = signed
        if len(platform.signatures) == len(NAMES):
            platform.state = "agreed"
        return platform.view()

    @app.post(f"/api/v1/runs/{RUN}/submission", status_code=201)
    async def submit(request: Request) -> Any:
        who, asked = _who(platform, request), await request.json()
        if platform.state != "agreed":
            raise HTTPException(409, "the run is not agreed; all must have signed first")
        sealed = SealedRows(
            tuple(b64decode(box) for box in asked["boxes"]),
            bytes.fromhex(asked["manifest"]),
            bytes.fromhex(asked["signature"]),
        )
        platform.sealed[who, asked["objective"]] = sealed
        platform.refused.pop(who, None)
        return _submission(platform, who, asked["objective"])

    @app.get(f"/api/v1/runs/{RUN}/submission")
    def submission(request: Request) -> Any:
        who = _who(platform, request)
        held = [_submission(platform, who, k) for name, k in platform.sealed if name == who]
        return platform.told("submission", held)

    @app.post(f"/api/v1/runs/{RUN}/withdraw")
    def withdraw(request: Request) -> Any:
        _who(platform, request)
        if platform.state in ("running", "finished"):
            raise HTTPException(409, f"the run is {platform.state}; it is too late to withdraw")
        return {**platform.view(), "state": "cancelled"}


def _submission(platform: Platform, who: str, objective: int) -> dict[str, Any]:
    return {
        "objective": objective,
        "state": "refused" if who in platform.refused else "waiting",
        "reason": platform.refused.get(who),
        "boxes": [box_hash(box) for box in platform.sealed[who, objective].boxes],
    }


def _add_outcome(platform: Platform, app: FastAPI) -> None:
    @app.get(f"/api/v1/runs/{RUN}/result")
    def result(request: Request) -> Any:
        _who(platform, request)
        return platform.told("result", {"state": platform.state, "reason": None, **platform.result})

    @app.get(f"/api/v1/runs/{RUN}/ledger")
    def ledger(request: Request) -> Response:
        _who(platform, request)
        entries = platform.told("ledger", list(platform.ledger))
        lines = [msgspec.json.encode(entry, order="sorted") + b"\n" for entry in entries]
        return Response(b"".join(lines), media_type="application/x-ndjson")

    @app.post(f"/api/v1/runs/{RUN}/logs")
    def logs(request: Request, asked: dict[str, str]) -> Any:
        _who(platform, request)
        assert platform.engine is not None
        nonce = platform.told("nonce", bytes.fromhex(asked["nonce"]))
        answer = {
            "logs": [
                {
                    "node": node,
                    "log": b64encode(done.log).decode(),
                    "seconds": done.seconds,
                    "nonce": asked["nonce"],
                    "signature": done.signature.hex(),
                }
                for node, done in enumerate(platform.engine.fetch_logs(nonce))
            ],
            "manifests": [
                {
                    "participant": who,
                    "objective": objective,
                    "manifest": each.manifest.hex(),
                    "signature": each.signature.hex(),
                }
                for (who, objective), each in platform.sealed.items()
            ],
            "words": {},
        }
        return platform.told("logs", answer)


@contextmanager
def served(platform: Platform) -> Iterator[Platform]:
    """Serve it over TLS from a thread for as long as the block lasts."""
    with listening_at(platform.app(), platform.certificate) as platform.port:
        try:
            yield platform
        finally:
            platform.close()


@contextmanager
def listening_at(app: Any, certificate: CertificateFiles) -> Iterator[int]:
    """The port at which an app is served."""
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            ssl_certfile=certificate.certificate,
            ssl_keyfile=certificate.key,
            log_level="error",
            lifespan="off",
            ws="none",
        )
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield int(listening.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join(timeout=10)
        listening.close()
