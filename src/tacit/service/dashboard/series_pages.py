"""List the series, and show one: who has signed it, its runs, its rules and its end."""

from __future__ import annotations

import time
from collections.abc import Sequence
from html import escape

from nicegui import ui

from tacit.client import (
    MOST_LISTED,
    EquitySettings,
    ListedSeries,
    MemberView,
    Page,
    RunView,
    SeriesRun,
    SeriesView,
    VaryingTerms,
)
from tacit.errors import ServiceError, TooManyError
from tacit.service.dashboard.frame import (
    Visitor,
    button,
    confirmed,
    hint,
    html,
    link_button,
    mark,
    native,
    nothing_yet,
    page_frame,
    section,
    show_error,
    table,
    terms_markup,
)
from tacit.service.dashboard.run_parts import search_words, terms_list
from tacit.service.dashboard.series_form import PARTS, REFERENCES, TOLD
from tacit.service.dashboard.words import ago, moment, number, sentence, state_name
from tacit.service.workflow.terms import population_of_terms

EVERY_SECONDS = 3.0
# The name of a state, what it looks like, and what it means.
STATES = {
    "invited": ("Invited", "invited", "Waiting until all have joined and signed it."),
    "agreed": ("Standing", "running", "All have signed. Runs need no more signatures."),
    "ended": ("Ended", "cancelled", "No more runs are made of it."),
}


def runs_words(count: int, /) -> str:
    """How many runs there were.

    >>> runs_words(1), runs_words(0)
    ('1 run', '0 runs')
    """
    return f"{number(count)} run{'' if count == 1 else 's'}"


def when(series: ListedSeries, now: float, /) -> str:
    """Say when a series runs next, or ended, or was made."""
    if series.ended:
        return f"ended {ago(now - series.ended)}"
    if series.next_at:
        return f"next {moment(series.next_at)}"
    return f"created {ago(now - series.created)}"


async def series_list_page(visitor: Visitor, /) -> None:
    page = await visitor.api.get(f"/series?limit={MOST_LISTED}", Page[ListedSeries])
    with page_frame("Series", visitor, here="/series"):
        with ui.element("div").classes("title-line"):
            native("h1", "Series")
            if visitor.is_operator:
                ui.link("New series", "/series/new").classes("main-button")
        if not page.items:
            once = "A series is signed once, and runs daily or hourly without new signatures."
            link = ("Create the first series", "/series/new") if visitor.is_operator else None
            nothing_yet(["There are no series yet.", once], link)
            return
        with ui.element("ul").classes("runs"):
            for series in page.items:
                with ui.element("li"):
                    _row(visitor, series)
        if page.next is not None:
            html(hint(f"The newest {MOST_LISTED} series."))


def _row(visitor: Visitor, series: ListedSeries) -> None:
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


async def series_page(visitor: Visitor, series: SeriesView, /) -> None:
    with page_frame(series.name, visitor):
        page = _SeriesPage(visitor, series)
    page.show(series)
    ui.timer(EVERY_SECONDS, page.tick)


class _SeriesPage:
    def __init__(self, visitor: Visitor, series: SeriesView) -> None:
        self._visitor, self._path = visitor, f"/series/{series.id}"
        self._state_then: str | None = None
        with ui.element("div").classes("title-line"):
            native("h1", series.name)
            self._state = native("span").classes("state")
        self._meaning = native("p").classes("lead").props('role="status"')
        self._actions = ui.element("div").classes("actions")
        with ui.element("div").classes("parts"):
            with section("Runs"):
                self._runs = html()
            with section("Participants"):
                self._members = html()
            with section("The series", classes="wide"):
                html(series_terms_list(series))
            with section("A run of it", classes="wide"):
                html(_pattern(series))

    async def tick(self) -> None:
        try:
            self.show(await self._visitor.api.get(self._path, SeriesView))
        except ServiceError as error:
            if not isinstance(error, TooManyError):
                show_error(error)

    def show(self, series: SeriesView, /) -> None:
        name, looks, meaning = STATES[series.state]
        self._state.set_text(name)
        self._state.classes(replace=f"state {looks}")
        following = f" The next run starts {moment(series.next_at)}." if series.next_at else ""
        self._meaning.set_text(sentence(series.reason) if series.reason else meaning + following)
        self._runs.set_content(runs_table(series.its_runs))
        self._members.set_content(signers_table(series.members))
        # As on the page of a run: buttons stay while the state does.
        if series.state != self._state_then:
            self._state_then = series.state
            self._offer(series.state)

    def _offer(self, state: str) -> None:
        self._actions.clear()
        if self._visitor.role == "viewer":
            return
        with self._actions:
            if self._visitor.is_operator and state == "agreed":
                button("Start the next run", self._next, kind="main")
            if self._visitor.is_operator:
                link_button("Copy", f"{self._path}/copy")
            if state != "ended":
                button("End the series", self._end, kind="danger")

    async def _next(self) -> None:
        text = "It is like the last one. Participants who follow the series send in their costs."
        if await confirmed("Start the next run?", text, do="Start it"):
            run = await self._visitor.api.post(f"{self._path}/runs", None, RunView)
            ui.navigate.to(f"/runs/{run.id}")

    async def _end(self) -> None:
        text = "No more runs are made of it, and it cannot stand again. What runs now goes on."
        if await confirmed("End this series?", text, do="End the series", danger=True):
            await self._visitor.api.post(f"{self._path}/end", None, SeriesView)
            await self.tick()


def runs_table(runs: Sequence[SeriesRun], /) -> str:
    """List the runs of a series, the last one first."""
    if not runs:
        return hint("There is no run yet.")
    rows = [
        [
            number(run.number),
            f'<a href="/runs/{escape(run.id)}">{escape(run.name)}</a>',
            f'<span class="state {escape(run.state)}">{escape(state_name(run.state))}</span>',
        ]
        for run in reversed(runs)
    ]
    return table(["No.", "Run", "State"], rows, "Runs of the series")


def signers_table(members: Sequence[MemberView], /) -> str:
    rows = [
        [escape(each.name)]
        + [mark(is_done, "yes" if is_done else "not yet") for is_done in (each.joined, each.signed)]
        for each in members
    ]
    return table(["Name", "Joined", "Signed"], rows, "Participants")


def series_terms_list(series: SeriesView, /) -> str:
    """List what is signed once, besides the rules of a run."""
    terms = series.terms
    varying, schedule = terms.varying, terms.schedule
    starts = "when an operator starts them"
    if schedule is not None and schedule.every_minutes:
        starts = f"every {number(schedule.every_minutes)} minutes"
    elif schedule is not None:
        starts = f"at {', '.join(schedule.at)} UTC"
    parts = [PARTS[part].lower() for part in varying.parts]
    items = [
        ("Runs start", starts),
        ("Runs per day", f"{number(terms.runs_per_day)} at most"),
        ("A run has", f"{number(terms.run_hours)} hours for costs and search"),
        ("It stands", f"{number(terms.days)} days, from when all have joined"),
        ("Equity", equity_line(terms.equity)),
        ("What may differ", ", ".join(parts) or "nothing"),
        *_sizes(varying),
        ("Nodes", series.cluster),
        ("Series", series.id),
    ]
    if series.hash:
        items.append(("What is signed", series.hash))
    return terms_markup(items)


def equity_line(rule: EquitySettings | None, /) -> str:
    """What is agreed of balances, in a line.

    >>> equity_line(EquitySettings(spread=True))
    'evened out over the runs, levels up to 4, counted from first come, first served; in every 8. \
run that counts each is told what it saved, and its level, and all are told the spread'
    """
    if rule is None:
        return "every run is for itself"
    told = TOLD[rule.told].lower()
    line = f"evened out over the runs, levels up to {rule.levels}, "
    line += f"counted from {REFERENCES[rule.reference].lower()}; "
    line += f"in every {rule.every}. run that counts each is told {told}"
    everybody = " and ".join(name for name in ("mean", "spread") if getattr(rule, name))
    return line + (f", and all are told the {everybody}" if everybody else "")


def _sizes(varying: VaryingTerms) -> list[tuple[str, str]]:
    sizes = []
    for what in ("rows", "columns"):
        least, most = getattr(varying, f"least_{what}"), getattr(varying, f"most_{what}")
        limits = [f"{number(least)} at least"] if least else []
        limits += [f"{number(most)} at most"] if most else []
        if limits:
            sizes.append((what.capitalize(), ", ".join(limits)))
    return sizes


def _pattern(series: SeriesView) -> str:
    terms = series.terms.run
    return terms_list(terms, population=population_of_terms(terms), search=search_words(terms))
