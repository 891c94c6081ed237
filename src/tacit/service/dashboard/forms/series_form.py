"""What a series has besides the run that is its pattern: how often, for how long, what varies."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from nicegui import ui
from pydantic import ValidationError

from tacit.errors import ParameterError
from tacit.service.api.series_terms import USUALLY_VARY, SeriesTerms
from tacit.service.dashboard.forms.equity_form import EquityForm
from tacit.service.dashboard.forms.number_fields import (
    Field,
    first_wrong,
    number_field,
    optional_number,
    whole_number,
)
from tacit.service.dashboard.frame import native
from tacit.service.dashboard.refusals import plain_refusal

STARTS = {
    "asked": "When an operator starts them",
    "every": "Every so many minutes",
    "at": "At times of day",
}
PARTS = {
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
    "least_participants": ("Participants at least", "all"),
}
LARGEST = (1 << 16) - 1
TIMES = re.compile(r"(?:[01][0-9]|2[0-3]):[0-5][0-9]")


def times_of(text: str, /) -> list[str]:
    """Times of day in a text.

    >>> times_of("06:30, 18:00")
    ['06:30', '18:00']
    """
    return [part for part in re.split(r"[\s,;]+", text) if part]


def wrong_times(text: str | None, /) -> str | None:
    """What is wrong with times of day, or nothing.

    >>> wrong_times("6:30"), wrong_times("06:30 18:00")
    ('6:30 is no time of day; write it as 06:30', None)
    """
    times = times_of(text or "")
    wrong = next((each for each in times if TIMES.fullmatch(each) is None), None)
    if wrong is not None:
        return f"{wrong} is no time of day; write it as 06:30"
    return None if times else "Give a time, such as 06:30"


class SeriesForm:
    """Fields that begin with the terms of a series, if there is one to be copied."""

    def __init__(self, terms: Mapping[str, Any] | None = None, /) -> None:
        given = terms or {}
        schedule, varying = given.get("schedule") or {}, given.get("varying") or {}
        with ui.element("div").classes("fields"):
            self._per_day = whole_number(
                "Runs per day at most", given.get("runs_per_day", 1), 1, 1440
            )
            self._days = number_field(
                "Days that the series stands", given.get("days", 90), 0.01, 365
            )
            self._hours = number_field(
                "Hours for costs and search", given.get("run_hours", 24), 0.01, 168
            )
            starts = "every" if schedule.get("every_minutes") else "at" if schedule else "asked"
            self._starts = ui.select(STARTS, value=starts, label="Runs start").props(
                "outlined dense"
            )
            self._minutes = whole_number(
                "Minutes between runs", schedule.get("every_minutes") or 1440, 1, 7 * 1440
            )
            self._minutes.bind_visibility_from(self._starts, "value", value="every")
            self._times = ui.input(
                "Times of day (UTC)",
                value=", ".join(schedule.get("at") or []),
                validation=wrong_times,
            ).props('outlined dense hint="such as 06:30, 18:00"')
            self._times.bind_visibility_from(self._starts, "value", value="at")
        self._equity = EquityForm(given.get("equity"))
        self._varying_fields(varying)

    def _varying_fields(self, given: Mapping[str, Any]) -> None:
        native("h3", "What may differ from run to run")
        parts = given.get("parts", USUALLY_VARY)
        self._parts: dict[str, ui.checkbox] = {}
        with ui.element("div").classes("checks"):
            for part, text in PARTS.items():
                self._parts[part] = ui.checkbox(text, value=part in parts)
        self._sizes: dict[str, ui.number] = {}
        with ui.element("div").classes("fields"):
            for name, (label, usual) in SIZES.items():
                self._sizes[name] = optional_number(label, given.get(name), usual, LARGEST)
            self._allowed = whole_number(
                "Columns open to each row, at least", given.get("least_allowed", 1), 1, LARGEST
            )
            self._own = whole_number(
                "Rows of each participant, at least", given.get("least_each", 1), 1, LARGEST
            )

    def wrong_field(self) -> Field | None:
        """The first field that is wrong."""
        sizes = self._sizes.values()
        mine: list[Field] = [self._per_day, self._days, self._hours, self._minutes, self._times]
        return first_wrong([*mine, *self._equity.fields, *sizes, self._allowed, self._own])

    def terms(self, run: dict[str, Any], /) -> dict[str, Any]:
        """What the API takes as a series with this run as its pattern."""
        sizes = {name: int(field.value) for name, field in self._sizes.items() if field.value}
        schedule: dict[str, Any] | None = None
        if self._starts.value == "every":
            schedule = {"every_minutes": int(self._minutes.value or 0)}
        elif self._starts.value == "at":
            schedule = {"at": times_of(str(self._times.value or ""))}
        terms = {
            "name": run["name"],
            "run": run,
            "varying": {
                "parts": [part for part, box in self._parts.items() if box.value],
                "least_allowed": int(self._allowed.value or 1),
                "least_each": int(self._own.value or 1),
                **sizes,
            },
            "runs_per_day": int(self._per_day.value or 0),
            "run_hours": float(self._hours.value or 0),
            "days": float(self._days.value or 0),
            "schedule": schedule,
            **self._equity.terms(),
        }
        try:
            SeriesTerms.model_validate(terms)
        except ValidationError as error:
            raise ParameterError(plain_refusal(error)) from None
        return terms
