"""Through the dashboard in a real browser, from the first sign-in to the plan, by keyboard alone.

One test with one platform and one profile of the browser, since starting those is what takes time.
Screenshots of each step are left in out/screenshots.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from playwright.sync_api import Browser, expect

from tacit.participant import Profile, review, sign, submit
from tacit.problems import Assignment, Problem
from tacit.problems.files.load_and_save import save_participants
from tacit.service.dashboard.drafts import drawn_problem
from tacit.service.demo import join_as, pin_keys
from tacit.service.local_platform import LocalPlatform
from tacit.service.workflow.large_input import verdict_of
from tacit.verify import Verdict, read_bundle, write_bundle
from tests.service.dashboard.browser import PHONE, Watched, opened, sign_in

pytestmark = [pytest.mark.processes, pytest.mark.browser]


@pytest.fixture
def platform() -> Iterator[LocalPlatform]:
    with LocalPlatform() as started:
        yield started
        said = (started.folder / "platform.log").read_text().splitlines()
        assert not [line for line in said if '"level":"error"' in line or "client_id" in line]


@pytest.fixture
def at(platform: LocalPlatform, browser: Browser) -> Iterator[Watched]:
    with opened(browser, platform.url) as watched:
        yield watched


def test_from_sign_in_to_the_plan(platform: LocalPlatform, at: Watched, tmp_path: Path) -> None:
    come_in(at, platform.invitation("desk", role="operator"))
    run = create(at)
    codes = invite(at)
    problem = drawn_problem("delays", rows=24, columns=28, participants=3, seed=1)
    assert isinstance(problem, Assignment)
    amber, *_ = take_part(platform, problem, codes, run)
    watch(at)
    check_plan(at, problem)
    check_logs(at)
    look_everywhere(at, run)
    upload_and_cancel(at, tmp_path)
    invite_and_revoke(at)
    token = leave(at, run)
    look_as_participants(at, platform, amber, run)
    sign_in(at, token)
    expect(at.page.get_by_role("link", name="New run").first).to_be_visible()
    assert not at.complaints


def wait_until(at: Watched, state: str) -> None:
    expect(at.page.locator(".title-line .state")).to_have_text(state)


def come_in(at: Watched, code: str) -> None:
    page = at.page
    page.goto("/")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    at.shot("01-sign-in")
    at.look(size=PHONE, dark=True)
    at.shot("01-sign-in-phone-dark")
    assert not at.scrolls_sideways()
    at.look()
    sign_in(at, "no such code")
    expect(page.get_by_role("alert")).to_contain_text("not valid")
    at.shot("02-sign-in-refused")
    sign_in(at, code)
    expect(page.get_by_role("heading", name="Your access")).to_be_visible()
    at.shot("03-your-access")


def create(at: Watched) -> str:
    """Create a run by keyboard alone, and its number."""
    page = at.page
    page.goto("/")
    expect(page.get_by_text("There are no runs yet.")).to_be_visible()
    at.shot("04-no-runs")
    page.keyboard.press("Tab")
    expect(page.get_by_text("Skip to the content")).to_be_focused()
    at.press("New run")
    expect(page.get_by_role("heading", name="New run")).to_be_visible()
    page.get_by_role("button", name="Drawn, to try it out").click()
    at.press("Generate")
    expect(page.get_by_role("heading", name="3. The rules")).to_be_visible()
    for field, text in (("Name of the run", "Morning <slots>"), ("Deadline in seconds", "600")):
        at.tab_to(field)
        page.keyboard.press("Control+A")
        page.keyboard.type(text)
    # Nothing is disclosed by default, and then there is no curve.
    at.choose("An evaluation discloses", "Which k are best")
    at.choose("And of the best value", "The best value")
    # It ends by these, so that on a slow machine it lasts longer, as looking at it does.
    at.press("Advanced settings")
    at.tab_to("Settings, a line of name=value each")
    page.keyboard.type("evaluations=300")
    at.shot("05-new-run")
    at.press("Create the run")
    expect(page.get_by_role("heading", name="Morning <slots>")).to_be_visible()
    at.shot("06-draft")
    return page.url.rsplit("/", 1)[1]


def invite(at: Watched) -> dict[str, str]:
    page = at.page
    at.press("Invite participants")
    expect(page.get_by_role("heading", name="Invite the participants?")).to_be_visible()
    at.press("Invite")
    expect(page.get_by_role("heading", name="Invitation codes")).to_be_visible()
    at.shot("07-codes")
    names = page.locator(".codes dt").all_inner_texts()
    codes = page.locator(".codes code").all_inner_texts()
    at.press("I have them")
    expect(page.locator(".codes")).to_have_count(0)
    wait_until(at, "Invited")
    assert names == ["amber", "birch", "cobalt"]
    assert not any(code in page.content() for code in codes)
    return dict(zip(names, codes, strict=True))


def take_part(
    platform: LocalPlatform, problem: Problem, codes: dict[str, str], run: str
) -> list[Profile]:
    """What the participants do meanwhile, on their own machines."""
    files = platform.folder / "costs"
    save_participants(problem, files)
    profiles = [join_as(platform, name, code) for name, code in codes.items()]
    pin_keys(platform, profiles)
    for profile in profiles:
        sign(profile, run, seen=review(profile, run))
    for profile in profiles:
        submit(profile, run, files / f"{profile.account}.csv")
    return profiles


def watch(at: Watched) -> None:
    """The run goes on, at a desk and then on a phone."""
    page = at.page
    wait_until(at, "Running")
    expect(page.get_by_role("img", name="at first")).to_be_visible()
    expect(page.get_by_role("timer")).to_contain_text(" s")
    at.shot("08-running")
    at.look(size=PHONE)
    expect(page.get_by_role("img", name="at first")).to_be_visible()
    at.shot("09-running-phone")
    assert not at.scrolls_sideways()
    at.look()
    wait_until(at, "Finished")


def check_plan(at: Watched, problem: Assignment) -> None:
    expect(at.page.get_by_role("heading", name="Plan", exact=True)).to_be_visible()
    at.shot("10-finished")
    files = {}
    for link in ("Result (JSON)", "Plan (CSV)"):
        with at.page.expect_download() as waiting:
            at.page.get_by_role("link", name=link).press("Enter")
        assert waiting.value.failure() is None, f"{link}: {waiting.value.failure()}"
        files[link] = Path(waiting.value.path()).read_bytes()
    plan = json.loads(files["Result (JSON)"])["plan"]
    problem.check_plan(plan["items"])
    lines = list(csv.reader(files["Plan (CSV)"].decode().splitlines()))
    assert len(lines) == problem.rows + 1
    shown = at.page.locator(".plan table tbody tr").all_inner_texts()
    assert len(shown) == problem.rows
    for row, item in enumerate(plan["items"]):
        assert problem.row_names is not None
        assert problem.column_names is not None
        assert problem.row_names[row] in shown[row]
        assert problem.column_names[item] in shown[row]


def check_logs(at: Watched) -> None:
    """The bundle has all that it takes, and shows where something was changed."""
    page = at.page
    page.get_by_role("button", name="Check the logs").press("Enter")
    expect(page.get_by_text("Everything is as it was signed.")).to_be_visible()
    at.shot("10-audit")
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Download the audit bundle (zip)").press("Enter")
    packed = Path(waiting.value.path()).read_bytes()
    assert verdict(packed).ok
    bundle = read_bundle(packed)
    lines = bundle.ledger.splitlines(keepends=True)
    assert not verdict(write_bundle(replace(bundle, ledger=b"".join(lines[:-1])))).ok


def verdict(packed: bytes) -> Verdict:
    """In a thread, since the browser's loop runs in this one."""
    with ThreadPoolExecutor(1) as pool:
        return msgspec.json.decode(pool.submit(verdict_of, packed).result(), type=Verdict)


def look_everywhere(at: Watched, run: str) -> None:
    """Every page in the dark and on a phone."""
    for name, path in (("people", "/people"), ("runs", "/"), ("new", "/new"), ("run", "")):
        at.page.goto(path or f"/runs/{run}")
        at.look(dark=True)
        expect(at.page.locator("body.body--dark h1")).to_be_visible()
        at.shot(f"11-dark-{name}")
        at.look(size=PHONE)
        expect(at.page.locator("body.body--light h1")).to_be_visible()
        at.shot(f"12-phone-{name}")
        assert not at.scrolls_sideways(), name
        at.look()


def upload_and_cancel(at: Watched, folder: Path) -> None:
    page = at.page
    problem = drawn_problem("ap", rows=3, columns=3, participants=1, seed=2)
    *_, public = save_participants(problem, folder)
    page.goto("/new")
    page.get_by_role("button", name="From a problem file").click()
    with page.expect_file_chooser() as waiting:
        at.press("A problem file: choose a .json file")
    waiting.value.set_files(public)
    expect(page.get_by_text("participant 1")).to_be_visible()
    page.get_by_role("button", name="Create the run").click()
    page.get_by_role("button", name="Invite participants").click()
    page.locator(".dialog").get_by_role("button", name="Invite").click()
    page.get_by_role("button", name="I have it").click()
    page.get_by_role("button", name="Cancel the run").dblclick()
    expect(page.locator(".dialog")).to_be_visible()
    page.mouse.click(5, 5)  # as a slow double click's second half
    page.locator(".dialog").get_by_role("button", name="Cancel the run").click()
    wait_until(at, "Cancelled")
    expect(page.get_by_role("status")).to_contain_text("Cancelled by desk.")


def invite_and_revoke(at: Watched) -> None:
    page = at.page
    page.goto("/people")
    page.get_by_label("Name").fill("guest")
    page.get_by_role("button", name="Invite", exact=True).click()
    expect(page.get_by_role("heading", name="Invited")).to_be_visible()
    at.shot("13-invited")
    page.get_by_role("button", name="I have it").click()
    page.get_by_role("button", name="Revoke guest").click()
    page.locator(".dialog").get_by_role("button", name="Revoke").click()
    expect(page.get_by_text("guest has no access any more.")).to_be_visible()


def leave(at: Watched, run: str) -> str:
    """Sign out, which asks first and lets one keep a token; the token."""
    page = at.page
    at.press("Sign out")
    expect(page.get_by_text("which is used up")).to_be_visible()
    at.shot("14-sign-out")
    at.press("Keep a token first")
    expect(page.get_by_role("heading", name="Your access")).to_be_visible()
    at.press("Show the token")
    expect(page.get_by_role("button", name="I have it")).to_be_focused()
    token = page.locator(".codes code").inner_text()
    at.shot("15-token")
    at.press("I have it")
    expect(page.get_by_text("You have it; it is not shown again")).to_be_visible()
    at.press("Sign out")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    page.goto(f"/runs/{run}")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    return token


def look_as_participants(at: Watched, platform: LocalPlatform, member: Profile, run: str) -> None:
    """One who takes part sees the run and no buttons; one who does not, no run."""
    sign_in(at, member.token)
    expect(at.page.locator(".runs li")).to_have_count(1)
    at.page.goto(f"/runs/{run}")
    expect(at.page.get_by_role("heading", name="Plan", exact=True)).to_be_visible()
    expect(at.page.locator(".page button")).to_have_count(0)
    stranger = join_as(platform, "dune", platform.invitation("dune", role="participant"))
    sign_in(at, stranger.token)
    expect(at.page.get_by_text("You are not part of any run yet.")).to_be_visible()
    at.page.goto(f"/runs/{run}")
    expect(at.page.get_by_role("heading", name="This run is not there")).to_be_visible()
