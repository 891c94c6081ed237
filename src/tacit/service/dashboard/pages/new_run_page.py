"""Creating a run: a problem, drawn or uploaded, then the rules of the run."""

from __future__ import annotations

import asyncio
import unicodedata
from html import escape

from nicegui import events, ui

from tacit.errors import TacitError
from tacit.problems import Problem, unscaled_text
from tacit.service.dashboard.drafts import (
    KINDS,
    ObjectiveRule,
    account_name,
    costs_archive,
    drawn_problem,
    has_weights,
    run_terms,
    uploaded,
)
from tacit.service.dashboard.frame import (
    Visitor,
    button,
    html,
    native,
    page_frame,
    section,
    show_problem,
)
from tacit.service.dashboard.pages.number_fields import first_trouble, whole_number
from tacit.service.dashboard.pages.rules_form import RulesForm
from tacit.service.dashboard.pages.run_parts import table
from tacit.service.dashboard.words import number

MOST_UPLOADED = 16_000_000


async def new_run_page(visitor: Visitor, /) -> None:
    """Build the page."""
    with page_frame("New run", visitor, here="/new"):
        native("h1", "New run")
        clusters = await visitor.api.get("/clusters")
        _NewRun(visitor, max((len(each["nodes"]) for each in clusters), default=3))


class _NewRun:
    def __init__(self, visitor: Visitor, nodes: int) -> None:
        self._visitor, self._nodes = visitor, nodes
        self._problem: Problem | None = None
        self._is_drawn = False
        with section("1. The problem"):
            self._choice()
        self._rest = ui.element("div")

    def _choice(self) -> None:
        way = ui.toggle({"draw": "Generate one", "upload": "Upload one"}, value="draw").props(
            'no-caps unelevated aria-label="Where the problem comes from"'
        )
        with ui.element("div").classes("fields") as draw:
            draw.bind_visibility_from(way, "value", value="draw")
            self._draw_form()
        with ui.element("div").classes("stack") as upload:
            upload.bind_visibility_from(way, "value", value="upload")
            native(
                "p",
                "A problem file (JSON) with its participants and their rows. What it says is "
                "shown before anything is created. It should hold no costs: participants submit "
                "theirs sealed. Confidential costs in it are dropped unread.",
            )
            upload = ui.upload(
                auto_upload=True,
                max_file_size=MOST_UPLOADED,
                on_upload=self._uploaded,
                on_rejected=lambda: show_problem("this file is too large, or is not a .json file"),
            ).props('accept=".json"')
            # Its own buttons have no names for screen readers; this one has. Hidden by
            # style alone, since nothing can be uploaded to what is invisible to the server.
            upload.style("display: none")
            ui.button("Choose a problem file (.json)").props("no-caps outline").on(
                "click", js_handler=f"() => getElement({upload.id}).$refs.qRef.pickFiles()"
            )

    def _draw_form(self) -> None:
        kind = ui.select(KINDS, value="delays", label="Kind").props("outlined dense")
        rows = whole_number("Rows (flights, cities, places)", 24, 2, 500)
        columns = whole_number("Columns (slots, vehicles)", 28, 2, 500)
        columns.bind_visibility_from(kind, "value", backward=lambda value: value != "tsp")
        participants = whole_number("Participants", 3, 1, 50)
        seed = whole_number("Seed", 1, 0, 2**53)

        async def draw() -> None:
            if (wrong := first_trouble([rows, columns, participants, seed])) is not None:
                show_problem(wrong)
                return
            try:
                problem = drawn_problem(
                    str(kind.value),
                    rows=int(rows.value or 0),
                    columns=int(columns.value or 0),
                    participants=int(participants.value or 0),
                    seed=int(seed.value or 0),
                )
            except TacitError as error:
                show_problem(str(error))
                return
            self._take(problem, is_drawn=True)

        button("Generate", draw, kind="main")

    async def _uploaded(self, event: events.UploadEventArguments) -> None:
        try:
            content = await event.file.read()
            upload = await asyncio.to_thread(uploaded, content)
        except TacitError as error:
            show_problem(str(error))
            return
        self._take(upload.problem, upload.rules, is_drawn=False)

    def _take(
        self, problem: Problem, rules: tuple[ObjectiveRule, ...] = (), /, *, is_drawn: bool
    ) -> None:
        self._problem, self._is_drawn = problem, is_drawn
        self._rest.clear()
        with self._rest:
            self._summary(problem)
            self._rules(problem, rules)

    def _summary(self, problem: Problem) -> None:
        with section("2. What everybody will know"):
            native(
                "p",
                f"{problem.name}: {problem.kind} of {problem.rows} rows and {problem.columns} "
                f"columns.",
            )
            html(objectives_table(problem))
            if has_weights(problem) and not self._is_drawn:
                native(
                    "p",
                    "This file held costs. They were dropped and are not stored; each "
                    "participant submits its own.",
                ).classes("problem")
            html(participants_table(problem))
            if self._is_drawn:
                native(
                    "p", "The drawn costs are for trying things out. Hand each participant its own."
                )
                ui.button(
                    "Download the drawn costs (zip)",
                    on_click=lambda: ui.download.content(
                        costs_archive(problem), f"{problem.name}-costs.zip"
                    ),
                ).props("no-caps outline")

    def _rules(self, problem: Problem, rules: tuple[ObjectiveRule, ...]) -> None:
        with section("3. The rules"):
            form = RulesForm(problem, rules, nodes=self._nodes)

            async def create() -> None:
                if (wrong := form.trouble()) is not None:
                    show_problem(wrong)
                    return
                try:
                    terms = run_terms(problem, form.rules())
                except TacitError as error:
                    show_problem(str(error))
                    return
                made = await self._visitor.api.post("/runs", terms)
                ui.navigate.to(f"/runs/{made['id']}")

            button("Create the run", create, kind="main")


def objectives_table(problem: Problem, /) -> str:
    """What everybody will know of each objective."""
    rows = [
        [
            escape(each.name),
            escape(each.sense),
            "confidential" if each.confidential else "public, with its weights",
            f"0 to {unscaled_text(each.weight_bound, each.scale)}",
            unscaled_text(1, each.scale),
        ]
        for each in problem.objectives
    ]
    heads = ["Objective", "Sense", "Known to", "Weights", "In steps of"]
    return table(heads, rows, "Objectives")


def participants_table(problem: Problem, /) -> str:
    """Who takes part, under the names that accounts will have."""
    rows = []
    for each in problem.participants:
        account = account_name(each.name)
        is_same = account == unicodedata.normalize("NFC", each.name)
        called = "" if is_same else f" (in the file: {escape(each.name)})"
        which = escape(_row_names(problem, each.rows))
        rows.append([escape(account) + called, number(len(each.rows)), which])
    return table(["Participant", "Rows", "Which"], rows, "Participants")


def _row_names(problem: Problem, rows: tuple[int, ...]) -> str:
    names = problem.row_names
    shown = [names[row] if names else str(row) for row in rows[:6]]
    return ", ".join(shown) + (f" and {len(rows) - 6} more" if len(rows) > 6 else "")
