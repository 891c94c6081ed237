"""A table of forbidden actions, made from the app's own routes: each who x each endpoint.

What the roles may do stands here once more, by hand, so that a slip in the table of permissions
does not pass unseen.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tacit.service.access.credentials import secret_hash
from tacit.service.access.permissions import PERMISSIONS
from tacit.service.api.gate import GatedRoute
from tacit.service.server.app import make_app
from tacit.service.server.settings import Settings
from tacit.service.storage import AccessToken
from tests.service.stand_in import StandIn
from tests.service.world import API, World, opened

OPERATOR_ONLY = {
    "GET /accounts",
    "POST /accounts",
    "POST /accounts/{name}/invitation",
    "DELETE /accounts/{name}",
    "PUT /accounts/{name}/mail",
    "POST /problems/generate",
    "POST /runs",
    "PUT /runs/{run_id}",
    "DELETE /runs/{run_id}",
    "POST /runs/{run_id}/invite",
    "POST /runs/{run_id}/invitations/{name}",
    "POST /runs/{run_id}/cancel",
    "POST /runs/{run_id}/resume",
    "POST /series",
    "POST /series/{series_id}/runs",
    "GET /metrics",
}
PARTICIPANT_ONLY = {
    "POST /runs/{run_id}/signature",
    "POST /runs/{run_id}/submission",
    "GET /runs/{run_id}/submission",
    "GET /runs/{run_id}/parts",
    "POST /runs/{run_id}/withdraw",
    "POST /series/{series_id}/signature",
}
NOT_FOR_VIEWERS = (
    OPERATOR_ONLY
    | PARTICIPANT_ONLY
    | {"POST /runs/{run_id}/logs", "GET /runs/{run_id}/bundle", "POST /series/{series_id}/end"}
)
OPEN = {"GET /health", "POST /join"}


def expected(who: str, endpoint: str) -> int | None:
    """The code of the refusal, or None where it is not refused for who it is."""
    if endpoint in OPEN:
        return None
    if who in ("anonymous", "nonsense", "expired", "revoked"):
        return 401
    if who == "op":
        return 403 if endpoint in PARTICIPANT_ONLY else None
    if who == "eye":
        return 403 if endpoint in NOT_FOR_VIEWERS else None
    if endpoint in OPERATOR_ONLY:
        return 403
    return 404 if "_id}" in endpoint and who == "outsider" else None


WHO = ["anonymous", "nonsense", "expired", "revoked", "op", "eye", "outsider", "north"]
MALFORMED = b'{"never": "read'


def placed(path: str, world: World, run_id: str, name: str) -> str:
    path = path.replace("{run_id}", run_id).replace("{series_id}", world.series_id)
    return path.replace("{name}", name)


def endpoints_of(world: World) -> list[str]:
    return [
        f"{method} {path}"
        for route in world.app.routes
        if isinstance(route, GatedRoute)
        for method, path in route.endpoints
    ]


@pytest.fixture(scope="module")
def busy(module_settings: Settings) -> Iterator[tuple[World, str]]:
    """A world with a run of north and south that has ended, and bad tokens."""
    with ExitStack() as stack:
        world = stack.enter_context(opened(make_app(module_settings, execution=StandIn)))
        # Not of this machine, to whom metrics are open.
        world.address = "192.0.2.7"
        for name, role in (("op", "operator"), ("eye", "viewer"), ("outsider", "participant")):
            world.add(name, role)
        run_id = world.ended("finished")
        world.series_id = world.agreed_series()
        now = time.time()
        world.tokens["nonsense"] = "tct_" + "x" * 43
        with world.platform.database.writing() as session:
            for name, expires, revoked in (("expired", now - 1, None), ("revoked", now + 99, now)):
                world.tokens[name] = f"tct_{name}"
                session.add(
                    AccessToken(
                        hash=secret_hash(f"tct_{name}"),
                        account="op",
                        created=now - 100,
                        expires=expires,
                        revoked=revoked,
                        label="",
                    )
                )
        yield world, run_id


def test_every_route_is_in_the_table_and_every_line_of_the_table_is_a_route(
    busy: tuple[World, str],
) -> None:
    world, _ = busy
    table = {f"{method} {path}" for method, path in PERMISSIONS}
    assert sorted(endpoints_of(world)) == sorted(table)
    documented = {
        f"{method.upper()} {path.removeprefix(API)}"
        for path, operations in world.app.openapi()["paths"].items()
        for method in operations
    }
    assert documented == table
    assert table >= (OPERATOR_ONLY | NOT_FOR_VIEWERS | OPEN)


@pytest.mark.parametrize("who", WHO)
def test_what_is_forbidden_is_refused_with_the_right_code(
    busy: tuple[World, str], who: str
) -> None:
    world, run_id = busy
    wrong = []
    for endpoint in endpoints_of(world):
        refusal = expected(who, endpoint)
        if refusal is None:
            continue
        method, path = endpoint.split()
        place = placed(path, world, run_id, "north")
        # A body that cannot be read: refused before anybody looks at it.
        answer = world.call(method, place, None if who == "anonymous" else who, content=MALFORMED)
        body = answer.json()
        if answer.status_code != refusal or set(body) != {"error", "message"}:
            wrong.append((endpoint, answer.status_code, body))
    assert not wrong


@pytest.mark.parametrize("who", WHO[4:])
@pytest.mark.processes
def test_what_is_allowed_is_not_refused_for_who_it_is(busy: tuple[World, str], who: str) -> None:
    world, run_id = busy
    for endpoint in endpoints_of(world):
        method, path = endpoint.split()
        # Streams do not end, and a token given back is gone.
        if (
            expected(who, endpoint) is not None
            or path.endswith("/events")
            or endpoint == "DELETE /me/token"
        ):
            continue
        place = placed(path, world, run_id, "nobody")
        answer = world.call(method, place, who, content=MALFORMED if method != "GET" else None)
        assert answer.status_code not in (401, 403, 500), (endpoint, answer.text)
        if "_id}" in path:
            assert answer.status_code != 404, (endpoint, answer.text)


def test_a_run_that_is_not_ones_own_looks_like_none(busy: tuple[World, str]) -> None:
    world, run_id = busy
    for endpoint in endpoints_of(world):
        method, path = endpoint.split()
        if "{run_id}" not in path or expected("outsider", endpoint) != 404:
            continue
        answers = [
            world.call(method, path.replace("{run_id}", each), "outsider", content=MALFORMED)
            for each in (run_id, "r-aaaaaaaaaa", "nonsense", "%2e%2e", "r-aaaaaaaaaa%00")
        ]
        # Names with a dot-dot or a slash may not even reach the route.
        told = {(each.status_code, each.json()["error"]) for each in answers}
        assert told == {(404, "not_found")}, endpoint
        assert answers[0].text == answers[1].text
    assert world.ok("GET", "/runs", "outsider")["items"] == []


def test_metrics_are_open_to_this_machine_alone(busy: tuple[World, str]) -> None:
    world, _ = busy
    try:
        world.address = "127.0.0.1"
        assert world.call("GET", "/metrics").status_code == 200
        proxied = world.call("GET", "/metrics", headers={"X-Forwarded-For": "127.0.0.1"})
        assert proxied.status_code == 401
        world.refused("forbidden", "GET", "/metrics", "eye")
    finally:
        world.address = "192.0.2.7"
    world.refused("unauthorized", "GET", "/metrics")
    assert world.call("GET", "/metrics", "op").status_code == 200
