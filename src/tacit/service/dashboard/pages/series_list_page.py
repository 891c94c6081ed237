"""The list of series: what stands, how often it ran, when it runs next."""

from __future__ import annotations

import time

from nicegui import ui

from tacit.client import SeriesSummary
from tacit.service.dashboard.frame import Visitor, link_button, native, page_frame
from tacit.service.dashboard.words import ago, moment, number

STATES = {
    "invited": ("Invited", "invited", "Waiting until all have joined and signed it."),
    "agreed": ("Standing", "running", "All have signed. Runs need no more signatures."),
    "ended": ("Ended", "cancelled", "No more runs are made of it."),
}
"""The name of a state, what it looks like, and what it means."""


def runs_words(count: int, /) -> str:
    """How many runs there were.

    >>> runs_words(1), runs_words(0)
    ('1 run', '0 runs')
    """
    return f"{number(count)} run{'' if count == 1 else 's'}"


def when(series: SeriesSummary, now: float, /) -> str:
    """When it runs next, or ended, or was made."""
    if series.ended:
        return f"ended {ago(now - series.ended)}"
    if series.next_at:
        return f"next {moment(series.next_at)}"
    return f"created {ago(now - series.created)}"


async def series_list_page(visitor: Visitor, /) -> None:
    """Build the page."""
    found = await visitor.api.get("/series", list[SeriesSummary])
    with page_frame("Series", visitor, here="/series"):
        with ui.element("div").classes("title-line"):
            native("h1", "Series")
            if visitor.is_operator:
                ui.link("New series", "/series/new").classes("main-button")
        if not found:
            _nothing_yet(visitor)
            return
        with ui.element("ul").classes("runs"):
            for series in found:
                with ui.element("li"):
                    _row(visitor, series)


def _row(visitor: Visitor, series: SeriesSummary) -> None:
    name, looks, _ = STATES[series.state]
    with ui.link(target=f"/series/{series.id}").classes("run"):
        with ui.element("span").classes("run-head"):
            native("span", series.name).classes("run-name")
            native("span", runs_words(series.runs)).classes("run-about")
        native("span", name).classes(f"state {looks}")
        with ui.element("span").classes("run-detail"):
            native("span", when(series, time.time())).classes("run-time")
    if visitor.is_operator:
        path = f"/series/{series.id}/copy"
        link_button("Copy", path, label=f"Copy {series.name}")


def _nothing_yet(visitor: Visitor) -> None:
    with ui.element("div").classes("empty"):
        native("p", "There are no series yet.")
        native("p", "A series is signed once, and runs daily or hourly without new signatures.")
        if visitor.is_operator:
            ui.link("Create the first series", "/series/new").classes("main-button")
