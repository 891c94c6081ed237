"""Where the problem of a new run comes from: drawn, a problem file, or tables."""

from __future__ import annotations

from collections.abc import Callable

from nicegui import ui

from tacit.errors import TacitError
from tacit.problems import Problem
from tacit.service.dashboard.drafts import KINDS, Upload, drawn_problem, uploaded
from tacit.service.dashboard.forms.drop_zone import DropZone
from tacit.service.dashboard.forms.number_fields import first_wrong, whole_number
from tacit.service.dashboard.forms.table_form import TableForm
from tacit.service.dashboard.frame import button, focus_on, native, show_problem
from tacit.service.dashboard.rules import ObjectiveRule

WAYS = {"tables": "From tables", "upload": "From a problem file", "draw": "Drawn, to try it out"}
TABLES = (
    "CSV files as a spreadsheet saves them, with a line of names on top. They hold no costs: "
    "participants submit theirs sealed."
)
FILE = (
    "It has its participants and their rows. What it says is shown before anything is created. It "
    "should hold no costs: participants submit theirs sealed. Confidential costs in it are "
    "dropped once it is read; until then whoever runs the platform could see them."
)


class ProblemForm:
    """Three ways to a problem; `take` gets it, what its file says of rules, and if it is drawn."""

    def __init__(self, take: Callable[[Problem, tuple[ObjectiveRule, ...], bool], None], /) -> None:
        self._take = take
        way = ui.toggle(WAYS, value="tables").props(
            'no-caps unelevated aria-label="Where the problem comes from"'
        )
        with ui.element("div") as tables:
            tables.bind_visibility_from(way, "value", value="tables")
            native("p", TABLES)
            TableForm(lambda problem: take(problem, (), False))
        with ui.element("div") as file:
            file.bind_visibility_from(way, "value", value="upload")
            self._upload: Upload | None = None
            DropZone("A problem file", FILE, self._read, ending=".json", after=self._file_was_taken)
        with ui.element("div").classes("fields") as draw:
            draw.bind_visibility_from(way, "value", value="draw")
            self._draw_fields()

    def _read(self, content: bytes) -> str:
        self._upload = uploaded(content)
        problem = self._upload.problem
        return f"it is about {problem.name!r}, {problem.rows} rows and {problem.columns} columns"

    def _file_was_taken(self) -> None:
        assert self._upload is not None
        self._take(self._upload.problem, self._upload.rules, False)

    def _draw_fields(self) -> None:
        kind = ui.select(KINDS, value="delays", label="Kind").props("outlined dense")
        rows = whole_number("Rows (flights, cities, places)", 24, 2, 500)
        columns = whole_number("Columns (slots, vehicles)", 28, 2, 500)
        columns.bind_visibility_from(kind, "value", backward=lambda value: value != "tsp")
        participants = whole_number("Participants", 3, 1, 50)
        seed = whole_number("Seed", 1, 0, 2**53)

        async def draw() -> None:
            if (wrong := first_wrong([rows, columns, participants, seed])) is not None:
                focus_on(wrong)
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
            self._take(problem, (), True)

        button("Generate", draw, kind="main")
