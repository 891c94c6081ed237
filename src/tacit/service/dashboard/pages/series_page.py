"""A series' page: who has signed it, its runs, its rules; the next run, its end."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from nicegui import ui

from tacit.service.dashboard.api_client import RefusedError
from tacit.service.dashboard.forms.equity_form import REFERENCES, TOLD
from tacit.service.dashboard.forms.series_form import PARTS
from tacit.service.dashboard.frame import (
    Visitor,
    button,
    confirmed,
    html,
    link_button,
    native,
    page_frame,
    section,
    show_error,
)
from tacit.service.dashboard.pages.run_parts import (
    hint,
    mark,
    population_of,
    search_words,
    table,
    terms_list,
)
from tacit.service.dashboard.pages.series_list_page import STATES
from tacit.service.dashboard.words import moment, number, sentence, state_name

Series = dict[str, Any]
EVERY_SECONDS = 3.0


async def series_page(visitor: Visitor, series: Series, /) -> None:
    """Build the page of a series and keep it up to date."""
    with page_frame(series["name"], visitor):
        page = _SeriesPage(visitor, series)
    page.show(series)
    ui.timer(EVERY_SECONDS, page.tick)


class _SeriesPage:
    def __init__(self, visitor: Visitor, series: Series) -> None:
        self._visitor, self._path = visitor, f"/series/{series['id']}"
        self._state_then: str | None = None
        with ui.element("div").classes("title-line"):
            native("h1", series["name"])
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
        """Look again."""
        try:
            self.show(await self._visitor.api.get(self._path))
        except RefusedError as error:
            if error.status != 429:
                show_error(error)

    def show(self, series: Series, /) -> None:
        """Show a series as it is now."""
        name, looks, meaning = STATES[series["state"]]
        self._state.set_text(name)
        self._state.classes(replace=f"state {looks}")
        following = (
            f" The next run starts {moment(series['next_at'])}." if series["next_at"] else ""
        )
        self._meaning.set_text(
            sentence(series["reason"]) if series["reason"] else meaning + following
        )
        self._runs.set_content(runs_table(series["its_runs"]))
        self._members.set_content(signers_table(series["members"]))
        if series["state"] != self._state_then:
            self._state_then = series["state"]
            self._offer(series["state"])

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
            made = await self._visitor.api.post(f"{self._path}/runs", {})
            ui.navigate.to(f"/runs/{made['id']}")

    async def _end(self) -> None:
        text = "No more runs are made of it, and it cannot stand again. What runs now goes on."
        if await confirmed("End this series?", text, do="End the series", danger=True):
            await self._visitor.api.post(f"{self._path}/end", {})
            await self.tick()


def runs_table(runs: Sequence[dict[str, Any]], /) -> str:
    """The runs of a series, the last first."""
    if not runs:
        return hint("There is no run yet.")
    rows = [
        [
            number(run["number"]),
            f'<a href="/runs/{escape(run["id"])}">{escape(run["name"])}</a>',
            f'<span class="state {escape(run["state"])}">{escape(state_name(run["state"]))}</span>',
        ]
        for run in reversed(runs)
    ]
    return table(["No.", "Run", "State"], rows, "Runs of the series")


def signers_table(members: Sequence[dict[str, Any]], /) -> str:
    """Who has joined and signed."""
    rows = [
        [escape(each["name"])]
        + [mark(each[what], "yes" if each[what] else "not yet") for what in ("joined", "signed")]
        for each in members
    ]
    return table(["Name", "Joined", "Signed"], rows, "Participants")


def series_terms_list(series: Series, /) -> str:
    """What is signed once, besides the rules of a run."""
    terms = series["terms"]
    varying, schedule = terms["varying"], terms["schedule"] or {}
    starts = "when an operator starts them"
    if schedule.get("every_minutes"):
        starts = f"every {number(schedule['every_minutes'])} minutes"
    elif schedule.get("at"):
        starts = f"at {', '.join(schedule['at'])} UTC"
    parts = [PARTS[part].lower() for part in varying["parts"]]
    items = [
        ("Runs start", starts),
        ("Runs per day", f"{number(terms['runs_per_day'])} at most"),
        ("A run has", f"{number(terms['run_hours'])} hours for costs and search"),
        ("It stands", f"{number(terms['days'])} days, from when all have joined"),
        ("Equity", equity_line(terms.get("equity"))),
        ("What may differ", ", ".join(parts) or "nothing"),
        *_sizes(varying),
        ("Nodes", series["cluster"]),
        ("Series", series["id"]),
    ]
    if series["hash"]:
        items.append(("What is signed", series["hash"]))
    cells = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in items)
    return f'<dl class="terms">{cells}</dl>'


def equity_line(rule: dict[str, Any] | None, /) -> str:
    """What is agreed of balances, in a line.

    >>> equity_line({"levels": 4, "every": 8, "told": "level", "mean": False, "spread": True,
    ...     "reference": "first come"})
    'evened out over the runs, levels up to 4, counted from first come, first served; in every 8. \
run that counts each is told what it saved, and its level, and all are told the spread'
    """
    if rule is None:
        return "every run is for itself"
    told = TOLD[rule["told"]].lower()
    line = f"evened out over the runs, levels up to {rule['levels']}, "
    line += f"counted from {REFERENCES[rule['reference']].lower()}; "
    line += f"in every {rule['every']}. run that counts each is told {told}"
    everybody = " and ".join(name for name in ("mean", "spread") if rule[name])
    return line + (f", and all are told the {everybody}" if everybody else "")


def _sizes(varying: dict[str, Any]) -> list[tuple[str, str]]:
    found = []
    for what in ("rows", "columns"):
        least, most = varying[f"least_{what}"], varying[f"most_{what}"]
        limits = [f"{number(least)} at least"] if least else []
        limits += [f"{number(most)} at most"] if most else []
        if limits:
            found.append((what.capitalize(), ", ".join(limits)))
    return found


def _pattern(series: Series) -> str:
    terms = series["terms"]["run"]
    run = {"terms": terms, "created_by": None, "id": None, "agreement_hash": None}
    return terms_list(run, population=population_of(terms), search=search_words(terms))
