"""List the runs with search and filters, kept up to date."""

from __future__ import annotations

import time
from typing import NamedTuple
from urllib.parse import urlencode

from nicegui import ui
from nicegui.element import Element

from tacit.client import MOST_LISTED, ListedRun, Page
from tacit.disclosure import SEALED
from tacit.errors import ServiceError, TooManyError
from tacit.service.dashboard.fields import choice
from tacit.service.dashboard.frame import (
    Visitor,
    button,
    link_button,
    native,
    nothing_yet,
    page_frame,
    show_error,
)
from tacit.service.dashboard.nodes import silence, silent_seconds
from tacit.service.dashboard.words import (
    ago,
    disclosure_name,
    kind_name,
    number,
    state_name,
    time_left,
)

EVERY_SECONDS = 2.0
GROUPS = {
    "all": ("All states", None),
    "waiting": ("Before the search", ("draft", "invited", "agreed", "submitted")),
    "running": ("Running", ("running",)),
    "finished": ("Finished", ("finished",)),
    "trouble": ("Interrupted, failed, cancelled", ("interrupted", "failed", "cancelled")),
}
ROWS = 50
"""So many are shown at first, and so many more at a time."""
FETCH_TICKS = 10
"""Without any event the list is fetched again after so many ticks."""


def detail(run: ListedRun, now: float, /) -> str:
    """Say when something happened to a run, or will."""
    if run.state == "running" and run.deadline_at:
        left = f"{time_left(run.deadline_at - now)} left"
        is_sealed = SEALED in run.disclosures
        left, step = (f"at most {left}", "step") if is_sealed else (left, "generation")
        if quiet := worrying_silence(run, now):
            return f"{left}, nothing heard for {time_left(quiet)}"
        return f"{left}, {step} {number(run.generation)}" if run.generation else left
    if run.ended:
        return f"ended {ago(now - run.ended)}"
    return f"created {ago(now - run.created)}"


def worrying_silence(run: ListedRun, now: float, /) -> float:
    """Return for how long a run sent nothing that should have, or 0."""
    quiet = silence(run, now)
    is_long = quiet >= silent_seconds(sealed=SEALED in run.disclosures)
    return quiet if is_long else 0.0


def about(run: ListedRun, /) -> str:
    shown = " and ".join(disclosure_name(each) for each in run.disclosures)
    return f"{kind_name(run.kind)}, {shown}" if shown else kind_name(run.kind)


def standing(run: ListedRun, /) -> str:
    """Say how many people are ready, or the best value."""
    people = number(run.participants)
    if run.state == "invited" and run.joined < run.participants:
        return f"{number(run.joined)} of {people} joined"
    if run.state == "invited":
        return f"{number(run.signed)} of {people} signed"
    if run.state == "agreed":
        return f"costs of {number(run.accepted)} of {people}"
    values = [
        number(best) for best in run.best or [] if best is not None and not isinstance(best, bool)
    ]
    if len(run.best or []) > 1 and values:
        return f"at best {', '.join(values)}, not in one plan"
    if values:
        return f"best {values[0]}"
    return f"{people} participant{'' if run.participants == 1 else 's'}"


async def runs_page(visitor: Visitor, /) -> None:
    with page_frame("Runs", visitor, here="/"):
        with ui.element("div").classes("title-line"):
            native("h1", "Runs")
            if visitor.is_operator:
                ui.link("New run", "/new").classes("main-button")
        runs = _RunList(visitor)
        await runs.refresh()
    ui.timer(EVERY_SECONDS, runs.tick)


class _Row(NamedTuple):
    state: ui.label
    about: ui.label
    standing: ui.label
    detail: ui.label


class _RunList:
    """Rows are kept and only their texts change, so that nobody loses the focus."""

    def __init__(self, visitor: Visitor) -> None:
        self._visitor = visitor
        self._order: list[str] = []
        self._rows: dict[str, _Row] = {}
        self._page = Page[ListedRun]([])
        self._wanted = ROWS
        self._seen, self._ticks = -1, 0
        with ui.element("div").classes("filters") as self._filters:
            self._words = ui.input("Search", on_change=self._narrow).props(
                "outlined dense clearable type=search debounce=200"
            )
            groups = {key: text for key, (text, _) in GROUPS.items()}
            self._group = choice("State", groups, "all", self._narrow)
        self._box = ui.element("div")
        self._list: Element | None = None
        self._status = native("p").classes("hint").props('role="status"')
        self._more = button("Show more", self._show_more)

    async def tick(self) -> None:
        """Show how the time goes on; fetch the list again only if something happened."""
        self._ticks += 1
        if self._visitor.announcer.newest() != self._seen or self._ticks % FETCH_TICKS == 0:
            await self.refresh()
        else:
            self._show_texts()

    async def refresh(self) -> None:
        seen = self._visitor.announcer.newest()
        asked = self._path()
        try:
            page = await self._visitor.api.get(asked, Page[ListedRun])
        except TooManyError:
            return  # the next tick tries again
        except ServiceError as error:
            show_error(error)
            return
        if asked != self._path():
            return  # somebody typed on, and that is asked for as well
        self._page, self._seen = page, seen
        self._show()

    def _path(self) -> str:
        _, states = GROUPS[str(self._group.value)]
        options = {
            "limit": self._wanted,
            "search": str(self._words.value or ""),
            "state": states or (),
        }
        return f"/runs?{urlencode(options, doseq=True)}"

    @property
    def _is_narrowed(self) -> bool:
        return bool(self._words.value) or self._group.value != "all"

    async def _narrow(self) -> None:
        self._wanted = ROWS
        await self.refresh()

    async def _show_more(self) -> None:
        self._wanted = min(self._wanted + ROWS, MOST_LISTED)
        await self.refresh()

    def _show(self) -> None:
        runs = self._page.items
        order = [run.id for run in runs]
        self._filters.set_visibility(bool(runs) or self._is_narrowed)
        # Only another order rebuilds the list; rows that come after the others are added to it.
        if self._list is None or order[: len(self._order)] != self._order:
            self._build()
        if self._list is not None:
            with self._list:
                for run in runs[len(self._order) :]:
                    with ui.element("li"):
                        self._row(run)
        self._order = order
        has_more = self._page.next is not None
        self._more.set_visibility(has_more and self._wanted < MOST_LISTED)
        self._status.set_text(self._words_on_length(len(runs), has_more=has_more))
        self._show_texts()

    def _show_texts(self) -> None:
        now = time.time()
        for run in self._page.items:
            row = self._rows[run.id]
            is_quiet = bool(worrying_silence(run, now))
            row.state.set_text(state_name(run.state) + (", stalled" if is_quiet else ""))
            row.state.classes(replace=f"state {'stalled' if is_quiet else run.state}")
            row.about.set_text(about(run))
            row.standing.set_text(standing(run))
            row.detail.set_text(detail(run, now))

    def _words_on_length(self, shown: int, *, has_more: bool) -> str:
        if has_more and shown >= MOST_LISTED:
            return f"The newest {number(shown)} runs. Search for the others."
        if has_more:
            return f"The newest {number(shown)} runs."
        if not self._is_narrowed:
            return ""
        return (
            f"{number(shown)} run{'' if shown == 1 else 's'}" if shown else "No run is like that."
        )

    def _build(self) -> None:
        self._box.clear()
        self._rows.clear()
        self._order, self._list = [], None
        with self._box:
            if self._page.items:
                self._list = ui.element("ul").classes("runs")
            elif not self._is_narrowed:
                _nothing_yet(self._visitor)

    def _row(self, run: ListedRun) -> None:
        with ui.link(target=f"/runs/{run.id}").classes("run"):
            with ui.element("span").classes("run-head"):
                native("span", run.name).classes("run-name")
                about_it = native("span").classes("run-about")
            state = native("span").classes("state")
            with ui.element("span").classes("run-detail"):
                standing_of_it = native("span").classes("run-standing")
                at = native("span").classes("run-time")
            self._rows[run.id] = _Row(state, about_it, standing_of_it, at)
        if self._visitor.is_operator:
            link_button("Copy", f"/runs/{run.id}/copy", label=f"Copy {run.name}")


def _nothing_yet(visitor: Visitor) -> None:
    if visitor.is_operator:
        about_runs = "A run begins with a public problem: who needs something, what there is."
        nothing_yet(["There are no runs yet.", about_runs], ("Create the first run", "/new"))
    elif visitor.role == "participant":
        invited = "An operator invites you to one; it then appears here."
        nothing_yet(["You are not part of any run yet.", invited])
    else:
        nothing_yet(["There are no runs yet. They appear here as soon as there are some."])
