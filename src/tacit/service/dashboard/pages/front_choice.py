"""Choosing a plan of several: in a picture, by mouse or by keys, with the chosen one beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from nicegui import events, ui

from tacit.client import Plan, RunObjective
from tacit.service.dashboard.frame import html, native
from tacit.service.dashboard.front_picture import (
    Axis,
    front_legend,
    front_svg,
    front_tiles,
    known_objectives,
    plan_words,
)

CLICKED = """(event) => {
  const plan = event.target.closest('[data-plan]');
  if (plan) emit(Number(plan.dataset.plan));
}"""
KEYS = {
    "ArrowRight": 1,
    "ArrowUp": 1,
    "ArrowLeft": -1,
    "ArrowDown": -1,
    "PageUp": 10,
    "PageDown": -10,
}
PRESSED = """(event) => {
  if (!%s.includes(event.key)) return;
  event.preventDefault();
  emit(event.key);
}""" % [*KEYS, "Home", "End"]


class Numbered(NamedTuple):
    """A plan with its number in the result, by which everybody calls it."""

    number: int
    plan: Plan

    def value(self, objective: int) -> float:
        """Its own value for an objective of which all are known."""
        value = (self.plan.values or [])[objective]
        assert value is not None
        return value


def in_order(plans: list[Numbered], across: int | None, /) -> list[Numbered]:
    """From left to right, so that keys move along the front."""
    if across is None:
        return plans
    return sorted(plans, key=lambda each: each.value(across))


class FrontChoice:
    """The plans as a picture or as tiles, of which one is picked; `show` draws that one."""

    def __init__(
        self, plans: list[Plan], objectives: Sequence[RunObjective], show: Callable[[Plan], str], /
    ) -> None:
        known = known_objectives(plans)
        self._objectives, self._show = objectives, show
        self._axes = known[:2] if len(known) > 1 else []
        # Along the front plans stand in another order than in the result, and keep its numbers.
        numbered = [Numbered(number, plan) for number, plan in enumerate(plans, 1)]
        self._plans = in_order(numbered, self._axes[0] if self._axes else None)
        self._picked = self._plans.index(numbered[0])
        with ui.element("div").classes("front-and-plan"):
            with ui.element("div"):
                if len(known) > 2:
                    self._axis_choices(known)
                self._place()
                html(front_legend(drawn=bool(self._axes)))
                if not self._axes:
                    native("p", "There is no picture of them: not all values were disclosed.")
            with ui.element("div"):
                self._words = native("p").classes("picked-words").props('role="status"')
                self._shown = html()
        self._draw()

    def _place(self) -> None:
        # What is chosen along a line is a slider to those who do not see it.
        self._box = ui.element("div").classes("front-box")
        self._box.props(
            f'role="slider" tabindex="0" aria-label="Choose a plan" aria-valuemin="1" '
            f'aria-valuemax="{len(self._plans)}"'
        )
        self._box.on("click", self._clicked, js_handler=CLICKED)
        self._box.on("keydown", self._pressed, js_handler=PRESSED)
        with self._box:
            self._picture = html()

    def _axis_choices(self, known: list[int]) -> None:
        names = {k: self._objectives[k].name for k in known}

        def choose(side: int) -> Callable[[events.ValueChangeEventArguments[Any]], None]:
            def chosen(event: events.ValueChangeEventArguments[Any]) -> None:
                self._axes[side] = int(event.value)
                plan = self._plans[self._picked]
                self._plans = in_order(self._plans, self._axes[0])
                self._picked = self._plans.index(plan)
                self._draw()

            return chosen

        with ui.element("div").classes("fields"):
            for side, label in enumerate(("Across", "Up")):
                ui.select(names, value=self._axes[side], label=label, on_change=choose(side)).props(
                    "outlined dense"
                )

    def _clicked(self, event: events.GenericEventArguments) -> None:
        self._pick(int(event.args))

    def _pressed(self, event: events.GenericEventArguments) -> None:
        last = len(self._plans) - 1
        ends = {"Home": 0, "End": last}
        to = ends.get(event.args, self._picked + KEYS.get(event.args, 0))
        self._pick(min(max(to, 0), last))

    def _pick(self, plan: int) -> None:
        if plan != self._picked and 0 <= plan < len(self._plans):
            self._picked = plan
            self._draw()

    def _draw(self) -> None:
        number, plan = self._plans[self._picked]
        words = plan_words(plan, self._objectives, number, len(self._plans))
        self._box.props["aria-valuenow"] = str(self._picked + 1)
        self._box.props["aria-valuetext"] = words
        self._words.set_text(f"{words}.")
        self._shown.set_content(self._show(plan))
        if not self._axes:
            self._picture.set_content(
                front_tiles([each.plan for each in self._plans], self._picked)
            )
            return
        across, up = (
            Axis(
                self._objectives[k].name,
                self._objectives[k].sense,
                [each.value(k) for each in self._plans],
            )
            for k in self._axes
        )
        numbers = [each.number for each in self._plans]
        self._picture.set_content(front_svg(across, up, self._picked, numbers))
