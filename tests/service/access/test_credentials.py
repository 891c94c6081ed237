"""Invitations, tokens, and that neither is ever found where it should not be."""

from __future__ import annotations

import io
import logging
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from msgspec.structs import replace
from sqlalchemy import update
from sqlalchemy.orm import Session

from tacit.agreement.signatures import Joining, sign
from tacit.identity import write_https_certificate
from tacit.identity.keys import Keys
from tacit.service.access.credentials import Requester, own_addresses, requester_of
from tacit.service.api import gate
from tacit.service.server.serve import JsonLines
from tacit.service.server.settings import Settings
from tacit.service.storage import AccessToken, Invitation
from tests.service.world import MakeWorld, World, joining_body


def test_a_code_can_be_used_once_also_by_many_at_a_time(world: World) -> None:
    code = world.first_code("late", "viewer")
    with ThreadPoolExecutor(12) as threads:
        codes = list(
            threads.map(
                lambda _: world.call("POST", "/join", json={"code": code}).status_code, range(24)
            )
        )
    assert sorted(codes) == [200] + [401] * 23


def test_a_code_that_never_was_was_used_or_has_expired_gets_the_same_answer(world: World) -> None:
    used, expired = world.first_code("a", "viewer"), world.first_code("b", "viewer")
    world.ok("POST", "/join", json={"code": used})
    with world.platform.database.writing() as session:
        session.execute(
            update(Invitation).where(Invitation.account == "b").values(expires=time.time() - 1)
        )
    answers = [
        world.call("POST", "/join", json={"code": code}) for code in (used, expired, "tci_none")
    ]
    assert {answer.status_code for answer in answers} == {401}
    assert len({answer.text for answer in answers}) == 1


def test_a_participant_brings_a_key_of_its_own_and_a_refusal_leaves_the_code(world: World) -> None:
    code = world.first_code("west", "participant")
    world.refused("refused", "POST", "/join", json={"code": code})
    url = world.platform.settings.url
    taken = joining_body(code, world.keys["outsider"], "west", url)
    world.refused("refused", "POST", "/join", json=taken)
    mine = joining_body(code, Keys.new("west"), "west", url)
    assert world.call("POST", "/join", json=mine).status_code == 200


def test_nobody_joins_with_a_key_that_it_does_not_hold(world: World) -> None:
    """Else somebody could take another's key first, which would then be kept out."""
    code, west, other = world.first_code("west", "participant"), Keys.new("west"), Keys.new("x")
    url = world.platform.settings.url
    mine = joining_body(code, west, "west", url)
    bare = {name: each for name, each in mine.items() if name != "signature"}
    of_another = {**joining_body(code, other, "west", url), "signing_key": west.signing_public}
    signed = Joining(code, "west", mine["platform"]).signed_bytes
    as_another = {**mine, "signature": sign(west.signing, "agreement", signed).hex()}
    with_another = {**joining_body("tci_other", west, "west", url), "code": code}
    for body in (bare, of_another, with_another, as_another):
        assert "not shown to be yours" in world.refused("refused", "POST", "/join", json=body)
    assert world.call("POST", "/join", json=mine).status_code == 200


def test_what_is_signed_to_join_counts_for_one_account_at_one_platform(world: World) -> None:
    """A platform in the middle hands in what it got, also with another account or address."""
    url, keys = world.platform.settings.url, Keys.new("west")
    code, east = world.first_code("west", "participant"), world.first_code("east", "participant")
    mine = joining_body(code, keys, "west", url)
    elsewhere = joining_body(code, keys, "west", "https://evil.example")
    bare = {name: mine[name] for name in ("code", "signing_key", "signature")}
    for body, said in (
        (elsewhere, "this platform is https://127.0.0.1:"),
        ({**elsewhere, "platform": mine["platform"]}, "not shown to be yours"),
        ({**mine, "code": east}, "for the account 'east', and you join as 'west'"),
        ({**mine, "code": east, "account": "east"}, "not shown to be yours"),
        ({**mine, "code": "tci_none"}, "the code does not count"),
        (bare, "signed for one account at one platform; give both"),
    ):
        refused = world.call("POST", "/join", json=body)
        assert (refused.status_code in (401, 422), said in refused.text) == (True, True), said
    # No refusal has used up the invitation.
    assert world.call("POST", "/join", json=mine).status_code == 200


def test_a_platform_knows_itself_by_the_names_of_its_certificate(settings: Settings) -> None:
    port = settings.listen.rpartition(":")[2]
    assert f"https://localhost:{port}" in own_addresses(settings)
    public = replace(settings, url="https://Platform.example")
    assert own_addresses(public) == {"https://platform.example:443"}
    write_https_certificate(settings.place("."), ["p.example", "::2", "127.0.0.1"], name="more")
    named = replace(public, tls_certificate="more.pem")
    others = {f"https://{host}:{each}" for host in ("p.example", "[::2]") for each in (443, port)}
    assert own_addresses(named) == {"https://platform.example:443", *others}
    proxied = replace(public, tls_certificate=None)
    assert own_addresses(proxied) == {"https://platform.example:443"}


def test_a_key_stays_while_an_agreement_has_it(world: World) -> None:
    """Whoever has signed that agreement would refuse another one for ever."""
    run_id = world.invited()
    shown = world.call("GET", f"/runs/{run_id}/agreement", "south").content
    code = world.ok("POST", "/accounts/north/invitation", "op")["invitation"]
    url = world.platform.settings.url
    other = joining_body(code, Keys.new("north"), "north", url)
    assert run_id in world.refused("wrong_state", "POST", "/join", json=other)
    assert world.call("GET", f"/runs/{run_id}/agreement", "south").content == shown
    # The same key joins again, and another one once the run is over.
    world.join("north", code, key=True)
    code = world.ok("POST", "/accounts/north/invitation", "op")["invitation"]
    world.ok("POST", f"/runs/{run_id}/cancel", "op", json={})
    another = joining_body(code, Keys.new("north"), "north", url)
    assert world.call("POST", "/join", json=another).status_code == 200


def test_a_new_invitation_ends_the_earlier(world: World) -> None:
    first = world.ok("POST", "/accounts", "op", json={"name": "x", "role": "viewer"})["invitation"]
    second = world.ok("POST", "/accounts/x/invitation", "op")["invitation"]
    world.refused("unauthorized", "POST", "/join", json={"code": first})
    assert world.call("POST", "/join", json={"code": second}).status_code == 200


def test_accounts_say_who_has_joined(world: World) -> None:
    world.ok("POST", "/accounts", "op", json={"name": "late", "role": "viewer"})
    joined = {each["name"]: each["joined"] for each in world.ok("GET", "/accounts", "op")["items"]}
    assert joined == {"op": True, "eye": True, "outsider": True, "late": False}


def test_names_that_differ_in_case_alone_are_one(world: World) -> None:
    body = {"name": "Outsider", "role": "viewer"}
    world.refused("wrong_state", "POST", "/accounts", "op", json=body)


def test_a_token_ends_when_it_is_given_back_revoked_or_expires(world: World) -> None:
    assert world.call("DELETE", "/me/token", "eye").status_code == 204
    world.refused("unauthorized", "GET", "/me", "eye")
    assert world.call("DELETE", "/accounts/outsider", "op").status_code == 204
    world.refused("unauthorized", "GET", "/me", "outsider")
    world.refused("not_found", "DELETE", "/accounts/nobody", "op")
    with world.platform.database.writing() as session:
        session.execute(update(AccessToken).values(expires=time.time() - 1))
    world.refused("unauthorized", "GET", "/me", "op")


def test_an_open_invitation_of_a_shut_out_account_is_void(world: World) -> None:
    code = world.ok("POST", "/accounts/eye/invitation", "op")["invitation"]
    world.call("DELETE", "/accounts/eye", "op")
    world.refused("unauthorized", "POST", "/join", json={"code": code})


def test_only_the_header_counts(world: World) -> None:
    token = world.tokens["op"]
    assert world.request("GET", f"/api/v1/me?token={token}").status_code == 401
    assert (
        world.request("GET", "/api/v1/me", headers={"Cookie": f"token={token}"}).status_code == 401
    )
    basic = {"Authorization": f"Basic {token}"}
    assert world.request("GET", "/api/v1/me", headers=basic).status_code == 401
    lower = {"Authorization": f"bearer {token}"}
    assert world.request("GET", "/api/v1/me", headers=lower).status_code == 200


def test_secrets_are_neither_in_the_database_nor_in_the_logs(
    world: World, settings: Settings
) -> None:
    lines = io.StringIO()
    handler = logging.StreamHandler(lines)
    handler.setFormatter(JsonLines())
    logger = logging.getLogger("tacit")
    logger.addHandler(handler)
    logger.setLevel("INFO")
    try:
        code = world.first_code("late", "viewer")
        world.join("late", code)
        token = world.tokens["late"]
        world.call("GET", "/me", "late")
        world.request("GET", f"/api/v1/runs/{token}?code={code}", headers={"X-Code": code})
        logging.getLogger("tacit.service").error("token %s", token, exc_info=ValueError(token))
    finally:
        logger.removeHandler(handler)
    assert '"account":"late"' in lines.getvalue()
    kept = [path for path in Path(settings.folder).rglob("*") if path.is_file()]
    assert any(path.name.startswith("tacit.db") for path in kept)
    for secret in (code, token, *world.tokens.values()):
        assert secret not in lines.getvalue()
        assert all(secret.encode() not in path.read_bytes() for path in kept)


def test_requests_are_limited_per_account_and_per_address(
    make_world: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make_world(requests_per_minute=5, anonymous_requests_per_minute=4)
    for limit in (world.platform.by_account, world.platform.by_address):
        monkeypatch.setattr(limit, "_clock", lambda: 0.0)
    world.add("op", "operator")
    world.add("eye", "viewer")
    codes = [world.call("GET", "/me", "op").status_code for _ in range(7)]
    assert codes == [200] * 5 + [429] * 2
    refused = world.call("GET", "/me", "op")
    assert int(refused.headers["retry-after"]) >= 1
    assert refused.json()["error"] == "too_many"
    assert world.call("GET", "/me", "eye").status_code == 200
    # Joining took two of the four.
    guesses = [world.call("POST", "/join", json={"code": "tci_x"}).status_code for _ in range(4)]
    assert guesses == [401, 401, 429, 429]
    world.tokens["guess"] = "tct_guess"
    world.refused("too_many", "GET", "/me", "guess")
    # Whoever has a token is not kept out by others behind the same address.
    assert world.call("GET", "/me", "eye").status_code == 200
    world.address = "192.0.2.9"
    world.refused("unauthorized", "POST", "/join", json={"code": "tci_x"})
    assert world.call("GET", "/health").status_code == 200


def test_wrong_tokens_beyond_the_limit_cost_no_query(
    make_world: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = make_world()
    first.add("op", "operator")
    first.add("eye", "viewer")
    # A restart does not forget whose tokens are no guesses.
    world = make_world(requests_per_minute=5, anonymous_requests_per_minute=4)
    world.tokens = {**first.tokens, "guess": "tct_guess", "long": "x" * 300}
    for limit in (world.platform.by_account, world.platform.by_address):
        monkeypatch.setattr(limit, "_clock", lambda: 0.0)
    queried = []

    def counted(session: Session, token: str) -> Requester:
        queried.append(token)
        return requester_of(session, token)

    monkeypatch.setattr(gate, "requester_of", counted)
    codes = [world.call("GET", "/me", "guess").status_code for _ in range(9)]
    assert codes == [401] * 4 + [429] * 5
    assert queried == ["tct_guess"] * 4
    world.refused("too_many", "GET", "/me", "long")
    world.refused("too_many", "GET", "/me")
    assert world.call("GET", "/me", "eye").status_code == 200
    # The same of those who have a token: what is too much is not looked up either.
    queried.clear()
    codes = [world.call("GET", "/me", "op").status_code for _ in range(9)]
    assert codes == [200] * 5 + [429] * 4
    assert len(queried) == 5


def test_a_revoked_token_counts_as_a_guess(
    make_world: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make_world(anonymous_requests_per_minute=3)
    monkeypatch.setattr(world.platform.by_address, "_clock", lambda: 0.0)
    world.add("op", "operator")
    assert world.call("DELETE", "/me/token", "op").status_code == 204
    codes = [world.call("GET", "/me", "op").status_code for _ in range(4)]
    # Joining took one of the three.
    assert codes == [401, 401, 429, 429]


def test_a_restart_keeps_everything(make_world: MakeWorld) -> None:
    first = make_world()
    first.add("op", "operator")
    run_id = first.submitted()
    second = make_world()
    second.tokens, second.keys = first.tokens, first.keys
    assert second.ok("GET", f"/runs/{run_id}", "south") == first.ok(
        "GET", f"/runs/{run_id}", "south"
    )
    assert second.ok("GET", f"/runs/{run_id}/submission", "north")[0]["state"] == "accepted"
    assert (
        second.call("GET", f"/runs/{run_id}/agreement", "north").content
        == first.call("GET", f"/runs/{run_id}/agreement", "north").content
    )
