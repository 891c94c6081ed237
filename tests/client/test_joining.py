"""Joining through somebody in the middle, with another's invitation, or an earlier platform."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest

from tacit.client import platform_address
from tacit.errors import InputError, PlatformError, TrustError
from tacit.participant import join, new_key_file
from tests.client.conftest import Served

Answer = Callable[[dict[str, Any]], tuple[int, bytes]]


@contextmanager
def answering(answer: Answer) -> Iterator[str]:
    """A platform of somebody, where participants can be led to; it answers what it likes."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, content = answer(body)
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


@pytest.fixture
def north(tmp_path: Path) -> Path:
    new_key_file("north", tmp_path / "north")
    return tmp_path / "north"


def test_a_platform_in_the_middle_gains_nothing(platform: Served, north: Path) -> None:
    code = platform.world.first_code("north", "participant")
    own = platform_address(platform.world.url)
    tries: list[dict[str, str]] = [{}, {"platform": own}]

    def pass_on(body: dict[str, Any]) -> tuple[int, bytes]:
        with httpx.Client(verify=False) as there:
            answers = [
                there.post(f"{platform.world.url}/api/v1/join", json={**body, **changed})
                for changed in tries
            ]
        assert [each.status_code for each in answers] == [422, 422]
        return answers[0].status_code, answers[0].content

    with answering(pass_on) as middle, pytest.raises(PlatformError, match="in the middle"):
        join(middle, code, profile=north)
    assert not (north / "profile.json").exists()
    made = join(platform.world.url, code, profile=north, ca=platform.ca)
    assert made.account == "north", "the invitation is as good as before"


def test_an_invitation_of_somebody_else_is_named(platform: Served, north: Path) -> None:
    code = platform.world.first_code("south", "participant")
    said = r"for the account 'south', and you join as 'north'; .* --as south"
    with pytest.raises(PlatformError, match=said):
        join(platform.world.url, code, profile=north, ca=platform.ca)
    # The operator may have chosen another name than the key has.
    made = join(platform.world.url, code, profile=north, ca=platform.ca, account="south")
    assert made.account == "south"


def test_a_platform_that_calls_one_by_another_name_is_not_believed(north: Path) -> None:
    told = {"token": "tct_x", "account": "south", "role": "participant", "expires": 9e9}
    with (
        answering(lambda _: (200, json.dumps(told).encode())) as url,
        pytest.raises(TrustError, match="says that you are 'south', and you joined as 'north'"),
    ):
        join(url, "tci_code", profile=north)
    assert not (north / "profile.json").exists()


@pytest.mark.parametrize("url", ["https://fa\u00df.example", "https://B\u00fccher.example:8443"])
def test_what_is_signed_names_the_host_that_is_contacted(url: str) -> None:
    """Two standards read such names differently, and the other reading is somebody else's host."""
    contacted = httpx.Client(base_url=url).base_url
    host, port = contacted.raw_host.decode(), contacted.port or 443
    assert platform_address(url) == f"https://{host}:{port}" == platform_address(str(contacted))


NO_ADDRESSES = ["https://", "https://host:x", "ftp://host", "https://" + "a" * 70, "https://a..b"]
NO_ADDRESSES += ["https://host:0", "https://host:65536", "https://a\u200db.example"]


@pytest.mark.parametrize("url", NO_ADDRESSES)
def test_what_is_no_address_of_a_platform(url: str) -> None:
    with pytest.raises(InputError, match="is not the address of a platform"):
        platform_address(url)
