"""Pictures of the dashboard for the documents: `make pictures` writes docs/pictures.

A real platform with three nodes and three participants, in a real browser.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import msgspec
from PIL import Image
from playwright.sync_api import expect

from tacit.client import RunTerms, tls_context
from tacit.participant import Profile, review, sign, submit
from tacit.problems import Problem
from tacit.problems.files.load_and_save import save_participants
from tacit.service.dashboard.drafts import ObjectiveRule, drawn_problem, usual_terms
from tacit.service.demo import join_as, pin_keys
from tacit.service.local_platform import LocalPlatform
from tests.service.dashboard.browser import PHONE, Watched, chromium, opened, sign_in
from tests.service.dashboard.test_daily_use_browser import COLUMNS, MASK, ROWS, drop

FOLDER = Path(__file__).parents[3] / "docs" / "pictures"
BROAD = {"width": 1120, "height": 760}
COLOURS = 96
"""A page has few, and files are small then."""
PATIENCE_SECONDS = 300.0


@dataclass
class Stage:
    """A platform with its people, and a page."""

    platform: LocalPlatform
    at: Watched
    token: str
    profiles: list[Profile] = field(default_factory=list)

    def call(self, method: str, path: str, body: object = None) -> Any:
        headers = {"Authorization": f"Bearer {self.token}"}
        with httpx.Client(verify=tls_context(self.platform.certificate), timeout=60) as client:
            answer = client.request(
                method,
                f"{self.platform.url}/api/v1{path}",
                content=msgspec.json.encode(body),
                headers=headers,
            )
        answer.raise_for_status()
        return answer.json()

    def invited(self, terms: RunTerms) -> str:
        run = str(self.call("POST", "/runs", terms)["id"])
        codes = self.call("POST", f"/runs/{run}/invite")["invitations"]
        if codes:
            self.profiles = [join_as(self.platform, name, code) for name, code in codes.items()]
            pin_keys(self.platform, self.profiles)
        return run

    def submitted(self, problem: Problem, terms: RunTerms) -> str:
        run = self.invited(terms)
        files = self.platform.folder / "costs" / run
        save_participants(problem, files)
        for profile in self.profiles:
            sign(profile, run, seen=review(profile, run))
        for profile in self.profiles:
            submit(profile, run, files / f"{profile.account}.csv")
        return run

    def wait(self, run: str, *states: str) -> None:
        until = time.monotonic() + PATIENCE_SECONDS
        while (seen := self.call("GET", f"/runs/{run}"))["state"] not in states:
            assert time.monotonic() < until, f"{seen['name']}: {seen['state']}, {seen['warnings']}"
            time.sleep(0.5)

    def picture(self, name: str, *, height: int = BROAD["height"]) -> None:
        FOLDER.mkdir(parents=True, exist_ok=True)
        path = FOLDER / f"{name}.png"
        width = (self.at.page.viewport_size or BROAD)["width"]
        self.at.page.screenshot(
            path=path,
            full_page=True,
            clip={"x": 0, "y": 0, "width": width, "height": height},
            animations="disabled",
        )
        with Image.open(path) as taken:
            small = taken.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
        small.save(path, optimize=True)


def morning(seed: int) -> Problem:
    """Of another day for each run: nobody seals the same costs twice."""
    return drawn_problem("delays", rows=24, columns=28, participants=3, seed=seed)


def about(day: int, name: str, disclosure: str, seconds: float) -> RunTerms:
    rule = ObjectiveRule(disclosure, "nothing" if disclosure == "sealed" else "value")
    return usual_terms(morning(day), [rule], name=name, deadline_seconds=seconds)


def take_pictures(stage: Stage) -> None:
    page, at = stage.at.page, stage.at
    at.look(size=BROAD)
    ended = stage.submitted(morning(1), about(1, "Monday morning", "top:15", 5.0))
    stage.wait(ended, "finished")
    sealed = stage.invited(about(3, "Wednesday morning", "sealed", 60.0))
    for profile in stage.profiles[:2]:
        sign(profile, sealed, seen=review(profile, sealed))
    stage.call("POST", "/runs", about(4, "Thursday morning", "sealed", 60.0))
    live = stage.submitted(morning(2), about(2, "Tuesday morning", "top:15", 40.0))
    stage.wait(live, "running")
    page.goto(f"/runs/{live}")
    expect(page.get_by_role("img", name="at first")).to_be_visible()
    page.wait_for_timeout(6000)
    stage.picture("running", height=700)
    page.goto("/")
    expect(page.locator(".run-standing", has_text="best").first).to_be_visible()
    stage.picture("runs", height=520)
    page.goto(f"/runs/{ended}")
    expect(page.get_by_role("heading", name="Plan", exact=True)).to_be_visible()
    stage.picture("plan", height=1150)
    at.look(size=PHONE, dark=True)
    stage.picture("phone", height=844)
    at.look(size=BROAD)
    page.goto("/nodes")
    stage.picture("nodes", height=480)
    page.goto("/new")
    drop(page, "Rows and their owners", "rows.csv", ROWS)
    drop(page, "Columns", "columns.csv", COLUMNS)
    drop(page, "Who may not have what", "mask.csv", MASK)
    expect(page.get_by_role("alert")).to_contain_text("Cell E4")
    stage.picture("tables", height=840)
    page.goto(f"/runs/{ended}/copy")
    rules = page.locator("section", has=page.get_by_role("heading", name="3. The rules"))
    expect(rules).to_be_visible()
    page.evaluate("document.querySelectorAll('section')[0].remove()")
    page.evaluate("document.querySelectorAll('section')[0].remove()")
    stage.picture("rules", height=840)


def main() -> None:
    """Take all pictures anew."""
    with LocalPlatform() as platform, chromium() as browser, opened(browser, platform.url) as at:
        with httpx.Client(verify=tls_context(platform.certificate)) as client:
            code = platform.invitation("desk", role="operator")
            token = client.post(f"{platform.url}/api/v1/join", json={"code": code}).json()["token"]
        sign_in(at, token)
        take_pictures(Stage(platform, at, token))


if __name__ == "__main__":
    main()
