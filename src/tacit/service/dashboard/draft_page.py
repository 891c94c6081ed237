"""Create, change and copy a run or a series: first the problem, then the rules."""

from __future__ import annotations

import unicodedata
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from html import escape

from msgspec.structs import replace
from nicegui import ui

from tacit.client import ClusterView, PublicWeights, RunTerms, RunView, SeriesTerms, SeriesView
from tacit.errors import ServiceError, TacitError
from tacit.problems import Problem
from tacit.service.background import Background
from tacit.service.dashboard.drafts import (
    ObjectiveRule,
    costs_archive,
    draft_of_terms,
    has_weights,
    nearest_account_name,
    usual_terms,
    with_signed,
)
from tacit.service.dashboard.fields import Field
from tacit.service.dashboard.frame import (
    Visitor,
    button,
    focus_on,
    html,
    native,
    page_frame,
    section,
    show_problem,
    table,
)
from tacit.service.dashboard.problem_form import ProblemForm
from tacit.service.dashboard.rules_form import RulesForm
from tacit.service.dashboard.run_page import show_invitations
from tacit.service.dashboard.series_form import SeriesForm
from tacit.service.dashboard.words import exact_number, number

SIGNED = (
    "A run of a series: its problem, its owners, its name, its deadline and its evaluations can be "
    "changed, as far as the series allows. All have signed the rest, which stays as it is."
)


@dataclass(frozen=True)
class Purpose:
    """What becomes of the terms when they are filled in."""

    title: str
    button: str
    """The text of the button."""
    send: Callable[[RunTerms], Awaitable[str]]
    """Does it, and says where to go then."""
    here: str = ""
    series: Callable[[], SeriesForm] | None = None
    """Makes the fields of a series, where the run is a pattern for one."""
    send_series: Callable[[SeriesTerms], Awaitable[str]] | None = None
    """Does the same with a series."""
    signed: RunTerms | None = None
    """Of a run of a series, the terms as they are, most of which are signed with it."""


async def new_run_page(visitor: Visitor, /) -> None:
    await _page(visitor, Purpose("New run", "Create the run", _created(visitor), here="/new"))


async def copy_run_page(visitor: Visitor, run: RunView, /) -> None:
    purpose = Purpose(f"Copy of {run.name}", "Create the run", _created(visitor))
    problem, terms = await _draft_of(visitor, run)
    await _page(visitor, purpose, problem, replace(terms, name=f"{terms.name[:190]} (copy)"))


async def edit_run_page(visitor: Visitor, run: RunView, /) -> None:
    async def send(terms: RunTerms) -> str:
        await visitor.api.put(f"/runs/{run.id}", terms, RunView)
        return f"/runs/{run.id}"

    # All have signed most of these terms with the series, so the form must not change them.
    signed = None if run.series is None else run.terms
    purpose = Purpose(f"Edit {run.name}", "Save", send, signed=signed)
    await _page(visitor, purpose, *await _draft_of(visitor, run))


async def new_series_page(visitor: Visitor, /) -> None:
    await _page(visitor, _series_purpose(visitor, "New series", None, here="/series"))


async def series_of_run_page(visitor: Visitor, run: RunView, /) -> None:
    purpose = _series_purpose(visitor, f"A series of {run.name}", None)
    await _page(visitor, purpose, *await _draft_of(visitor, run))


async def copy_series_page(visitor: Visitor, series: SeriesView, /) -> None:
    purpose = _series_purpose(visitor, f"Copy of {series.name}", series.terms)
    problem, terms = draft_of_terms(series.terms.run)
    await _page(visitor, purpose, problem, replace(terms, name=f"{series.name[:190]} (copy)"))


def _created(visitor: Visitor) -> Callable[[RunTerms], Awaitable[str]]:
    async def send(terms: RunTerms) -> str:
        return f"/runs/{(await visitor.api.post('/runs', terms, RunView)).id}"

    return send


def _series_purpose(
    visitor: Visitor, title: str, terms: SeriesTerms | None, *, here: str = ""
) -> Purpose:
    async def send(asked: SeriesTerms) -> str:
        series = await visitor.api.post("/series", asked, SeriesView)
        await show_invitations(series.invitations)
        return f"/series/{series.id}"

    do = "Create the series and invite"
    return Purpose(
        title, do, _created(visitor), here=here, series=lambda: SeriesForm(terms), send_series=send
    )


async def _draft_of(visitor: Visitor, run: RunView) -> tuple[Problem, RunTerms]:
    # Views of runs come without public weights, which may be large; a copy needs them.
    terms = run.terms
    if len(terms.confidential) < len(terms.objectives):
        public = await visitor.api.get(f"/runs/{run.id}/public-weights", PublicWeights)
        terms = public.filled_in(terms)
    return draft_of_terms(terms)


async def _page(
    visitor: Visitor,
    purpose: Purpose,
    problem: Problem | None = None,
    terms: RunTerms | None = None,
) -> None:
    clusters = await visitor.api.get("/clusters", list[ClusterView])
    nodes = max((len(each.nodes) for each in clusters), default=3)
    with page_frame(purpose.title, visitor, here=purpose.here):
        native("h1", purpose.title)
        _DraftPage(visitor.background, purpose, nodes, problem, terms)


class _DraftPage:
    def __init__(
        self,
        background: Background,
        purpose: Purpose,
        nodes: int,
        problem: Problem | None,
        terms: RunTerms | None,
    ) -> None:
        self._purpose, self._nodes, self._terms_then = purpose, nodes, terms
        with section("1. The problem"):
            if problem is None:
                ProblemForm(background, self._taken)
            else:
                native("p", "It is the problem of what you copy or change, as shown below.")
                with ui.element("details").classes("more-fields"):
                    native("summary", "Take another problem")
                    ProblemForm(background, self._taken)
        self._rest = ui.element("div")
        if problem is not None and terms is not None:
            self._show(problem, terms, is_drawn=False, was_file=False)

    def _taken(self, problem: Problem, named: tuple[ObjectiveRule, ...], is_drawn: bool, /) -> None:
        terms, signed = usual_terms(problem, named), self._purpose.signed
        # Three cases: a run of a series, another problem for a run that exists, and a new run.
        if signed is not None:
            # Of the objectives and rules that a file brings none counts; those are signed.
            problem, terms = draft_of_terms(
                replace(signed, problem=terms.problem, participants=terms.participants)
            )
        elif (then := self._terms_then) is not None:
            # Whoever changes the problem of a run keeps its name, its time and its limits.
            terms = replace(
                terms,
                name=then.name,
                deadline_seconds=then.deadline_seconds,
                on_loss=then.on_loss,
                grace_seconds=then.grace_seconds,
                limits=replace(then.limits, distinct_min=1),
            )
        self._show(problem, terms, is_drawn=is_drawn, was_file=not is_drawn)

    def _show(self, problem: Problem, terms: RunTerms, *, is_drawn: bool, was_file: bool) -> None:
        self._rest.clear()
        with self._rest:
            with section("2. What everybody will know"):
                _summary(problem, is_drawn=is_drawn, was_file=was_file)
            with section("3. The rules"):
                what = "run" if self._purpose.series is None else "series"
                if self._purpose.signed is not None:
                    native("p", SIGNED).classes("hint")
                form = RulesForm(problem, terms, nodes=self._nodes, named=what)
                if self._purpose.signed is not None:
                    form.leave_as_signed()
                if self._purpose.series is None:
                    button(self._purpose.button, lambda: self._send(form), kind="main")
            if self._purpose.series is not None:
                with section("4. The series"):
                    series = self._purpose.series()
                    form.tell(series.advise)
                    button(self._purpose.button, lambda: self._send(form, series), kind="main")

    async def _send(self, form: RulesForm, series: SeriesForm | None = None) -> None:
        wrong = form.wrong_field() or (series.wrong_field() if series is not None else None)
        if wrong is not None:
            focus_on(wrong)
            return
        purpose = self._purpose
        try:
            terms = form.terms()
            if purpose.signed is not None:
                terms = with_signed(terms, purpose.signed)
            if series is not None and purpose.send_series is not None:
                where = await purpose.send_series(series.terms(terms))
            else:
                where = await purpose.send(terms)
        except ServiceError as error:
            # Refusals of terms belong to a field; the button shows all others.
            if error.code != ServiceError.code:
                raise
            _show_refusal(str(error), form.field_of(str(error)))
        except TacitError as error:
            _show_refusal(str(error), form.field_of(str(error)))
        else:
            ui.navigate.to(where)


def _show_refusal(text: str, field: Field | None) -> None:
    """Show a refusal at the field that it is about, or for the whole page."""
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
    if problem.forbidden is None or not problem.forbidden.any():
        return "Every row may have every column." if not problem.between_places else ""
    count = number(int(problem.forbidden.sum()))
    return f"{count} of {number(problem.forbidden.size)} pairs are forbidden."


def objectives_table(problem: Problem, /) -> str:
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
    """List the participants under the names that their accounts will have."""
    rows = []
    for each in problem.participants:
        account = nearest_account_name(each.name)
        is_same = account == unicodedata.normalize("NFC", each.name)
        called = "" if is_same else f" (in the file: {escape(each.name)})"
        which = escape(_row_names(problem, each.rows))
        rows.append([escape(account) + called, number(len(each.rows)), which])
    return table(["Participant", "Rows", "Which"], rows, "Participants")


def _row_names(problem: Problem, rows: tuple[int, ...]) -> str:
    names = problem.row_names
    shown = [names[row] if names else str(row) for row in rows[:6]]
    return ", ".join(shown) + (f" and {len(rows) - 6} more" if len(rows) > 6 else "")
