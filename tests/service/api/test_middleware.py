"""Everything between a socket and a route: sizes, headers, errors, strange requests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from tacit.service.api import middleware
from tests.service.world import API, MakeWorld, World


def test_platforms_of_one_process_know_their_own_accounts(make_world: MakeWorld) -> None:
    """They share their routes, and nothing else."""
    here, there = make_world(), make_world(database="sqlite:///there.db")
    here.add("op", "operator")
    there.tokens = here.tokens
    assert [each.call("GET", "/runs", "op").status_code for each in (here, there)] == [200, 401]


def test_large_bodies_are_refused_whether_or_not_they_say_so(world: World) -> None:
    large = b'{"code": "' + b"x" * 100_000 + b'"}'
    world.refused("too_large", "POST", "/join", content=large)

    async def chunks() -> AsyncIterator[bytes]:
        for start in range(0, len(large), 4096):
            yield large[start : start + 4096]

    chunked = world.call("POST", "/join", content=chunks())
    assert (chunked.status_code, chunked.json()["error"]) == (413, "too_large")
    run_id = world.draft()

    async def endless() -> AsyncIterator[bytes]:
        for _ in range(200):
            yield b" " * 100_000
        pytest.fail("the body is read beyond the limit")

    answer = world.call("PUT", f"/runs/{run_id}", "op", content=endless())
    assert answer.status_code == 413
    lied = world.call("POST", "/join", content=b"{}", headers={"Content-Length": "1" * 30})
    assert lied.status_code == 413


def test_a_body_that_does_not_come_is_not_waited_for(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(middleware, "BODY_SECONDS", 0.05)

    async def slow() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.sleep(5)
        yield b"}"

    answer = world.call("POST", "/runs", "op", content=slow())
    assert (answer.status_code, answer.json()["error"]) == (408, "too_slow")


def test_invented_methods_are_counted_together(world: World) -> None:
    for number in range(3):
        world.request(f"INVENTED{number}", "/api/v1/runs")
    figures = world.call("GET", "/metrics", "op").text
    assert 'method="other"' in figures
    assert "INVENTED" not in figures


def test_nobody_without_a_token_makes_us_read_a_body(world: World) -> None:
    read = []

    async def watched() -> AsyncIterator[bytes]:
        for _ in range(3):
            read.append(1)
            yield b"{}"

    world.refused("unauthorized", "POST", "/runs", content=watched())
    assert not read


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 50_000,
        b'{"code": ' + b"9" * 10_000 + b"}",
        b'{"code": "\\ud800"}',
        b'{"code": "a\\u0000b"}',
        b'{"code": "\xff"}',
        b"null",
        b"",
    ],
    ids=["deep", "digits", "surrogate", "nul", "not utf-8", "null", "empty"],
)
def test_strange_bodies_get_a_plain_answer(world: World, body: bytes) -> None:
    headers = {"Content-Type": "application/json"}
    answer = world.call("POST", "/join", content=body, headers=headers)
    assert answer.status_code in (400, 401), answer.text
    assert set(answer.json()) == {"error", "message"}


def test_what_was_sent_is_not_repeated(world: World) -> None:
    assert "tci_secret" not in world.refused(
        "malformed", "POST", "/join", json={"code": "tci_secret", "signing_key": "tci_secret"}
    )


def test_unknown_addresses_and_methods(world: World) -> None:
    for path in (
        "/api/v1/nothing",
        "/api/v2/runs",
        "/api/v1/runs/",
        "/api/v1/runs/../../etc/passwd",
    ):
        answer = world.request("GET", path)
        assert (answer.status_code, answer.json()["error"]) == (404, "not_found"), path
    wrong = world.request("PATCH", f"{API}/runs")
    assert (wrong.status_code, wrong.json()["error"]) == (405, "wrong_method")
    assert set(wrong.headers["allow"].split(", ")) == {"GET", "POST"}


def test_headers_of_the_api_and_of_pages(world: World) -> None:
    api = world.call("GET", "/health").headers
    assert api["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert api["cache-control"] == "no-store"
    assert api["x-content-type-options"] == "nosniff"
    assert api["strict-transport-security"]
    assert "server" not in api
    page = world.request("GET", "/").headers
    assert "script-src 'self'" in page["content-security-policy"]
    assert world.call("GET", "/me").headers["www-authenticate"] == "Bearer"


def test_no_stack_trace_reaches_a_client(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise RuntimeError("the disk of /var/lib is full")

    monkeypatch.setattr(world.execution, "clusters", broken)
    answer = world.call("GET", "/clusters", "eye")
    assert answer.status_code == 500
    assert answer.json()["error"] == "internal"
    assert "/var/lib" not in answer.text
    assert "Traceback" not in answer.text


def test_names_cannot_smuggle_formulas_or_headers(world: World) -> None:
    terms = world.ok("GET", f"/runs/{world.draft()}", "op")["terms"]
    names = ['=HYPERLINK("http://x")', "+1", "@SUM(A1)", "-2", "plain"][:4]
    problem = {**terms["problem"], "row_names": names, "column_names": ["a", "b", "=c", "d"]}
    run_id = world.ended("finished", problem=problem, name='x"; filename="evil.exe')
    answer = world.call("GET", f"/runs/{run_id}/result.csv", "eye")
    assert answer.headers["content-disposition"] == f'attachment; filename="{run_id}-result.csv"'
    assert answer.headers["content-type"].startswith("text/csv")
    lines = answer.text.splitlines()[1:]
    assert lines[0].startswith("0,\"'=HYPERLINK")
    assert [line.split(",")[1][:2] for line in lines[1:]] == ["'+", "'@", "'-"]
    assert lines[3].endswith(",'=c")
    bad = {**terms, "name": "x\r\nSet-Cookie: a"}
    world.refused("malformed", "POST", "/runs", "op", json=bad)
