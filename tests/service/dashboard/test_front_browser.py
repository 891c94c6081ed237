"""The result of several objectives in a real browser, on a platform without nodes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from nicegui import Client, core
from playwright.sync_api import Browser, expect

from tacit.client import read_invitation
from tacit.service.dashboard.runs_page import ROWS
from tacit.service.dashboard.sessions import ApiClient
from tests.service.dashboard.browser import PHONE, Watched, opened, sign_in
from tests.service.dashboard.test_drafts import FILE
from tests.service.world import World
from tests.support.processes import starts_processes

pytestmark = [pytest.mark.processes, pytest.mark.browser]

FRAMES = """() => new Promise((done) => {
  let left = 5;
  const next = () => (left-- ? requestAnimationFrame(next) : done());
  next();
})"""
PLANS = [[1, 0, 3, 2], [0, 1, 2, 3], [1, 0, 3, 2], [3, 2, 1, 0]]
VALUES = [[12287.0, 18745.0], [18680.0, 9000.0], [12287.0, 18745.0], [15000.0, 15500.0]]


@pytest.fixture(scope="module")
@starts_processes
def signed_in(dashboard: World, browser: Browser) -> Iterator[Watched]:
    """One page for all tests, since opening one and signing in takes longer than most of them."""
    with opened(browser, dashboard.url) as watched:
        sign_in(watched, dashboard.tokens["op"])
        yield watched


@pytest.fixture
def at(signed_in: Watched) -> Watched:
    signed_in.look()
    signed_in.complaints.clear()
    return signed_in


def two_objectives(disclosure: str) -> list[dict[str, Any]]:
    return [
        {"name": name, "sense": sense, "weight_bound": 9000, "disclosure": disclosure,
         "best": "nothing" if disclosure == "sealed" else "value"}
        for name, sense in (("punctuality", "maximize"), ("<i>delay", "minimize"))
    ]  # fmt: skip


def test_a_plan_is_picked_in_the_front(dashboard: World, at: Watched) -> None:
    """The values are the picked plan's own, duplicates count once, and keys do what clicks do.

    Along the front plans have another order than in the result, and its numbers: those by which
    participants know them.
    """
    run = dashboard.submitted(name="front", objectives=two_objectives("none"), preset="paper-moap")
    told = {"disclosed": [18680.0, 9000.0], "front": PLANS, "values": VALUES}
    dashboard.run_to(run, "finished", **told)
    page = at.page
    page.goto(f"/runs/{run}")
    expect(page.get_by_text("3 different plans")).to_be_visible()
    plan = page.locator(".section-of-plan")
    expect(plan).not_to_contain_text("Best ")
    expect(page.get_by_text("Best punctuality of any plan, over time.")).to_be_visible()
    expect(plan.get_by_role("link", name="Plan 1 (CSV)")).to_be_visible()
    words = page.locator(".picked-words")
    expect(words).to_have_text("Plan 1 of 3: punctuality 12,287; <i>delay 18,745.")
    front = page.locator(".chart.front")
    expect(front).to_contain_text("<i>delay (less is better)")
    expect(page.locator("main i")).to_have_count(0)  # names stay text in charts, too
    expect(front).to_have_attribute(
        "aria-label", "3 plans by punctuality and <i>delay; arrow keys choose one"
    )
    point = front.locator("svg path[fill='var(--accent)']").nth(1)
    # As a person does: the pointer rests on the point for some frames before the button goes down.
    point.hover()
    page.evaluate(FRAMES)
    point.click(timeout=10_000)
    expect(words).to_have_text("Plan 2 of 3: punctuality 18,680; <i>delay 9,000.")
    expect(plan.locator("tbody tr").first).to_contain_text("0")
    slider = page.get_by_role("slider", name="Choose a plan")
    slider.focus()
    page.keyboard.press("ArrowLeft")
    expect(words).to_have_text("Plan 3 of 3: punctuality 15,000; <i>delay 15,500.")
    expect(slider).to_have_attribute("aria-valuenow", "2")
    expect(slider).to_be_focused()
    at.shot("20-front")
    at.look(size=PHONE, dark=True)
    at.shot("20-front-phone-dark")
    assert not at.scrolls_sideways()
    assert not at.complaints


def test_plans_of_a_sealed_search_name_their_weightings(dashboard: World, at: Watched) -> None:
    run = dashboard.submitted(
        name="sealed front", objectives=two_objectives("sealed"), preset=None, parameters={}
    )
    found = {"disclosed": [None, None], "evaluations": 0, "front": PLANS[:3], "values": [],
             "weightings": ["4:0", "3:1", "2:2"]}  # fmt: skip
    dashboard.run_to(run, "finished", **found)
    at.page.goto(f"/runs/{run}")
    words = at.page.locator(".picked-words")
    expect(words).to_contain_text("punctuality and <i>delay weighed 4:0 and 2:2")
    at.page.locator(".tile", has_text="3:1").click()
    expect(words).to_contain_text("Plan 2 of 2, found for punctuality and <i>delay weighed 3:1")
    at.shot("21-sealed-front")


def test_an_upload_is_shown_as_its_file_says(at: Watched, tmp_path: Path) -> None:
    """Before anything is created, and as it is created then."""
    file = tmp_path / "shifts.json"
    file.write_text(json.dumps(FILE))
    page = at.page
    page.goto("/new")
    page.get_by_role("button", name="From a problem file").click()
    with page.expect_file_chooser() as waiting:
        page.get_by_role("button", name="A problem file: choose a .json file").click()
    waiting.value.set_files(file)
    expect(page.get_by_role("heading", name="punctuality, to maximize")).to_be_visible()
    expect(page.get_by_label("Objectives", exact=True)).to_contain_text("public, with its weights")
    expect(page.get_by_label("k", exact=True).first).to_have_value("5")
    expect(page.get_by_text("this problem has a public one")).to_be_visible()
    deadline = page.get_by_label("Deadline in seconds")
    deadline.fill("-3")
    at.shot("22-upload")
    page.get_by_role("button", name="Create the run").click()
    expect(page.get_by_text("Give 0.5 to 604,800")).to_be_visible()
    expect(deadline).to_be_focused()
    expect(deadline).to_have_value("-3")
    assert at.faults() == []
    at.look(size=PHONE, dark=True)
    at.shot("22-upload-phone-dark")
    assert at.faults() == []
    assert not at.scrolls_sideways()
    deadline.fill("5")
    page.get_by_role("button", name="Create the run").click()
    terms = page.locator(".terms")
    expect(terms).to_contain_text("top:5")
    expect(terms).to_contain_text("whether the best plan is better than all before it")
    expect(terms).to_contain_text("public: everybody knows its weights")
    expect(page.get_by_label("Participants", exact=True)).to_contain_text("c\u00e9leste")
    assert at.faults() == []


def test_an_invitation_is_one_file(dashboard: World, at: Watched, tmp_path: Path) -> None:
    """With address, certificate and code; the code that was shown ends."""
    run = dashboard.draft(name="invites", participants={"ada": [0, 1], "bea": [2, 3]})
    page = at.page
    page.goto(f"/runs/{run}")
    page.get_by_role("button", name="Invite participants").click()
    page.get_by_role("button", name="Invite", exact=True).click()
    codes = page.get_by_role("dialog").locator("code")
    expect(codes).to_have_count(2)
    first = codes.first.inner_text()
    at.look(size=PHONE, dark=True)
    at.shot("24-invitations-phone-dark")
    assert not at.scrolls_sideways()
    at.look()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download the invitation of ada").click()
    waiting.value.save_as(tmp_path / "ada.tacit")
    found = read_invitation(tmp_path / "ada.tacit")
    assert (found.account, found.run) == ("ada", run)
    assert found.code != first
    expect(codes.first).to_have_text("in the file")
    page.get_by_role("button", name="I have them").click()


def test_a_file_that_is_not_given_is_not_saved(dashboard: World, at: Watched) -> None:
    """What the platform answers in its place is shown, and leads back to the run."""
    run = dashboard.submitted(name="files")
    page = at.page
    page.goto(f"/runs/{run}/files/result.json")
    expect(page.get_by_text("to have a result it must be")).to_be_visible()
    page.get_by_role("link", name="The run").press("Enter")
    expect(page.get_by_role("heading", name="files")).to_be_visible()
    dashboard.run_to(run, "finished")
    page.reload()
    cookies = page.context.cookies()
    for link in ("Result (JSON)", "Download the audit bundle (zip)"):
        expect(page.get_by_role("link", name=link)).to_be_visible()
        page.context.clear_cookies()
        page.get_by_role("link", name=link).press("Enter")
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
        page.context.add_cookies(cookies)  # type: ignore[arg-type]
        page.goto(f"/runs/{run}")


def test_a_page_that_takes_long_is_shown(
    dashboard: World, at: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A busy machine takes more than the 3 s that NiceGUI gives a page by default."""
    run = dashboard.submitted(name="takes long")
    get, slow = ApiClient.get, [4.0]

    async def slow_once(self: ApiClient, *args: Any, **options: Any) -> Any:
        await asyncio.sleep(slow.pop() if slow else 0)
        return await get(self, *args, **options)

    monkeypatch.setattr(ApiClient, "get", slow_once)
    at.page.goto(f"/runs/{run}")
    expect(at.page.get_by_role("heading", name="takes long")).to_be_visible()
    assert not slow
    assert at.faults() == []


def test_a_run_that_stalls_says_whom_it_misses(dashboard: World, at: Watched) -> None:
    run = dashboard.ended("running", name="stalls")
    at.page.goto(f"/runs/{run}")
    expect(at.page.get_by_role("alert")).to_contain_text("Node 0 (n:1) cannot be reached")
    expect(at.page.locator(".title-line .state")).to_have_text("Running, stalled")
    rate = at.page.locator(".figures div", has_text="Generations per second, now")
    expect(rate.locator("dd")).to_have_text("0")
    expect(at.page.get_by_text("The search is going on")).to_have_count(0)
    assert at.faults() == []
    at.shot("23-stalled")
    at.look(dark=True)
    at.page.goto("/")
    expect(at.page.get_by_text("nothing heard for")).to_be_visible()
    expect(at.page.locator(".state.stalled")).to_have_text("Running, stalled")
    assert at.faults() == []
    at.shot("23-runs-dark")


@pytest.mark.parametrize("button", ["Invite participants", "Delete"])
def test_a_page_that_is_closed_with_an_open_dialog_fails_nothing(
    dashboard: World, browser: Browser, caplog: pytest.LogCaptureFixture, button: str
) -> None:
    run = dashboard.draft(name="left alone")
    with opened(browser, dashboard.url) as left:
        sign_in(left, dashboard.tokens["op"])
        left.page.goto(f"/runs/{run}")
        left.page.get_by_role("button", name=button).click()
        expect(left.page.get_by_role("dialog")).to_be_visible()
        (client,) = (
            each
            for each in Client.instances.values()
            if each._request is not None and each._request.url.path == f"/runs/{run}"
        )
    assert core.loop is not None
    # As it does some seconds after a tab was closed; then what waited for the answer goes on.
    core.loop.call_soon_threadsafe(client.delete)
    asyncio.run_coroutine_threadsafe(asyncio.sleep(0.1), core.loop).result(60)
    assert [each.getMessage() for each in caplog.records if each.levelname == "ERROR"] == []
    assert dashboard.ok("GET", f"/runs/{run}", "op")["state"] == "draft"


def test_a_long_list_is_shown_page_by_page_and_stays_up_to_date(
    dashboard: World, at: Watched
) -> None:
    made = [dashboard.draft(name=f"one of many {number}") for number in range(ROWS + 10)]
    page, rows = at.page, at.page.locator(".runs li")
    page.goto("/")
    page.get_by_label("Search").fill("of many")
    expect(page.get_by_role("status")).to_have_text(f"The newest {ROWS} runs.")
    expect(rows).to_have_count(ROWS)
    page.get_by_role("button", name="Show more").click()
    expect(rows).to_have_count(len(made))
    expect(page.get_by_role("status")).to_have_text(f"{len(made)} runs")
    expect(page.get_by_role("button", name="Show more")).to_be_hidden()
    page.mouse.move(0, 0)
    page.evaluate(FRAMES)
    assert at.faults() == []
    # What happens meanwhile is shown without a new search: the page hears of events.
    dashboard.draft(name="late one of many")
    expect(rows).to_have_count(len(made) + 1)
    expect(rows.first).to_contain_text("late one of many")
