"""A problem from tables: three places for CSV files, and the objectives by name."""

from __future__ import annotations

from collections.abc import Callable

from nicegui import ui

from tacit.errors import ParameterError, TacitError
from tacit.problems import Problem
from tacit.service.dashboard.forms.drop_zone import DropZone
from tacit.service.dashboard.forms.number_fields import first_wrong
from tacit.service.dashboard.frame import button, focus_on, native, show_problem
from tacit.service.dashboard.tables import (
    KINDS,
    NewObjective,
    Tables,
    mask_of,
    owners_of,
    problem_of_tables,
    read_table,
)
from tacit.service.dashboard.words import number

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


class _ObjectiveLine:
    """The name and the sense of an objective."""

    def __init__(self, name: str, remove: Callable[[_ObjectiveLine], None] | None) -> None:
        with ui.element("div").classes("fields") as self.box:
            self.name = ui.input(
                "Name of the objective",
                value=name,
                validation=lambda text: None if (text or "").strip() else "Give a name",
            ).props('outlined dense maxlength="200"')
            self.sense = ui.select(SENSES, value="minimize", label="Sense").props("outlined dense")
            if remove is not None:
                ui.button("Remove", on_click=lambda: remove(self)).props(
                    f'no-caps flat aria-label="Remove the objective {name}"'
                )

    @property
    def objective(self) -> NewObjective:
        return NewObjective(str(self.name.value).strip(), self.sense.value)


class TableForm:
    """Collects tables until they make a problem, which `take` gets."""

    def __init__(self, take: Callable[[Problem], None], /) -> None:
        self._take, self._tables = take, Tables()
        self._objectives: list[_ObjectiveLine] = []
        with ui.element("div").classes("fields"):
            self._name = ui.input(
                "Name of the problem",
                value="problem",
                validation=lambda text: None if (text or "").strip() else "Give a name",
            ).props('outlined dense maxlength="200"')
            self._kind = ui.select(
                KINDS, value="assignment", label="Kind", on_change=self._kind_chosen
            ).props("outlined dense")
        with ui.element("div").classes("drops"):
            self._rows = DropZone("Rows and their owners", ROWS, self._take_rows, ending=".csv")
            self._columns = DropZone(
                "Columns", COLUMNS["assignment"], self._take_columns, ending=".csv"
            )
            self._mask = DropZone("Who may not have what", MASK, self._take_mask, ending=".csv")
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

    def _take_rows(self, content: bytes) -> str:
        table = read_table(content)
        owners = owners_of(table)
        self._tables.rows = table
        who = ", ".join(f"{each.name} ({number(len(each.rows))})" for each in owners[:8])
        more = f" and {len(owners) - 8} more" if len(owners) > 8 else ""
        return f"{number(len(table.names))} rows of {number(len(owners))} owners: {who}{more}"

    def _take_columns(self, content: bytes) -> str:
        table = read_table(content)
        names = table.names
        self._tables.columns = table
        return f"{number(len(names))} of them, from {names[0]} to {names[-1]}"

    def _take_mask(self, content: bytes) -> str:
        if self._tables.rows is None:
            raise ParameterError("give the rows first, so that their names can be looked up")
        table = read_table(content)
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
