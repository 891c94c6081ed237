"""A real browser on a real platform: Debian's chromium, driven as a person would drive it."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Page,
    Request,
    expect,
    sync_playwright,
)

SHOTS = Path(__file__).parents[3] / "out" / "screenshots"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE_MS = 60_000.0
"""Machines that run tests may be busy, and plots and checks come behind everything else there."""
PHONE = {"width": 390, "height": 844}
DESKTOP = {"width": 1280, "height": 900}


@contextmanager
def chromium() -> Iterator[Browser]:
    found = shutil.which("chromium")
    assert found, "there is no chromium; run make test, which installs Debian's"
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Watched:
    """A page, and everything it complained about or asked of somebody else."""

    page: Page
    url: str
    complaints: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        self.page.on("request", self._request)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.type}: {message.text}")

    def _request(self, request: Request) -> None:
        own = (self.url, self.url.replace("https:", "wss:"), "data:", "blob:")
        if not request.url.startswith(own):
            self.complaints.append(f"asks {request.url}")

    def shot(self, name: str) -> None:
        SHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=SHOTS / f"{name}.png", full_page=True, animations="disabled")

    def look(self, *, size: dict[str, int] = DESKTOP, dark: bool = False) -> None:
        """Become another screen without loading the page again."""
        self.page.set_viewport_size({"width": size["width"], "height": size["height"]})
        self.page.emulate_media(color_scheme="dark" if dark else "light", reduced_motion="reduce")

    def tab_to(self, name: str) -> None:
        """Press Tab until the focus is on what has this name, and see that the focus shows.

        What a page has arrives piece by piece, on a busy machine over seconds.
        """
        until = time.monotonic() + ARRIVAL_SECONDS
        seen: list[str] = []
        while len(seen) < ROUND_OF_TABS or time.monotonic() < until:
            self.page.keyboard.press("Tab")
            said, shows = self.page.evaluate(FOCUSED)
            seen = [*seen, said][-ROUND_OF_TABS:]
            if said == name:
                assert shows, f"the focus on {name!r} cannot be seen"
                return
        raise AssertionError(f"{name!r} cannot be reached by Tab, only {seen}")

    def press(self, name: str, key: str = "Enter") -> None:
        self.tab_to(name)
        self.page.keyboard.press(key)

    def choose(self, field: str, option: str) -> None:
        """Choose from a list, which gives the focus back to its field when it is gone."""
        self.page.get_by_label(field).locator("visible=true").click()
        self.page.get_by_role("option", name=option).click()
        expect(self.page.get_by_role("option")).to_have_count(0)
        expect(self.page.get_by_role("combobox", name=field)).to_be_focused()

    def faults(self) -> list[str]:
        """What keeps somebody from using the page as it is now, as axe sees it."""
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(AXE)
        found: list[str] = self.page.evaluate(FAULTS)
        return found

    def scrolls_sideways(self) -> bool:
        wide: bool = self.page.evaluate("document.documentElement.scrollWidth > window.innerWidth")
        return wide


ROUND_OF_TABS = 60
"""More than any page has places for the focus."""
ARRIVAL_SECONDS = 60.0
FOCUSED = """() => {
  const it = document.activeElement;
  const field = it.closest('.q-field');
  const label = field && field.querySelector('.q-field__label');
  const said = it.getAttribute('aria-label') || (label && label.textContent)
    || it.innerText || (it.labels && it.labels[0] && it.labels[0].innerText) || '';
  const style = getComputedStyle(it);
  const outlined = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0;
  const lit = field && field.classList.contains('q-field--focused');
  return [said.trim(), Boolean(outlined || lit)];
}"""


AXE = (files("axe_playwright_python") / "axe.min.js").read_text()
FAULTS = """async () => {
  // Quasar's line on top while something loads is there for a moment, and for nobody to read.
  const found = await axe.run({exclude: ['.q-loading-bar']}, {
    runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'],
    resultTypes: ['violations'],
  });
  return found.violations.flatMap((rule) =>
    rule.nodes.map((node) => `${rule.id}: ${node.target.join(' ')} ${node.any[0]?.message ?? ''}`));
}"""
"""What axe finds; of texts, for one, whether their contrast to what is behind them is 4.5:1."""


@contextmanager
def opened(browser: Browser, url: str) -> Iterator[Watched]:
    """A fresh profile of the browser."""
    context = browser.new_context(
        base_url=url,
        viewport={"width": DESKTOP["width"], "height": DESKTOP["height"]},
        # The platform's certificate is its own; who pins it is tested with the participants.
        ignore_https_errors=True,
        accept_downloads=True,
        reduced_motion="reduce",
    )
    try:
        context.set_default_timeout(PATIENCE_MS)
        yield Watched(context.new_page(), url)
    finally:
        context.close()


def sign_in(at: Watched, secret: str) -> None:
    at.page.goto("/sign-in")
    expect(at.page.get_by_label("Code or token")).to_be_focused()
    at.page.keyboard.type(secret)
    with at.page.expect_navigation():
        at.page.keyboard.press("Enter")
