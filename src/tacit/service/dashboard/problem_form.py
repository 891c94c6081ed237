"""Take the problem of a new run: from tables, from a problem file, or drawn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

from nicegui import events, ui

from tacit.errors import ParameterError, TacitError
from tacit.problems import Objective, Problem
from tacit.service.background import Background
from tacit.service.dashboard.drafts import (
    KINDS,
    KINDS_OF_TABLES,
    USUAL_BOUND,
    ObjectiveRule,
    Table,
    Tables,
    drawn_problem,
    found_in,
    mask_of,
    owners_of,
    problem_of_tables,
    read_table,
    uploaded,
)
from tacit.service.dashboard.fields import choice, first_wrong, name_field, whole_number
from tacit.service.dashboard.frame import button, focus_on, native, show_problem
from tacit.service.dashboard.words import number, sentence

T = TypeVar("T")
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
SENSES = {"minimize": "Less is better", "maximize": "More is better"}
MOST_OBJECTIVES = 10
ROWS = "A line per row, such as a flight or a place: its name, and a column called participant."
ROWS_OF_ROUTING = (
    "A line per place, the depot first: its name, and columns called participant and demand."
)
COLUMNS = {
    "assignment": "A line per column, such as a slot: its name.",
    "capacitated": "A line per column: its name, and a column called capacity.",
    "routing": "A line per vehicle: its name, and a column called capacity.",
}
MASK = (
    "Columns across, rows down, as in the other tables: 1 where a row may not have a column, "
    "0 or nothing where it may."
)
MOST_UPLOADED = 16_000_000
DROPPED = """(event) => {
  event.preventDefault();
  event.currentTarget.classList.remove('over');
  const uploader = getElement(%d).$refs.qRef;
  if (event.dataTransfer.files.length) uploader.addFiles([event.dataTransfer.files[0]]);
}"""
OVER = "(event) => { event.preventDefault(); event.currentTarget.classList.add('over'); }"
LEFT = "(event) => event.currentTarget.classList.remove('over')"


class ProblemForm:
    """Three ways to a problem; `take` gets it, what its file says of rules, and if it is drawn."""

    def __init__(
        self,
        background: Background,
        take: Callable[[Problem, tuple[ObjectiveRule, ...], bool], None],
        /,
    ) -> None:
        self._take = take
        way = ui.toggle(WAYS, value="tables").props(
            'no-caps unelevated aria-label="Where the problem comes from"'
        )
        with ui.element("div") as tables:
            tables.bind_visibility_from(way, "value", value="tables")
            native("p", TABLES)
            TableForm(background, lambda problem: take(problem, (), False))
        with ui.element("div") as file:
            file.bind_visibility_from(way, "value", value="upload")
            self._upload: tuple[Problem, tuple[ObjectiveRule, ...]] | None = None
            zone = DropZone(background, uploaded, self._read, after=self._file_was_taken)
            zone.show("A problem file", FILE, ending=".json")
        with ui.element("div").classes("fields") as draw:
            draw.bind_visibility_from(way, "value", value="draw")
            self._draw_fields()

    def _read(self, found: tuple[Problem, tuple[ObjectiveRule, ...]]) -> str:
        self._upload = found
        problem, _ = found
        return f"it is about {problem.name!r}, {problem.rows} rows and {problem.columns} columns"

    def _file_was_taken(self) -> None:
        assert self._upload is not None
        self._take(*self._upload, False)

    def _draw_fields(self) -> None:
        kind = choice("Kind", KINDS, "delays")
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


class _ObjectiveLine:
    """The name and the sense of an objective."""

    def __init__(self, name: str, remove: Callable[[_ObjectiveLine], None] | None) -> None:
        with ui.element("div").classes("fields") as self.box:
            self.name = name_field("Name of the objective", name)
            self.sense = choice("Sense", SENSES, "minimize")
            if remove is not None:
                ui.button("Remove", on_click=lambda: remove(self)).props(
                    f'no-caps flat aria-label="Remove the objective {name}"'
                )

    @property
    def objective(self) -> Objective:
        # Its weights come later, sealed.
        name = str(self.name.value).strip()
        return Objective(name, None, sense=self.sense.value, weight_bound=USUAL_BOUND)


class TableForm:
    """Collects tables until they make a problem, which `take` gets."""

    def __init__(self, background: Background, take: Callable[[Problem], None], /) -> None:
        self._take, self._tables = take, Tables()
        self._objectives: list[_ObjectiveLine] = []
        with ui.element("div").classes("fields"):
            self._name = name_field("Name of the problem", "problem")
            self._kind = choice("Kind", KINDS_OF_TABLES, "assignment", self._kind_chosen)
        with ui.element("div").classes("drops"):
            self._rows = DropZone(background, read_table, self._take_rows)
            self._rows.show("Rows and their owners", ROWS, ending=".csv")
            self._columns = DropZone(background, read_table, self._take_columns)
            self._columns.show("Columns", COLUMNS["assignment"], ending=".csv")
            self._mask = DropZone(background, read_table, self._take_mask)
            self._mask.show("Who may not have what", MASK, ending=".csv")
        self._symmetric = ui.checkbox("Ways cost the same in both directions", value=True)
        native("h3", "Objectives")
        self._lines = ui.element("div")
        with self._lines:
            self._add("cost", first=True)
        with ui.element("div").classes("actions"):
            ui.button("Add an objective", on_click=self._add_another).props("no-caps outline")
            button("Use these tables", self._use, kind="main")
        self._kind_chosen()

    def _kind_chosen(self) -> None:
        kind = str(self._kind.value)
        places = kind in ("tour", "routing")
        self._columns.box.set_visibility(kind != "tour")
        self._mask.box.set_visibility(not places)
        self._symmetric.set_visibility(places)
        self._rows.explain(ROWS_OF_ROUTING if kind == "routing" else ROWS)
        if kind in COLUMNS:
            name = "Vehicles" if kind == "routing" else "Columns"
            self._columns.explain(COLUMNS[kind], name)

    def _take_rows(self, table: Table) -> str:
        owners = owners_of(table)
        self._tables.rows = table
        who = ", ".join(f"{each.name} ({number(len(each.rows))})" for each in owners[:8])
        more = f" and {len(owners) - 8} more" if len(owners) > 8 else ""
        return f"{number(len(table.names))} rows of {number(len(owners))} owners: {who}{more}"

    def _take_columns(self, table: Table) -> str:
        names = table.names
        self._tables.columns = table
        return f"{number(len(names))} of them, from {names[0]} to {names[-1]}"

    def _take_mask(self, table: Table) -> str:
        if self._tables.rows is None:
            raise ParameterError("give the rows first, so that their names can be looked up")
        named = self._tables.columns.names if self._tables.columns else list(table.heads[1:])
        mask = mask_of(table, self._tables.rows.names, named)
        self._tables.mask = table
        return f"{number(int(mask.sum()))} of {number(mask.size)} pairs are forbidden"

    def _add(self, name: str, *, first: bool = False) -> None:
        self._objectives.append(_ObjectiveLine(name, None if first else self._remove))

    def _add_another(self) -> None:
        if len(self._objectives) >= MOST_OBJECTIVES:
            show_problem(f"a run has {MOST_OBJECTIVES} objectives at most")
            return
        with self._lines:
            self._add(f"objective {len(self._objectives) + 1}")

    def _remove(self, line: _ObjectiveLine) -> None:
        self._objectives.remove(line)
        line.box.delete()

    async def _use(self) -> None:
        wrong = first_wrong([self._name, *(each.name for each in self._objectives)])
        if wrong is not None:
            focus_on(wrong)
            return
        self._tables.objectives = [each.objective for each in self._objectives]
        self._tables.symmetric = bool(self._symmetric.value)
        names = [each.name for each in self._tables.objectives]
        try:
            if len(set(names)) < len(names):
                raise ParameterError("two objectives have the same name; rename one")
            problem = problem_of_tables(
                str(self._name.value).strip(), str(self._kind.value), self._tables
            )
        except TacitError as error:
            show_problem(str(error))
            return
        self._take(problem)


class DropZone(Generic[T]):
    """Takes one file at a time: `read` reads it elsewhere, `take` says what was found in it."""

    def __init__(
        self,
        background: Background,
        read: Callable[[bytes], T],
        take: Callable[[T], str],
        /,
        *,
        after: Callable[[], None] = lambda: None,
    ) -> None:
        """`read` is a function of a module; `after` is called when a file was taken.

        A file that one of them refuses, by an error of tacit's, changes nothing.
        """
        self._background, self._read, self._take, self._after = background, read, take, after

    def show(self, title: str, explained: str, /, *, ending: str) -> None:
        """Make the zone; `ending` is that of files which are taken, such as .csv."""
        with ui.element("div").classes("drop") as self.box:
            self._title = native("strong", title)
            self._explained = native("p", explained).classes("hint")
            upload = ui.upload(
                auto_upload=True,
                max_file_size=MOST_UPLOADED,
                on_upload=self._uploaded,
                on_rejected=lambda: self._show_status(
                    f"This is no {ending} file, or is too large", False
                ),
            ).props(f'accept="{ending}"')
            # Its own buttons have no names for screen readers; this one has. Hidden by
            # style alone, since nothing can be uploaded to what is invisible to the server.
            upload.style("display: none")
            self._upload = upload
            self._choose = (
                ui.button(f"Choose a {ending} file")
                .props("no-caps outline")
                .on("click", js_handler=f"() => getElement({upload.id}).$refs.qRef.pickFiles()")
            )
            self._ending = ending
            self.explain(explained, title)
            native("span", "or drop it here").classes("hint")
            self._status = native("p").props('role="status"').classes("said")
            self._status.set_visibility(False)
        self.box.on("dragover", js_handler=OVER)
        self.box.on("dragleave", js_handler=LEFT)
        self.box.on("drop", js_handler=DROPPED % upload.id)

    def explain(self, text: str, title: str | None = None, /) -> None:
        self._explained.set_text(text)
        if title is not None:
            self._title.set_text(title)
            self._choose.props(f'aria-label="{title}: choose a {self._ending} file"')

    async def _uploaded(self, event: events.UploadEventArguments) -> None:
        # The same file can be dropped again once it was corrected.
        self._upload.reset()
        try:
            content = await event.file.read()
            found = await found_in(self._background, self._read, content)
            # Large tables take seconds, and the loop has other pages.
            status = await asyncio.to_thread(self._take, found)
        except TacitError as error:
            self._show_status(str(error), False)
            return
        self._show_status(status, True)
        # In the page, not in the thread: it builds the rest of the form.
        self._after()

    def _show_status(self, text: str, is_good: bool) -> None:
        self._status.set_visibility(True)
        self._status.set_text(sentence(text))
        self._status.classes(replace="said good" if is_good else "said problem")
        self._status.props(f'role="{"status" if is_good else "alert"}"')
