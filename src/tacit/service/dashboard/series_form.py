"""Fill in what a series has besides its run: how often, how long, what varies, equity."""

from __future__ import annotations

import re
from typing import Any

from msgspec.structs import replace
from nicegui import ui

from tacit.audit import told_by_plans
from tacit.client import (
    EquitySettings,
    Part,
    RunTerms,
    ScheduleTerms,
    SeriesTerms,
    VaryingTerms,
    checked,
)
from tacit.disclosure import SEALED
from tacit.service.dashboard.fields import (
    Field,
    choice,
    first_wrong,
    number_field,
    optional_number,
    whole_number,
)
from tacit.service.dashboard.frame import native
from tacit.service.dashboard.rules_form import PLAN_FOR
from tacit.service.workflow.series import varying_of

REFERENCES = {"first come": "First come, first served", "given": "A plan that each run gives"}
TOLD = {
    "nothing": "Nothing",
    "level": "What it saved, and its level",
    "balance": "What it saved, its level and balance",
}
STARTS = {
    "asked": "When an operator starts them",
    "every": "Every so many minutes",
    "at": "At times of day",
}
PARTS: dict[Part, str] = {
    "rows": "Rows",
    "columns": "Columns",
    "forbidden": "Forbidden pairs",
    "data": "Capacities and the like",
}
SIZES = {
    "least_rows": ("Rows at least", "half"),
    "most_rows": ("Rows at most", "twice"),
    "least_columns": ("Columns at least", "half"),
    "most_columns": ("Columns at most", "twice"),
    "least_allowed": ("Columns open to each row, at least", "half"),
    "most_mask_changes": ("Pairs of a row forbidden otherwise than here, at most", "1/16"),
    "least_participants": ("Participants at least", "all"),
}
ADVISED_RUNS = 100
"""After so many runs the advice is given."""
LARGEST = (1 << 16) - 1
TIMES = re.compile(r"(?:[01][0-9]|2[0-3]):[0-5][0-9]")


def times_of(text: str, /) -> list[str]:
    """Times of day in a text.

    >>> times_of("06:30, 18:00")
    ['06:30', '18:00']
    """
    return [part for part in re.split(r"[\s,;]+", text) if part]


def wrong_times(text: str | None, /) -> str | None:
    """Return what is wrong with times of day, or nothing.

    >>> wrong_times("6:30"), wrong_times("06:30 18:00")
    ('6:30 is no time of day; write it as 06:30', None)
    """
    times = times_of(text or "")
    wrong = next((each for each in times if TIMES.fullmatch(each) is None), None)
    if wrong is not None:
        return f"{wrong} is no time of day; write it as 06:30"
    return None if times else "Give a time, such as 06:30"


def advice(run: RunTerms, varying: VaryingTerms, /) -> str:
    """Say what the plans of runs that differ tell together, and what to choose instead.

    >>> from tacit.client import ProblemTerms, RunObjective
    >>> problem = ProblemTerms(name="slots", kind="assignment", rows=20, columns=20)
    >>> pay = RunObjective(name="pay", sense="maximize", weight_bound=9)
    >>> run = RunTerms(
    ...     name="slots", problem=problem, objectives=[pay], participants={"a": [0]},
    ...     deadline_seconds=5,
    ... )
    >>> re.findall(r"0.[0-9]+", advice(run, VaryingTerms(parts=["forbidden"])))
    ['0.73', '0.28']
    >>> advice(replace(run, plan="owners"), VaryingTerms(parts=["forbidden"]))
    ''
    """
    if run.plan == "owners" or any(each.disclosure != SEALED for each in run.objectives):
        return ""
    made = varying_of(varying, run.problem)
    one, many = (
        told_by_plans(count, masks=made.mask_part, sizes=made.size_part)
        for count in (1, ADVISED_RUNS)
    )
    if one == many:
        return ""
    return (
        f"If costs stay the same, the plans of {ADVISED_RUNS} such runs tell the platform up to "
        f"{many:.2f} of them, where one tells {one:.2f}: for runs as different as may be, chosen "
        f"to learn them. Take {PLAN_FOR['owners']!r} under 'Who learns the plan', and it gets no "
        "plan; or let less differ."
    )


class EquityForm:
    """Fields that begin with the rule of a series, if there is one to be copied."""

    def __init__(self, given: EquitySettings | None, /) -> None:
        self._rule = given or EquitySettings()
        self._on = ui.checkbox(
            "Over the runs, even out who gains (equity)", value=given is not None
        )
        with ui.element("div").classes("fields") as fields:
            self._levels = whole_number("Levels up to", self._rule.levels, 1, 15)
            self._reference = self._choice("Savings count from", REFERENCES, "reference")
            self._told = self._choice("Each participant is told of itself", TOLD, "told")
            self._every = whole_number("Told in every so many-th run", self._rule.every, 1, 1000)
        with ui.element("div").classes("checks") as checks:
            self._mean = ui.checkbox("Tell all what was saved on average", value=self._rule.mean)
            self._spread = ui.checkbox(
                "Tell all how far apart balances are", value=self._rule.spread
            )
        for part in (fields, checks):
            part.bind_visibility_from(self._on, "value")

    def _choice(self, label: str, options: dict[str, str], name: str) -> ui.select:
        return choice(label, options, getattr(self._rule, name))

    @property
    def fields(self) -> list[Field]:
        return [self._levels, self._every] if self._on.value else []

    def rule(self) -> EquitySettings | None:
        if not self._on.value:
            return None
        return replace(
            self._rule,
            levels=int(self._levels.value or 0),
            every=int(self._every.value or 0),
            reference=self._reference.value,
            told=self._told.value,
            mean=bool(self._mean.value),
            spread=bool(self._spread.value),
        )


class SeriesForm:
    """Fields that begin with the terms of a series, if there is one to be copied."""

    def __init__(self, terms: SeriesTerms | None = None, /) -> None:
        schedule = None if terms is None else terms.schedule
        with ui.element("div").classes("fields"):
            self._per_day = whole_number(
                "Runs per day at most", 1 if terms is None else terms.runs_per_day, 1, 1440
            )
            self._days = number_field(
                "Days that the series stands", 90 if terms is None else terms.days, 0.01, 365
            )
            self._hours = number_field(
                "Hours for costs and search", 24 if terms is None else terms.run_hours, 0.01, 168
            )
            minutes = None if schedule is None else schedule.every_minutes
            starts = "asked" if schedule is None else "at" if minutes is None else "every"
            self._starts = choice("Runs start", STARTS, starts)
            self._minutes = whole_number("Minutes between runs", minutes or 1440, 1, 7 * 1440)
            self._minutes.bind_visibility_from(self._starts, "value", value="every")
            self._times = ui.input(
                "Times of day (UTC)",
                value="" if schedule is None else ", ".join(schedule.at),
                validation=wrong_times,
            ).props('outlined dense hint="such as 06:30, 18:00"')
            self._times.bind_visibility_from(self._starts, "value", value="at")
        self._equity = EquityForm(None if terms is None else terms.equity)
        self._run: RunTerms | None = None
        self._varying_fields(VaryingTerms() if terms is None else terms.varying)
        self._advice = native("p").classes("hint")

    def _varying_fields(self, given: VaryingTerms) -> None:
        native("h3", "What may differ from run to run")
        self._parts: dict[Part, ui.checkbox] = {}
        with ui.element("div").classes("checks"):
            for part, text in PARTS.items():
                self._parts[part] = ui.checkbox(text, value=part in given.parts)
                self._parts[part].on_value_change(lambda: self.advise(self._run))
        self._sizes: dict[str, ui.number] = {}
        with ui.element("div").classes("fields"):
            for name, (label, usual) in SIZES.items():
                field = optional_number(label, getattr(given, name), usual, LARGEST)
                field.on_value_change(lambda: self.advise(self._run))
                self._sizes[name] = field
            self._own = whole_number(
                "Rows of each participant, at least", given.least_each, 1, LARGEST
            )

    def wrong_field(self) -> Field | None:
        sizes = self._sizes.values()
        mine: list[Field] = [self._per_day, self._days, self._hours, self._minutes, self._times]
        return first_wrong([*mine, *self._equity.fields, *sizes, self._own])

    def advise(self, run: RunTerms | None, /) -> None:
        """Say what plans of runs that differ add up to, if this is the pattern."""
        self._run = run
        self._advice.text = "" if run is None else advice(run, self._varying())

    def _varying(self) -> VaryingTerms:
        sizes: dict[str, Any] = {
            name: int(field.value)
            for name, field in self._sizes.items()
            # No change of masks at all is a choice, no rows or columns at all is none.
            if field.value or (field.value == 0 and name == "most_mask_changes")
        }
        return VaryingTerms(
            parts=[part for part, box in self._parts.items() if box.value],
            least_each=int(self._own.value or 1),
            **sizes,
        )

    def terms(self, run: RunTerms, /) -> SeriesTerms:
        """Return a series with this run as its pattern. Raise an error if it does not fit."""
        schedule = None
        if self._starts.value == "every":
            schedule = ScheduleTerms(every_minutes=int(self._minutes.value or 0))
        elif self._starts.value == "at":
            schedule = ScheduleTerms(at=times_of(str(self._times.value or "")))
        # The fields were checked one by one; this checks what they say together.
        return checked(
            SeriesTerms(
                name=run.name,
                run=run,
                varying=self._varying(),
                runs_per_day=int(self._per_day.value or 0),
                run_hours=float(self._hours.value or 0),
                days=float(self._days.value or 0),
                schedule=schedule,
                equity=self._equity.rule(),
            )
        )
