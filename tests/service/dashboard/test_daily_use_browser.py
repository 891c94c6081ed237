"""Do what operators do every day, in a real browser on a platform without nodes.

One test with one page of one browser, since opening those is what takes time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.service.api.test_series import with_equity
from tests.service.dashboard.browser import PHONE, Watched, opened, sign_in
from tests.service.world import World

pytestmark = [pytest.mark.processes, pytest.mark.browser]

ROWS = "flight;participant\nF1;north\nF2;north\nF3;south\nF4;south\n"
COLUMNS = "slot\n07:00\n07:10\n07:20\n07:30\n"
MASK = "flight,07:00,07:10,07:20,07:30\nF1,0,0,0,0\nF2,1,0,0,0\nF4,1,1,0,maybe\n"


@pytest.fixture
def at(dashboard: World, browser: Browser) -> Iterator[Watched]:
    with opened(browser, dashboard.url) as watched:
        sign_in(watched, dashboard.tokens["op"])
        yield watched


def test_a_day_of_an_operator(dashboard: World, at: Watched) -> None:
    a_problem_from_tables(at)
    a_draft_is_edited(at)
    the_list_is_searched_and_a_run_copied(dashboard, at)
    a_series_is_made_of_a_run_and_copied(dashboard, at)
    nodes_are_looked_at(at)
    assert not at.complaints, json.dumps(at.complaints)


def drop(page: Page, zone: str, name: str, content: str) -> None:
    """Drop a file as a mouse does."""
    transfer = page.evaluate_handle(
        """([name, content]) => {
          const carried = new DataTransfer();
          carried.items.add(new File([content], name, {type: 'text/csv'}));
          return carried;
        }""",
        [name, content],
    )
    place = page.locator(".drop", has=page.get_by_text(zone, exact=True))
    place.dispatch_event("drop", {"dataTransfer": transfer})


def looked_at(at: Watched, name: str) -> None:
    """Nothing is faint, cut off or without a name: at a desk and on a phone, light and dark."""
    at.shot(f"{name}")
    assert at.faults() == [], name
    at.look(size=PHONE, dark=True)
    expect(at.page.locator("body.body--dark")).to_be_visible()
    at.shot(f"{name}-phone-dark")
    assert at.faults() == [], name
    assert not at.scrolls_sideways(), name
    at.look()


def a_problem_from_tables(at: Watched) -> None:
    """Names, owners and mask from CSV by drag and drop; what is wrong is said where it is."""
    page = at.page
    page.goto("/new")
    drop(page, "Rows and their owners", "rows.txt", ROWS)
    expect(page.get_by_role("alert")).to_contain_text("no .csv file")
    drop(page, "Rows and their owners", "rows.csv", ROWS)
    expect(page.get_by_text("4 rows of 2 owners: north (2), south (2).")).to_be_visible()
    drop(page, "Columns", "columns.csv", COLUMNS)
    expect(page.get_by_text("4 of them, from 07:00 to 07:30.")).to_be_visible()
    drop(page, "Who may not have what", "mask.csv", MASK)
    expect(page.get_by_role("alert")).to_contain_text("Cell E4 is 'maybe'")
    looked_at(at, "30-tables")
    drop(page, "Who may not have what", "mask.csv", MASK.replace("maybe", "1"))
    expect(page.get_by_text("4 of 16 pairs are forbidden.")).to_be_visible()
    page.get_by_label("Name of the problem").fill("slots at seven")
    page.get_by_role("button", name="Use these tables").click()
    page.get_by_label("Largest weight").fill("99.5")
    page.get_by_role("button", name="Create the run").click()
    expect(page.get_by_text("It has more decimals than weights may have")).to_be_visible()
    page.get_by_label("Decimals of weights").fill("1")
    looked_at(at, "31-rules")
    page.get_by_role("button", name="Create the run").click()
    terms = page.locator(".terms")
    expect(terms).to_contain_text("Weights from 0 to 99.5 in steps of 0.1")
    expect(terms).to_contain_text("4 of 16")


def a_draft_is_edited(at: Watched) -> None:
    """The one that was just made; what the platform refuses is said at its field."""
    page = at.page
    page.get_by_role("link", name="Edit").click()
    at.choose("An evaluation discloses", "Which k are best")
    page.get_by_text("Advanced settings").click()
    settings = page.get_by_label("Settings, a line of name=value each")
    settings.fill("elites=300")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("leave room for offspring")).to_be_visible()
    expect(settings).to_be_focused()
    settings.fill("elite=20")
    settings.blur()
    expect(page.get_by_text("did you mean elites?")).to_be_visible()
    looked_at(at, "32-edit")
    settings.fill("elites=20\nevaluations=40")
    page.get_by_label("Deadline in seconds").fill("7")
    page.get_by_role("button", name="Save").click()
    terms = page.locator(".terms")
    expect(terms).to_contain_text("elites 20")
    expect(terms).to_contain_text("Evaluations at most40")
    expect(terms).to_contain_text("7 s from the start")
    expect(terms).to_contain_text("top:15")


def the_list_is_searched_and_a_run_copied(dashboard: World, at: Watched) -> None:
    page = at.page
    dashboard.invited(name="waits for signatures")
    ended = dashboard.ended("finished", name='<b>ended</b> "well"')
    page.goto("/")
    row = page.locator(".runs li", has_text="waits for signatures")
    expect(row).to_contain_text("0 of 2 signed")
    expect(row).to_contain_text("Assignment, ")
    expect(page.locator(".runs li", has_text="<b>ended</b>")).to_contain_text("best 88")
    looked_at(at, "33-runs")
    page.get_by_label("Search").fill("ended well")
    expect(page.locator(".runs li")).to_have_count(1)
    page.get_by_role("link", name='Copy <b>ended</b> "well"').click()
    expect(page.get_by_label("Name of the run")).to_have_value('<b>ended</b> "well" (copy)')
    page.get_by_role("button", name="Create the run").click()
    expect(page.locator(".title-line .state")).to_have_text("Draft")
    made = page.url.rsplit("/", 1)[1]
    copied, was = (dashboard.ok("GET", f"/runs/{run}", "op")["terms"] for run in (made, ended))
    assert copied == {**was, "name": copied["name"]}


PRESS_AND_GO_ON = "(button, field) => { button.click(); field.focus(); }"
CHANGE_WITHOUT_FOCUS = """(field, value) => {
  field.value = value;
  field.dispatchEvent(new Event('input'));
}"""


def the_answer_to_a_click_comes_late(page: Page) -> None:
    """Whoever is in another field by then stays there, and what is typed goes nowhere else."""
    per_day = page.get_by_label("Runs per day at most")
    button = page.get_by_role("button", name="Create the series and invite")
    button.evaluate(PRESS_AND_GO_ON, per_day.element_handle())
    expect(page.get_by_text("Give a time, such as 06:30")).to_be_visible()
    # What the page is told of another field comes after all of that answer.
    days = page.get_by_label("Days that the series stands")
    for value, times in (("-1", 1), ("90", 0)):
        days.evaluate(CHANGE_WITHOUT_FOCUS, value)
        expect(page.get_by_text("Give 0.01 to 365")).to_have_count(times)
    assert per_day.evaluate("field => field === document.activeElement")


def a_series_is_made_of_a_run_and_copied(dashboard: World, at: Watched) -> None:
    page = at.page
    run = dashboard.draft(name="every day")
    page.goto(f"/runs/{run}")
    page.get_by_role("link", name="Make a series of it").click()
    at.choose("Runs start", "At times of day")
    the_answer_to_a_click_comes_late(page)
    page.get_by_label("Times of day").fill("6:30")
    expect(page.get_by_text("6:30 is no time of day; write it as 06:30")).to_be_visible()
    page.get_by_role("button", name="Create the series and invite").click()
    expect(page.get_by_label("Times of day")).to_be_focused()
    page.get_by_label("Times of day").fill("06:30, 18:00")
    page.get_by_label("Runs per day at most").fill("2")
    looked_at(at, "34-new-series")
    page.get_by_role("button", name="Create the series and invite").click()
    expect(page.locator(".title-line .state")).to_have_text("Invited")
    series = page.url.rsplit("/", 1)[1]
    for name in ("north", "south"):
        dashboard.sign_series(series, name)
    expect(page.locator(".title-line .state")).to_have_text("Standing")
    page.get_by_role("button", name="Start the next run").click()
    page.locator(".dialog").get_by_role("button", name="Start it").click()
    expect(page.get_by_role("heading", name="every day 1")).to_be_visible()
    a_draft_of_a_series_is_edited(dashboard, at, series)
    page.goto(f"/series/{series}")
    expect(page.get_by_role("link", name="every day 1")).to_be_visible()
    looked_at(at, "35-series")
    page.get_by_role("link", name="Copy").click()
    expect(page.get_by_label("Times of day")).to_have_value("06:30, 18:00")
    page.goto(f"/series/{series}")
    page.get_by_role("button", name="End the series").click()
    page.locator(".dialog").get_by_role("button", name="End the series").click()
    expect(page.get_by_role("status")).to_contain_text("Ended by op.")
    page.goto("/series")
    expect(page.locator(".runs li", has_text="every day")).to_contain_text("Ended")
    looked_at(at, "36-all-series")


def test_a_series_with_equity_is_made_and_copied(dashboard: World, at: Watched) -> None:
    """What is agreed of balances is chosen in the form, and a copy has it, too."""
    page = at.page
    run = dashboard.draft(**with_equity()["run"])
    page.goto(f"/runs/{run}")
    page.get_by_role("link", name="Make a series of it").click()
    expect(page.get_by_label("Levels up to")).not_to_be_visible()
    page.get_by_role("checkbox", name="Over the runs, even out").click()
    page.get_by_label("Levels up to").fill("16")
    page.get_by_role("button", name="Create the series and invite").click()
    expect(page.get_by_text("Give 1 to 15")).to_be_visible()
    page.get_by_label("Levels up to").fill("6")
    at.choose("Each participant is told of itself", "its level and balance")
    page.get_by_label("Told in every so many-th run").fill("5")
    page.get_by_role("checkbox", name="Tell all how far apart").click()
    looked_at(at, "39-equity")
    # Runs that differ add up for the platform, unless it gets no plan.
    advice = page.get_by_text("If costs stay the same, the plans of 100 such runs")
    expect(advice).to_contain_text("Each owner, its own rows")
    at.choose("Who learns the plan", "Each owner, its own rows")
    expect(advice).to_have_count(0)
    at.choose("Who learns the plan", "Everybody")
    expect(advice).to_be_visible()
    page.get_by_role("button", name="Create the series and invite").click()
    codes = page.get_by_role("button", name="I have them")
    state = page.locator(".title-line .state", has_text="Invited")
    expect(codes.or_(state)).to_be_visible()
    if codes.is_visible():  # of those who have not joined
        codes.click()
    expect(state).to_be_visible()
    terms = dashboard.ok("GET", f"/series/{page.url.rsplit('/', 1)[1]}", "op")["terms"]
    rule = {"levels": 6, "told": "balance", "every": 5, "spread": True, "mean": False}
    assert rule.items() <= terms["equity"].items()
    page.get_by_role("link", name="Copy").click()
    expect(page.get_by_label("Levels up to")).to_have_value("6")


def a_draft_of_a_series_is_edited(dashboard: World, at: Watched, series: str) -> None:
    """What all have signed cannot be filled in; what is beyond it is refused at its field."""
    page = at.page
    draft = dashboard.ok("POST", f"/series/{series}/runs", "op", json={"start": False})
    page.goto(f"/runs/{draft['id']}")
    page.get_by_role("link", name="Edit").click()
    expect(page.get_by_label("Largest weight")).to_be_disabled()
    preset = page.locator(".q-field--disabled", has_text="Preset of the search")
    expect(preset).to_be_visible()
    settings = page.get_by_label("Settings, a line of name=value each")
    signed = settings.input_value()
    settings.fill(f"{signed}\ndistinct_min=2")
    settings.blur()
    expect(page.get_by_text("All have signed these settings")).to_be_visible()
    settings.fill(signed)
    page.get_by_label("Deadline in seconds").fill("6")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("The deadline of a run of this series is 5 s at most")).to_be_visible()
    looked_at(at, "38-edit-in-series")
    page.get_by_label("Deadline in seconds").fill("4")
    page.get_by_label("Name of the run").fill("every day, shorter")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".terms")).to_contain_text("4 s from the start")
    kept = dashboard.ok("GET", f"/runs/{draft['id']}", "op")["terms"]
    was = draft["terms"]
    assert kept == {**was, "deadline_seconds": 4.0, "name": "every day, shorter"}


def nodes_are_looked_at(at: Watched) -> None:
    page = at.page
    page.goto("/nodes")
    expect(page.locator(".banner")).to_contain_text("3 nodes cannot be reached")
    looked_at(at, "37-nodes")
