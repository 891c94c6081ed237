"""Admit requests: authenticate, count and authorize each before its body is read.

Nobody without a valid token can have anything large parsed. No route can be added that is not in
the table of permissions.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Request, Response
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from pydantic import BeforeValidator

from tacit.errors import CredentialError, NotThereError
from tacit.names import NAME_PATTERN, one_form
from tacit.service.access.credentials import Requester, requester_of, secret_hash
from tacit.service.access.limits import ConcurrencyLimit, RateLimit
from tacit.service.access.permissions import PERMISSIONS, Endpoint, check_role
from tacit.service.api.encoding import TypedRouter, error_responses
from tacit.service.api.intake import PREFIX, Intake
from tacit.service.background import Background
from tacit.service.execution.port import Execution
from tacit.service.server.settings import Settings
from tacit.service.storage import Database, read_member, read_series_member
from tacit.service.storage.events import Announcer

LOGS_AT_ONCE, LOGS_WAIT_SECONDS = 2, 20.0
"""Logs of nodes can be many megabytes, and pass through the platform's memory."""


@dataclass(frozen=True)
class Platform:
    """Settings, storage, events and execution; routes find it as `app.state.platform`."""

    settings: Settings
    database: Database
    announcer: Announcer
    execution: Execution
    by_account: RateLimit
    by_address: RateLimit
    """For requests without a token that counts."""
    background: Background
    intake: Intake
    streams: dict[str, int] = field(default_factory=dict)
    """The number of open event streams per account."""
    known_tokens: dict[str, str] = field(default_factory=dict)
    """The accounts of tokens that are or were valid, by their hashes."""
    logs: ConcurrencyLimit = field(
        default_factory=lambda: ConcurrencyLimit(
            "logs", at_once=LOGS_AT_ONCE, each=1, within=LOGS_WAIT_SECONDS
        )
    )
    """For fetching the nodes' logs."""


METRICS: Endpoint = ("GET", "/metrics")
HEALTH: Endpoint = ("GET", "/health")
RUN_ID = r"^r-[a-z2-7]{10}$"
SERIES_ID = r"^s-[a-z2-7]{10}$"
_LONGEST_TOKEN = 200
LISTS = {"run": "runs", "series": "series"}


class GatedRoute(APIRoute):
    """A route that is called only by those whom the table of permissions allows."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:  # noqa: ANN401 - FastAPI's own
        super().__init__(path, endpoint, **options)
        self.endpoints = [
            (method, path.removeprefix(PREFIX)) for method in sorted(self.methods or ())
        ]
        # While routes are made, so that the first test or start finds a line that was forgotten.
        for each in self.endpoints:
            if each not in PERMISSIONS:
                raise KeyError(f"{each} is not in the table of permissions; add it there")

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """FastAPI's handler behind the gate."""
        handle = super().get_route_handler()

        async def gated(request: Request) -> Response:
            await admit(request, (request.method, self.path.removeprefix(PREFIX)))
            return await handle(request)

        return gated


async def admit(request: Request, endpoint: Endpoint, /) -> None:
    """Let a request pass and set `request.state.who`, or raise the error that refuses it."""
    platform: Platform = request.app.state.platform
    address = request.client.host if request.client else "unknown"
    network = network_of(address)
    if "anonymous" in PERMISSIONS[endpoint]:
        if endpoint != HEALTH:  # which monitors ask often, and which costs nothing
            platform.by_address.take(network)
        return
    if endpoint == METRICS and _is_local(request, platform, address):
        return
    request.state.who = who = await _authenticated(request, platform, network)
    check_role(endpoint, who.role)
    # A run that one takes no part in gets the same answer as a name that cannot be one.
    for name, pattern, read, what in (
        ("run_id", RUN_ID, read_member, "run"),
        ("series_id", SERIES_ID, read_series_member, "series"),
    ):
        if (named := request.path_params.get(name)) is None:
            continue
        if re.fullmatch(pattern, named) is None:
            raise NotThereError(f"there is no such {what} for you; see the list of {LISTS[what]}")
        if who.role == "participant":
            await platform.database.read(read, named, who.account)


async def _authenticated(request: Request, platform: Platform, network: str) -> Requester:
    """Count a request, then find out who makes it.

    Guesses are counted by address, requests with a valid token by account: a crowd behind one
    address cannot lock out those there who have joined. Each is counted before the database is
    asked, so tokens that were valid when they were last seen are remembered. A token that is not
    among them counts as a guess until the database knows it.
    """
    try:
        token = _token(request)
    except CredentialError:
        platform.by_address.take(network)
        raise
    digest = secret_hash(token)
    account = platform.known_tokens.get(digest)
    if account is None:
        platform.by_address.take(network)
    else:
        platform.by_account.take(account)
    try:
        who = await platform.database.read(requester_of, token)
    except CredentialError:
        if account is not None:  # it was revoked or has expired, and is a guess from now on
            platform.known_tokens.pop(digest, None)
            platform.by_address.take(network)
        raise
    if account is None:
        platform.by_address.give_back(network)
        platform.by_account.take(who.account)
        platform.known_tokens[digest] = who.account
    return who


def _token(request: Request) -> str:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    # A longer string is no token of ours, and would only take time to hash.
    if scheme.lower() != "bearer" or not 0 < len(token.strip()) <= _LONGEST_TOKEN:
        raise CredentialError("send your token in the header 'Authorization: Bearer TOKEN'")
    return token.strip()


def _is_local(request: Request, platform: Platform, address: str) -> bool:
    """Whether the request comes from this machine without a token; behind a proxy all seem to."""
    if "authorization" in request.headers or platform.settings.behind_proxy:
        return False
    # A proxy that the settings do not mention.
    if any(name in request.headers for name in ("forwarded", "x-forwarded-for", "via")):
        return False
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def network_of(address: str, /) -> str:
    """Return the network of one household or firm: an IPv4 address, or 64 bits of an IPv6 one.

    >>> network_of("192.0.2.7"), network_of("2001:db8::7"), network_of("unknown")
    ('192.0.2.7', '2001:db8::/64', 'unknown')
    """
    try:
        known = ipaddress.ip_address(address)
    except ValueError:
        return address
    if known.version == 4:
        return address
    return str(ipaddress.ip_network((int(known), 64), strict=False))


def _requester(request: Request) -> Requester:
    who: Requester = request.state.who
    return who


def _platform_of(request: Request) -> Platform:
    platform: Platform = request.app.state.platform
    return platform


Asker = Annotated[Requester, Depends(_requester)]
ThePlatform = Annotated[Platform, Depends(_platform_of)]
RunId = Annotated[str, Path(pattern=RUN_ID)]
SeriesId = Annotated[str, Path(pattern=SERIES_ID)]
AccountName = Annotated[
    # Pydantic matches with Rust's regular expressions: they have no \Z, and their $ is the very
    # end.
    str, Path(pattern=NAME_PATTERN.replace(r"\Z", "$")), BeforeValidator(one_form)
]


def gated_router(subject: str, /, *, anonymous: bool = False) -> APIRouter:
    """A router whose routes stand behind the gate."""
    # The gate has checked the token already; this tells the document's readers to send one.
    bearer = HTTPBearer(auto_error=False, scheme_name="token")
    always = (400, 413, 429) if anonymous else (400, 401, 403, 413, 429)
    return TypedRouter(
        prefix=PREFIX,
        tags=[subject],
        route_class=GatedRoute,
        dependencies=[] if anonymous else [Depends(bearer)],
        responses=error_responses(*always),
    )
