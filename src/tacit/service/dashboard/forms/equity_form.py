"""Whether a series keeps balances, and what is told of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nicegui import ui

from tacit.service.api.series_terms import EquitySettings
from tacit.service.dashboard.forms.number_fields import Field, whole_number

REFERENCES = {"first come": "First come, first served", "given": "A plan that each run gives"}
TOLD = {
    "nothing": "Nothing",
    "level": "What it saved, and its level",
    "balance": "What it saved, its level and balance",
}


class EquityForm:
    """Fields that begin with the rule of a series, if there is one to be copied."""

    def __init__(self, given: Mapping[str, Any] | None, /) -> None:
        usual = EquitySettings().model_dump()
        self._rule = {**usual, **(given or {})}
        self._on = ui.checkbox(
            "Over the runs, even out who gains (equity)", value=given is not None
        )
        with ui.element("div").classes("fields") as fields:
            self._levels = whole_number("Levels up to", self._rule["levels"], 1, 15)
            self._reference = self._choice("Savings count from", REFERENCES, "reference")
            self._told = self._choice("Each participant is told of itself", TOLD, "told")
            self._every = whole_number("Told in every so many-th run", self._rule["every"], 1, 1000)
        with ui.element("div").classes("checks") as checks:
            self._mean = ui.checkbox("Tell all what was saved on average", value=self._rule["mean"])
            self._spread = ui.checkbox(
                "Tell all how far apart balances are", value=self._rule["spread"]
            )
        for part in (fields, checks):
            part.bind_visibility_from(self._on, "value")

    def _choice(self, label: str, options: dict[str, str], name: str) -> ui.select:
        return ui.select(options, value=self._rule[name], label=label).props("outlined dense")

    @property
    def fields(self) -> list[Field]:
        """Those that may be wrong, if there is equity at all."""
        return [self._levels, self._every] if self._on.value else []

    def terms(self) -> dict[str, Any]:
        """What the API takes of it."""
        if not self._on.value:
            return {"equity": None}
        rule = {
            **self._rule,
            "levels": int(self._levels.value or 0),
            "every": int(self._every.value or 0),
            "reference": self._reference.value,
            "told": self._told.value,
            "mean": self._mean.value,
            "spread": self._spread.value,
        }
        return {"equity": rule}
