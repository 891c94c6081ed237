"""Creating, changing and copying a run or a series: a problem, then the rules."""

from __future__ import annotations

import unicodedata
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any

from nicegui import ui

from tacit.errors import TacitError
from tacit.problems import Problem
from tacit.service.dashboard.api_client import RefusedError
from tacit.service.dashboard.drafts import costs_archive, has_weights
from tacit.service.dashboard.forms.number_fields import Field
from tacit.service.dashboard.forms.problem_form import ProblemForm
from tacit.service.dashboard.forms.rules_form import RulesForm
from tacit.service.dashboard.forms.series_form import SeriesForm
from tacit.service.dashboard.frame import (
    Visitor,
    button,
    focus_on,
    html,
    native,
    page_frame,
    section,
    show_problem,
)
from tacit.service.dashboard.pages.run_actions import show_invitations
from tacit.service.dashboard.pages.run_parts import table
from tacit.service.dashboard.rules import (
    ObjectiveRule,
    Rules,
    account_name,
    draft_of_terms,
    run_terms,
    usual_rules,
    with_signed,
)
from tacit.service.dashboard.words import exact_number, number

SIGNED = (
    "A run of a series: its problem, its owners, its name, its deadline and its evaluations can be "
    "changed, as far as the series allows. All have signed the rest, which stays as it is."
)


@dataclass(frozen=True)
class Purpose:
    """What becomes of the terms when they are filled in."""

    title: str
    do: str
    """The text of the button."""
    send: Callable[[dict[str, Any]], Awaitable[str]]
    """Does it, and says where to go then."""
    here: str = ""
    series: Callable[[], SeriesForm] | None = None
    """Makes the fields of a series, where the run is a pattern for one."""
    kept: Mapping[str, Any] = field(default_factory=dict)
    """The terms of the run that is copied or changed: what no field is about stays as it is."""
    is_signed: bool = False
    """Whether it is a run of a series, which has signed most of the terms."""


async def new_run_page(visitor: Visitor, /) -> None:
    """The page that creates a run."""
    await _page(visitor, Purpose("New run", "Create the run", _created(visitor), here="/new"))


async def copy_run_page(visitor: Visitor, run: dict[str, Any], /) -> None:
    """The page that creates a run like another one."""
    title = f"Copy of {run['name']}"
    purpose = Purpose(title, "Create the run", _created(visitor), kept=run["terms"])
    problem, rules = await _draft_of(visitor, run)
    await _page(visitor, purpose, problem, replace(rules, name=f"{rules.name[:190]} (copy)"))


async def edit_run_page(visitor: Visitor, run: dict[str, Any], /) -> None:
    """The page that changes a draft."""

    async def send(terms: dict[str, Any]) -> str:
        await visitor.api.put(f"/runs/{run['id']}", terms)
        return f"/runs/{run['id']}"

    title, signed = f"Edit {run['name']}", run["series"] is not None
    purpose = Purpose(title, "Save", send, kept=run["terms"], is_signed=signed)
    await _page(visitor, purpose, *await _draft_of(visitor, run))


async def new_series_page(visitor: Visitor, /) -> None:
    """The page that creates a series."""
    await _page(visitor, _series_purpose(visitor, "New series", None, here="/series"))


async def series_of_run_page(visitor: Visitor, run: dict[str, Any], /) -> None:
    """The page that creates a series of runs like one."""
    purpose = _series_purpose(visitor, f"A series of {run['name']}", None)
    purpose = replace(purpose, kept=run["terms"])
    await _page(visitor, purpose, *await _draft_of(visitor, run))


async def copy_series_page(visitor: Visitor, series: dict[str, Any], /) -> None:
    """The page that creates a series like another one."""
    terms = series["terms"]
    purpose = _series_purpose(visitor, f"Copy of {series['name']}", terms)
    purpose = replace(purpose, kept=terms["run"])
    weights = {str(k): each["weights"] for k, each in enumerate(terms["run"]["objectives"])}
    problem, rules = draft_of_terms(terms["run"], weights)
    await _page(visitor, purpose, problem, replace(rules, name=f"{series['name'][:190]} (copy)"))


def _created(visitor: Visitor) -> Callable[[dict[str, Any]], Awaitable[str]]:
    async def send(terms: dict[str, Any]) -> str:
        made = await visitor.api.post("/runs", terms)
        return f"/runs/{made['id']}"

    return send


def _series_purpose(
    visitor: Visitor, title: str, terms: dict[str, Any] | None, *, here: str = ""
) -> Purpose:
    async def send(asked: dict[str, Any]) -> str:
        made = await visitor.api.post("/series", asked)
        await show_invitations(made["invitations"])
        return f"/series/{made['id']}"

    do = "Create the series and invite"
    return Purpose(title, do, send, here=here, series=lambda: SeriesForm(terms))


async def _draft_of(visitor: Visitor, run: dict[str, Any]) -> tuple[Problem, Rules]:
    public: dict[str, Any] = {}
    if not all(each["confidential"] for each in run["terms"]["objectives"]):
        public = (await visitor.api.get(f"/runs/{run['id']}/public-weights"))["objectives"]
    return draft_of_terms(run["terms"], public)


async def _page(
    visitor: Visitor, purpose: Purpose, problem: Problem | None = None, rules: Rules | None = None
) -> None:
    clusters = await visitor.api.get("/clusters")
    nodes = max((len(each["nodes"]) for each in clusters), default=3)
    with page_frame(purpose.title, visitor, here=purpose.here):
        native("h1", purpose.title)
        _DraftPage(purpose, nodes, problem, rules)


class _DraftPage:
    def __init__(
        self, purpose: Purpose, nodes: int, problem: Problem | None, rules: Rules | None
    ) -> None:
        self._purpose, self._nodes, self._rules_then = purpose, nodes, rules
        self._kept = purpose.kept
        with section("1. The problem"):
            if problem is None:
                ProblemForm(self._taken)
            else:
                native("p", "It is the problem of what you copy or change, as shown below.")
                with ui.element("details").classes("more-fields"):
                    native("summary", "Take another problem")
                    ProblemForm(self._taken)
        self._rest = ui.element("div")
        if problem is not None and rules is not None:
            self._show(problem, rules, is_drawn=False, was_file=False)

    def _taken(self, problem: Problem, named: tuple[ObjectiveRule, ...], is_drawn: bool, /) -> None:
        rules = usual_rules(problem, named)
        if self._purpose.is_signed:
            # Of the objectives and rules that a file brings none counts; those are signed.
            drawn = run_terms(problem, rules)
            new = {name: drawn[name] for name in ("problem", "participants")}
            problem, rules = draft_of_terms({**self._kept, **new}, {})
            self._show(problem, rules, is_drawn=is_drawn, was_file=not is_drawn)
            return
        self._kept = {}
        if self._rules_then is not None:
            # Whoever changes the problem of a run keeps its name, its time and its limits.
            kept = ("name", "deadline_seconds", "evaluations", "expiry_hours", "on_loss")
            rules = replace(rules, **{name: getattr(self._rules_then, name) for name in kept})
        self._show(problem, rules, is_drawn=is_drawn, was_file=not is_drawn)

    def _show(self, problem: Problem, rules: Rules, *, is_drawn: bool, was_file: bool) -> None:
        self._rest.clear()
        with self._rest:
            with section("2. What everybody will know"):
                _summary(problem, is_drawn=is_drawn, was_file=was_file)
            with section("3. The rules"):
                what = "run" if self._purpose.series is None else "series"
                if self._purpose.is_signed:
                    native("p", SIGNED).classes("hint")
                form = RulesForm(problem, rules, nodes=self._nodes, named=what)
                if self._purpose.is_signed:
                    form.leave_as_signed()
                if self._purpose.series is None:
                    button(self._purpose.do, lambda: self._send(problem, form), kind="main")
            if self._purpose.series is not None:
                with section("4. The series"):
                    series = self._purpose.series()
                    button(self._purpose.do, lambda: self._send(problem, form, series), kind="main")

    async def _send(
        self, problem: Problem, form: RulesForm, series: SeriesForm | None = None
    ) -> None:
        wrong = form.wrong_field() or (series.wrong_field() if series is not None else None)
        if wrong is not None:
            focus_on(wrong)
            return
        try:
            terms = {**self._kept, **run_terms(problem, form.rules())}
            if self._purpose.is_signed:
                terms = with_signed(terms, self._kept)
            where = await self._purpose.send(terms if series is None else series.terms(terms))
        except RefusedError as error:
            if error.status != 422:
                raise
            _say_refusal(error.message, form.field_of(error.message))
        except TacitError as error:
            _say_refusal(str(error), form.field_of(str(error)))
        else:
            ui.navigate.to(where)


def _say_refusal(text: str, field: Field | None) -> None:
    """At the field that it is about, or for the whole page."""
    if field is None:
        show_problem(text)
        return
    field.error = text[:1].upper() + text[1:]
    focus_on(field)


def _summary(problem: Problem, *, is_drawn: bool, was_file: bool) -> None:
    size = f"{number(problem.rows)} rows and {number(problem.columns)} columns"
    native("p", f"{problem.name}: {problem.kind} of {size}. {forbidden_words(problem)}")
    html(objectives_table(problem))
    if has_weights(problem) and was_file:
        native(
            "p",
            "This file held costs. They were dropped and are not stored; each participant submits "
            "its own.",
        ).classes("problem")
    html(participants_table(problem))
    if is_drawn:
        native("p", "The drawn costs are for trying things out. Hand each participant its own.")
        ui.button(
            "Download the drawn costs (zip)",
            on_click=lambda: ui.download.content(
                costs_archive(problem), f"{problem.name}-costs.zip"
            ),
        ).props("no-caps outline")


def forbidden_words(problem: Problem, /) -> str:
    """How many pairs are forbidden, in a sentence."""
    if problem.forbidden is None or not problem.forbidden.any():
        return "Every row may have every column." if not problem.between_places else ""
    count = number(int(problem.forbidden.sum()))
    return f"{count} of {number(problem.forbidden.size)} pairs are forbidden."


def objectives_table(problem: Problem, /) -> str:
    """What everybody will know of each objective."""
    rows = [
        [
            escape(each.name),
            escape(each.sense),
            "confidential" if each.confidential else "public, with its weights",
            f"0 to {exact_number(each.weight_bound, each.scale)}",
            exact_number(1, each.scale),
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
