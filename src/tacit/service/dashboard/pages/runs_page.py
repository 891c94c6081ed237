"""The list of runs, which keeps itself up to date."""

from __future__ import annotations

import time
from typing import Any

from nicegui import ui

from tacit.service.dashboard.api_client import RefusedError
from tacit.service.dashboard.frame import Visitor, native, page_frame, show_error
from tacit.service.dashboard.stalls import SILENT_SECONDS, silence
from tacit.service.dashboard.words import ago, number, state_name, time_left

EVERY_SECONDS = 2.0


def detail(run: dict[str, Any], now: float, /) -> str:
    """What is worth knowing of a run at a glance.

    >>> detail({"state": "running", "deadline_at": 70.0, "generation": 12, "created": 0.0}, 60.0)
    '10 s left, generation 12'
    >>> detail({"state": "running", "deadline_at": 70.0, "reported_at": 52.0}, 60.0)
    '10 s left, nothing heard for 8 s'
    >>> detail({"state": "draft", "created": 0.0}, 60.0)
    'created 1 min ago'
    """
    if run["state"] == "running" and run.get("deadline_at"):
        left = f"{time_left(run['deadline_at'] - now)} left"
        if (quiet := silence(run, now)) >= SILENT_SECONDS:
            return f"{left}, nothing heard for {time_left(quiet)}"
        return f"{left}, generation {number(run['generation'])}" if run.get("generation") else left
    if run.get("ended"):
        return f"ended {ago(now - run['ended'])}"
    return f"created {ago(now - run['created'])}"


async def runs_page(visitor: Visitor, /) -> None:
    """Build the page."""
    with page_frame("Runs", visitor, here="/"):
        with ui.element("div").classes("title-line"):
            native("h1", "Runs")
            if visitor.is_operator:
                ui.link("New run", "/new").classes("main-button")
        runs = _RunList(visitor)
        await runs.refresh()
    ui.timer(EVERY_SECONDS, runs.refresh)


class _RunList:
    """Rows are kept and only their texts change, so that nobody loses the focus."""

    def __init__(self, visitor: Visitor) -> None:
        self._visitor = visitor
        self._order: list[str] = []
        self._rows: dict[str, tuple[ui.label, ui.label]] = {}
        self._box = ui.element("div")

    async def refresh(self) -> None:
        try:
            runs = await self._visitor.api.get("/runs")
        except RefusedError as error:
            show_error(error)
            return
        runs.sort(key=lambda run: -run["created"])
        order = [run["id"] for run in runs]
        if order != self._order or not runs:
            self._order = order
            self._build(runs)
        now = time.time()
        for run in runs:
            state, text = self._rows[run["id"]]
            is_quiet = silence(run, now) >= SILENT_SECONDS
            state.set_text(state_name(run["state"]) + (", stalled" if is_quiet else ""))
            state.classes(replace=f"state {'stalled' if is_quiet else run['state']}")
            text.set_text(detail(run, now))

    def _build(self, runs: list[dict[str, Any]]) -> None:
        self._box.clear()
        self._rows.clear()
        with self._box:
            if not runs:
                _nothing_yet(self._visitor)
                return
            with ui.element("ul").classes("runs"):
                for run in runs:
                    with ui.element("li"), ui.link(target=f"/runs/{run['id']}").classes("run"):
                        native("span", run["name"]).classes("run-name")
                        self._rows[run["id"]] = (
                            native("span").classes("state"),
                            native("span").classes("run-detail"),
                        )


def _nothing_yet(visitor: Visitor) -> None:
    with ui.element("div").classes("empty"):
        if visitor.is_operator:
            native("p", "There are no runs yet.")
            native("p", "A run begins with a public problem: who needs something, what there is.")
            ui.link("Create the first run", "/new").classes("main-button")
        elif visitor.role == "participant":
            native("p", "You are not part of any run yet.")
            native("p", "An operator invites you to one; it then appears here.")
        else:
            native("p", "There are no runs yet. They appear here as soon as there are some.")
