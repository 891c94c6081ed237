"""Through the dashboard in a real browser, from the first sign-in to the plan, by keyboard alone.

Screenshots of each step are left in out/screenshots.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tacit.participant import Profile, review, sign, submit
from tacit.problems import Assignment, Problem
from tacit.problems.participant_csv import save_participants
from tacit.service.dashboard.drafts import drawn_problem
from tacit.service.demo import join_as
from tacit.service.local_platform import LocalPlatform
from tests.service.dashboard.browser import PHONE, Watched, chromium, opened


@pytest.fixture(scope="module")
def platform() -> Iterator[LocalPlatform]:
    with LocalPlatform() as started:
        yield started
        said = (started.folder / "platform.log").read_text().splitlines()
        assert not [line for line in said if '"level":"error"' in line]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


def sign_in(at: Watched, code: str) -> None:
    at.page.goto("/")
    expect(at.page.get_by_role("heading", name="Sign in")).to_be_visible()
    at.page.keyboard.type(code)
    with at.page.expect_navigation():
        at.page.keyboard.press("Enter")


def wait_until(at: Watched, state: str) -> None:
    expect(at.page.locator(".title-line .state")).to_have_text(state)


def take_part(
    platform: LocalPlatform, problem: Problem, codes: dict[str, str], run: str
) -> list[Profile]:
    """What the participants do meanwhile, on their own machines."""
    files = platform.folder / "costs"
    save_participants(problem, files)
    profiles = [join_as(platform, name, code) for name, code in codes.items()]
    for profile in profiles:
        sign(profile, run, seen=review(profile, run))
    for profile in profiles:
        submit(profile, run, files / f"{profile.account}.csv")
    return profiles


def test_from_sign_in_to_the_plan(platform: LocalPlatform, browser: Browser) -> None:
    code = platform.invitation("alex", role="operator")
    with opened(browser, platform.url) as at:
        page = at.page
        page.goto("/")
        at.shot("01-sign-in")
        sign_in(at, "no such code")
        expect(page.get_by_role("alert")).to_contain_text("not valid")
        at.shot("02-sign-in-refused")
        sign_in(at, code)
        expect(page.get_by_role("heading", name="Your access")).to_be_visible()
        at.shot("03-your-access")
        page.goto("/")
        expect(page.get_by_text("There are no runs yet.")).to_be_visible()
        at.shot("04-no-runs")

        page.keyboard.press("Tab")
        expect(page.get_by_text("Skip to the content")).to_be_focused()
        at.press("New run")
        expect(page.get_by_role("heading", name="New run")).to_be_visible()
        at.press("Generate")
        expect(page.get_by_role("heading", name="3. The rules")).to_be_visible()
        at.tab_to("Name of the run")
        page.keyboard.press("Control+A")
        page.keyboard.type("Morning <slots>")
        at.tab_to("Deadline in seconds")
        page.keyboard.press("Control+A")
        page.keyboard.type("6")
        at.shot("05-new-run")
        at.press("Create the run")
        expect(page.get_by_role("heading", name="Morning <slots>")).to_be_visible()
        at.shot("06-draft")

        run = page.url.rsplit("/", 1)[1]
        codes = invite(at)
        problem = drawn_problem("delays", rows=24, columns=28, participants=3, seed=1)
        with opened(browser, platform.url, size=PHONE, like=at) as phone:
            phone.page.goto(f"/runs/{run}")
            wait_until(phone, "Invited")
            amber, *_ = take_part(platform, problem, codes, run)
            wait_until(at, "Running")
            expect(page.locator("svg.convergence.broad")).to_be_visible()
            expect(page.get_by_role("timer")).to_contain_text(" s")
            page.wait_for_timeout(1500)
            at.shot("08-running")
            expect(phone.page.locator("svg.convergence.slim")).to_be_visible()
            phone.shot("09-running-phone")
            assert not phone.scrolls_sideways()
            assert not phone.complaints
        wait_until(at, "Finished")
        expect(page.get_by_role("heading", name="Plan", exact=True)).to_be_visible()
        at.shot("10-finished")
        assert isinstance(problem, Assignment)
        check_downloads(at, problem)
        look_everywhere(browser, platform, at, run)
        look_as_participants(browser, platform, amber, run)
        at.press("Sign out")
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
        page.goto(f"/runs/{run}")
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
        assert not at.complaints


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


def check_downloads(at: Watched, problem: Assignment) -> None:
    files = {}
    for link in ("Result (JSON)", "Plan (CSV)", "Curve (PNG)"):
        with at.page.expect_download() as waiting:
            at.page.get_by_role("link", name=link).press("Enter")
        assert waiting.value.failure() is None, f"{link}: {waiting.value.failure()}"
        files[link] = Path(waiting.value.path()).read_bytes()
    plan = json.loads(files["Result (JSON)"])["plan"]
    problem.check_plan(plan["items"])
    lines = list(csv.reader(files["Plan (CSV)"].decode().splitlines()))
    assert len(lines) == problem.rows + 1
    assert files["Curve (PNG)"].startswith(b"\x89PNG")
    shown = at.page.locator(".plan table tbody tr").all_inner_texts()
    assert len(shown) == problem.rows
    for row, item in enumerate(plan["items"]):
        assert problem.row_names is not None
        assert problem.column_names is not None
        assert problem.row_names[row] in shown[row]
        assert problem.column_names[item] in shown[row]


def look_everywhere(browser: Browser, platform: LocalPlatform, at: Watched, run: str) -> None:
    """Every page in the dark and on a phone."""
    pages = {"run": f"/runs/{run}", "runs": "/", "new": "/new", "people": "/people"}
    with opened(browser, platform.url, scheme="dark", like=at) as dark:
        for name, path in pages.items():
            dark.page.goto(path)
            expect(dark.page.locator("body.body--dark h1")).to_be_visible()
            dark.page.wait_for_timeout(400)
            dark.shot(f"11-dark-{name}")
        assert not dark.complaints
    with opened(browser, platform.url, size=PHONE, like=at) as phone:
        for name, path in pages.items():
            phone.page.goto(path)
            expect(phone.page.locator("h1")).to_be_visible()
            phone.page.wait_for_timeout(400)
            phone.shot(f"12-phone-{name}")
            assert not phone.scrolls_sideways(), name
        assert not phone.complaints


def look_as_participants(
    browser: Browser, platform: LocalPlatform, member: Profile, run: str
) -> None:
    """One who takes part sees the run and no buttons; one who does not, no run."""
    with opened(browser, platform.url) as at:
        sign_in(at, member.token)
        expect(at.page.locator(".runs li")).to_have_count(1)
        at.page.goto(f"/runs/{run}")
        expect(at.page.get_by_role("heading", name="Plan", exact=True)).to_be_visible()
        expect(at.page.locator(".page button")).to_have_count(0)
        assert not at.complaints
    stranger = join_as(platform, "dune", platform.invitation("dune", role="participant"))
    with opened(browser, platform.url) as at:
        sign_in(at, stranger.token)
        expect(at.page.get_by_text("You are not part of any run yet.")).to_be_visible()
        at.page.goto(f"/runs/{run}")
        expect(at.page.get_by_role("heading", name="This run is not there")).to_be_visible()
        assert at.page.request.get(f"/runs/{run}/files/result.json").status == 404
        assert not at.complaints


def test_everybody_sees_what_they_may(platform: LocalPlatform, browser: Browser) -> None:
    with opened(browser, platform.url) as at:
        sign_in(at, platform.invitation("vera", role="viewer"))
        expect(at.page.get_by_text("change nothing")).to_be_visible()
        at.page.goto("/new")
        expect(at.page.get_by_role("heading", name="Runs")).to_be_visible()
        assert at.page.get_by_role("link", name="New run").count() == 0
        at.page.goto("/people")
        expect(at.page.get_by_role("heading", name="Runs")).to_be_visible()
        at.page.goto("/runs/r-nosuchrun0")
        expect(at.page.get_by_role("heading", name="This run is not there")).to_be_visible()
        assert not at.complaints
    with opened(browser, platform.url) as at:
        sign_in(at, platform.invitation("north", role="participant"))
        expect(at.page.get_by_role("alert")).to_contain_text("tacit participant join")
        assert not at.complaints


def test_cancel_and_people(platform: LocalPlatform, browser: Browser, tmp_path: Path) -> None:
    problem = drawn_problem("ap", rows=3, columns=3, participants=1, seed=2)
    *_, public = save_participants(problem, tmp_path)
    with opened(browser, platform.url) as at:
        page = at.page
        sign_in(at, platform.invitation("kim", role="operator"))
        page.goto("/new")
        page.get_by_role("button", name="Upload one").click()
        with page.expect_file_chooser() as waiting:
            at.press("Choose a problem file (.json)")
        waiting.value.set_files(public)
        expect(page.get_by_text("participant 1")).to_be_visible()
        page.get_by_role("button", name="Create the run").click()
        page.get_by_role("button", name="Invite participants").click()
        page.locator(".dialog").get_by_role("button", name="Invite").click()
        page.get_by_role("button", name="I have it").click()
        page.get_by_role("button", name="Cancel the run").dblclick()
        dialog = page.locator(".dialog")
        dialog.get_by_role("button", name="Cancel the run").click()
        wait_until(at, "Cancelled")
        expect(page.get_by_role("status")).to_contain_text("Cancelled by kim.")
        page.goto("/people")
        page.get_by_label("Name").fill("robin")
        page.get_by_role("button", name="Invite", exact=True).click()
        expect(page.get_by_role("heading", name="Invited")).to_be_visible()
        at.shot("13-invited")
        page.get_by_role("button", name="I have it").click()
        page.get_by_role("button", name="Revoke robin").click()
        dialog.get_by_role("button", name="Revoke").click()
        expect(page.get_by_text("robin has no access any more.")).to_be_visible()
        assert not at.complaints
