"""List the runs with search and filters, kept up to date."""

from __future__ import annotations

import time
from typing import NamedTuple

from nicegui import ui

from tacit.client import ListedRun
from tacit.disclosure import SEALED
from tacit.errors import ServiceError
from tacit.service.dashboard.fields import choice
from tacit.service.dashboard.frame import (
    Visitor,
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
# A longer list says how many more there are, and is searched.
SHOWN_AT_ONCE = 100


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


def matches(run: ListedRun, words: str, group: str, /) -> bool:
    """Return whether a run fits a search: all words stand in what is shown of it."""
    states = GROUPS[group][1]
    if states is not None and run.state not in states:
        return False
    text = f"{run.name} {run.id} {about(run)} {state_name(run.state)}".casefold()
    return all(word in text for word in words.casefold().split())


async def runs_page(visitor: Visitor, /) -> None:
    with page_frame("Runs", visitor, here="/"):
        with ui.element("div").classes("title-line"):
            native("h1", "Runs")
            if visitor.is_operator:
                ui.link("New run", "/new").classes("main-button")
        runs = _RunList(visitor)
        await runs.refresh()
    ui.timer(EVERY_SECONDS, runs.refresh)


class _Row(NamedTuple):
    state: ui.label
    about: ui.label
    standing: ui.label
    detail: ui.label


class _RunList:
    """Rows are kept and only their texts change, so that nobody loses the focus."""

    def __init__(self, visitor: Visitor) -> None:
        self._visitor = visitor
        self._order: list[str] | None = None
        self._rows: dict[str, _Row] = {}
        self._runs: list[ListedRun] = []
        with ui.element("div").classes("filters") as self._filters:
            self._words = ui.input("Search", on_change=self._show).props(
                "outlined dense clearable type=search debounce=200"
            )
            groups = {key: text for key, (text, _) in GROUPS.items()}
            self._group = choice("State", groups, "all", self._show)
        self._box = ui.element("div")
        self._more = native("p").classes("hint").props('role="status"')

    async def refresh(self) -> None:
        try:
            runs = await self._visitor.api.get("/runs", list[ListedRun])
        except ServiceError as error:
            show_error(error)
            return
        self._runs = sorted(runs, key=lambda run: -run.created)
        self._show()

    def _show(self) -> None:
        words, group = str(self._words.value or ""), str(self._group.value)
        self._filters.set_visibility(bool(self._runs))
        matching = [run for run in self._runs if matches(run, words, group)]
        runs = matching[:SHOWN_AT_ONCE]
        order = [run.id for run in runs]
        # Only another order rebuilds the list.
        if order != self._order:
            self._order = order
            self._build(runs)
        now = time.time()
        for run in runs:
            row = self._rows[run.id]
            is_quiet = bool(worrying_silence(run, now))
            row.state.set_text(state_name(run.state) + (", stalled" if is_quiet else ""))
            row.state.classes(replace=f"state {'stalled' if is_quiet else run.state}")
            row.about.set_text(about(run))
            row.standing.set_text(standing(run))
            row.detail.set_text(detail(run, now))
        self._more.set_text(self._hidden_words(len(matching)))

    def _hidden_words(self, matching: int) -> str:
        if not self._runs:
            return ""
        if not matching:
            return "No run is like that."
        if matching > SHOWN_AT_ONCE:
            return f"The newest {SHOWN_AT_ONCE} of {number(matching)} runs. Search for the others."
        return (
            ""
            if matching == len(self._runs)
            else f"{number(matching)} of {number(len(self._runs))}"
        )

    def _build(self, runs: list[ListedRun]) -> None:
        self._box.clear()
        self._rows.clear()
        with self._box:
            if not self._runs:
                _nothing_yet(self._visitor)
            elif runs:
                with ui.element("ul").classes("runs"):
                    for run in runs:
                        with ui.element("li"):
                            self._row(run)

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
