"""Show the plan of a run that has ended, or one of several to choose from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import Any

from nicegui import events, ui

from tacit.agreement import COUNTS
from tacit.client import Plan, RunObjective, RunResult, RunView
from tacit.disclosure import SEALED
from tacit.problems import Objective, problem_without_weights
from tacit.service.dashboard.charts import (
    Axis,
    Drawing,
    Options,
    chart,
    drawing,
    front,
    matrix,
    redraw,
    tour_map,
)
from tacit.service.dashboard.frame import file_link, html, native, section
from tacit.service.dashboard.words import number
from tacit.service.workflow.terms import known_problem

# A plan with its number in the result, by which everybody calls it.
Numbered = tuple[int, Plan]
# A longer table scrolls by itself, and says so.
ROWS_IN_SIGHT = 60
DOWNLOADS = {
    "result.json": "Result (JSON)",
    "result.csv": "Plan (CSV)",
    "progress.csv": "Progress (CSV)",
    "ledger.jsonl": "All that was disclosed (JSON lines)",
}
OF_SEVERAL = {"result.json": "Result with all plans (JSON)", "result.csv": "Plan 1 (CSV)"}
FOR_OWNERS = (
    "There is a plan, and this platform knows nothing of it: each participant has its own part. "
    "Participants see theirs with tacit participant result."
)

TILE_CLICKED = """(event) => {
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


class RunPlan:
    """A place on the page that stays empty until there is something to show."""

    def __init__(self, run_id: str, /) -> None:
        self._id = run_id
        self._box = section("Plan", classes="wide section-of-plan")
        self._box.set_visibility(False)

    def hide(self) -> None:
        self._box.set_visibility(False)

    def show(self, run: RunView, result: RunResult | None, /) -> None:
        self._box.clear()
        self._box.set_visibility(True)
        with self._box:
            native("h2", "Plan")
            if result is None or not (result.plan or result.for_owners):
                native("p", "The run ended before there was a plan.")
                return
            html(summary(run, result))
            plans = result.front or []
            self._links(has_plan=not result.for_owners, several=len(plans) > 1)
            if result.for_owners:
                native("p", FOR_OWNERS)
            elif len(plans) > 1:
                native("p", front_words(result))
                FrontChoice(plans, run.terms.objectives, lambda plan: show_plan(run, plan.items))
            elif result.plan is not None:
                show_plan(run, result.plan.items)

    def _links(self, *, has_plan: bool, several: bool) -> None:
        with ui.element("p").classes("downloads"):
            for name, text in {**DOWNLOADS, **(OF_SEVERAL if several else {})}.items():
                if has_plan or name != "result.csv":
                    file_link(self._id, name, text)


def front_words(result: RunResult, /) -> str:
    count = f"There are {number(len(result.plans))} different plans"
    if result.evaluations:
        return f"{count}, of which none is known to beat another in every objective."
    return f"{count}, found for the agreed weightings of the objectives."


def best_of(run: RunView, result: RunResult, /) -> str:
    """Return the best value that was disclosed, where it is about one objective.

    Of several, the best of each belong to different plans.
    """
    objectives, disclosed = run.terms.objectives, result.disclosed or []
    if (
        len(objectives) > 1
        or not disclosed
        or disclosed[0] is None
        or isinstance(disclosed[0], bool)
    ):
        return "Done"
    return f"Best {objectives[0].name} {number(disclosed[0])}"


def is_perhaps_worse(run: RunView, result: RunResult, /) -> bool:
    """Return whether only one of several plans that look alike has the best value."""
    disclosure = run.terms.objectives[0].disclosure
    tells_which = disclosure in ("none", "order", SEALED) or run.terms.reveal_best
    return not tells_which and best_of(run, result) != "Done"


PROVED = {
    True: "The nodes proved that no plan is better",
    False: "It is not proved whether a better plan exists",
}


def summary(run: RunView, result: RunResult, /) -> str:
    parts = [best_of(run, result)]
    if result.generation is not None and result.seconds is not None:
        evaluations = result.evaluations
        what = f"generations and {number(evaluations)} evaluations" if evaluations else "steps"
        parts.append(f"after {number(result.generation)} {what} in {result.seconds:.1f} s")
    text = ", ".join(parts)
    late = result.late_by_seconds
    if late is not None and result.state == "finished":
        on_time = f"{late * 1000:.0f} ms after the deadline" if late >= 0.0005 else "in time"
        text += f"; answered {on_time}"
    if result.nodes:
        text += f"; computed by {COUNTS[result.nodes]} nodes"
    if result.proved is not None:
        text += ". " + PROVED[result.proved]
        if result.gaps and not result.proved:
            text += f"; none is better by more than {max(result.gaps):,}"
    if is_perhaps_worse(run, result):
        text += ". The plan is one of those that were disclosed to be best, and may be worse"
    return f"<p>{escape(text)}.</p>"


def show_plan(run: RunView, items: list[int], /) -> None:
    """Show a plan as a picture, where one helps, and as a table."""
    drawn, listed = plan_views(run, items)
    with ui.element("div").classes("plan"):
        if drawn is not None:
            drawing(drawn, "A picture of the plan; the table says the same")
        height = "tall" if len(items) > ROWS_IN_SIGHT else ""
        html(
            f'<div class="scroll {height}" tabindex="0" role="region" '
            f'aria-label="The plan as a table">{listed}</div>'
        )


def plan_views(run: RunView, items: list[int], /) -> tuple[Drawing | None, str]:
    """Return the picture of a plan, if it has one, and its table."""
    problem = run.terms.problem
    known = problem_without_weights(
        known_problem(problem), (Objective("secret", None, weight_bound=0),), proven=True
    )
    rows, columns = known.labels
    owners: list[str] | None = None
    if known.between_places:
        pairs = [(str(first + 1), rows[place]) for first, place in known.listed(items)]
        heads = known.heads
        drawn = tour_map(items, problem.coordinates, rows) if problem.coordinates else None
    else:
        owner = {row: each.name for each in run.members for row in each.rows}
        pairs = [(rows[row], columns[item]) for row, item in enumerate(items)]
        owners, heads = [owner.get(row, "") for row in range(len(items))], ("row", "gets")
        forbidden = frozenset((row, column) for row, column in problem.forbidden)
        drawn = matrix(items, rows, columns, forbidden)
    return drawn, plan_table(pairs, heads=heads, owners=owners)


def plan_table(
    pairs: Sequence[tuple[str, str]], /, *, heads: tuple[str, str], owners: Sequence[str] | None
) -> str:
    head = [heads[0], *(["participant"] if owners else []), heads[1]]
    lines = []
    for i, (row, item) in enumerate(pairs):
        owner = f"<td>{escape(owners[i])}</td>" if owners else ""
        lines.append(f'<tr><th scope="row">{escape(row)}</th>{owner}<td>{escape(item)}</td></tr>')
    cells = "".join(f'<th scope="col">{escape(text.capitalize())}</th>' for text in head)
    long = len(pairs) > ROWS_IN_SIGHT
    caption = f"All {number(len(pairs))} rows; scroll to see them" if long else "The plan"
    return (
        f'<table class="data"><caption class="{"lead" if long else "unseen"}">{caption}</caption>'
        f"<thead><tr>{cells}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
    )


def known_objectives(plans: Sequence[Plan], /) -> list[int]:
    """Return the objectives for which every plan's own value is known.

    >>> known_objectives([Plan(items=[], values=[1.0, None]), Plan(items=[], values=[2.0, 5.0])])
    [0]
    >>> known_objectives([Plan(items=[])])
    []
    """
    count = max((len(plan.values or []) for plan in plans), default=0)
    return [
        k
        for k in range(count)
        if all((plan.values or [None] * count)[k] is not None for plan in plans)
    ]


def plan_words(
    plan: Plan, objectives: Sequence[RunObjective], number_of_it: int, count: int, /
) -> str:
    """Name a plan, with its own values as far as they are known.

    >>> pay, rest = (
    ...     RunObjective(name=name, sense="maximize", weight_bound=1) for name in ("pay", "rest")
    ... )
    >>> plan_words(Plan(items=[], values=[12287, None]), [pay, rest], 1, 3)
    'Plan 1 of 3: pay 12,287; rest not disclosed'
    >>> plan_words(Plan(items=[], weightings=["3:1"]), [pay, rest], 2, 3)
    'Plan 2 of 3, found for pay and rest weighed 3:1: its values were not disclosed'
    """
    words = f"Plan {number_of_it} of {count}"
    if plan.weightings:
        names = " and ".join(each.name for each in objectives)
        words += f", found for {names} weighed {' and '.join(plan.weightings)}"
    values = plan.values
    if not values:
        return f"{words}: its values were not disclosed"
    known = [
        f"{each.name} {'not disclosed' if value is None else number(value)}"
        for each, value in zip(objectives, values, strict=True)
    ]
    return f"{words}: {'; '.join(known)}"


def value_of(plan: Plan, objective: int, /) -> float:
    value = (plan.values or [])[objective]
    assert value is not None
    return value


def in_order(plans: list[Numbered], across: int | None, /) -> list[Numbered]:
    """Sort from left to right, so that keys move along the front."""
    return plans if across is None else sorted(plans, key=lambda each: value_of(each[1], across))


class FrontChoice:
    """The plans as a chart or as tiles, of which one is picked; `show` builds that one."""

    def __init__(
        self, plans: list[Plan], objectives: Sequence[RunObjective], show: Callable[[Plan], None], /
    ) -> None:
        known = known_objectives(plans)
        self._objectives, self._show = objectives, show
        self._axes = known[:2] if len(known) > 1 else []
        # Along the front plans stand in another order than in the result, and keep its numbers.
        numbered = [*enumerate(plans, 1)]
        self._plans = in_order(numbered, self._axes[0] if self._axes else None)
        self._picked = self._plans.index(numbered[0])
        with ui.element("div").classes("front-and-plan"):
            with ui.element("div"):
                if len(known) > 2:
                    self._axis_choices(known)
                self._build_picture()
                if not self._axes:
                    native("p", "There is no picture of them: not all values were disclosed.")
            with ui.element("div"):
                self._words = native("p").classes("picked-words").props('role="status"')
                self._shown = ui.element("div")
        self._draw()

    def _build_picture(self) -> None:
        # What is chosen along a line is a slider to those who do not see it.
        self._box = ui.element("div").classes("front-box")
        self._box.props(
            f'role="slider" tabindex="0" aria-label="Choose a plan" aria-valuemin="1" '
            f'aria-valuemax="{len(self._plans)}"'
        )
        self._box.on("keydown", self._pressed, js_handler=PRESSED)
        with self._box:
            if self._axes:
                self._chart = chart(self._options(), "", classes="chart front")
                self._chart.on_point_click(self._point_clicked)
            else:
                self._tiles = html()
                self._tiles.on("click", self._tile_clicked, js_handler=TILE_CLICKED)

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
                    'outlined dense transition-duration="0"'
                )

    def _point_clicked(self, event: events.EChartPointClickEventArguments) -> None:
        names = [f"Plan {number}" for number, _ in self._plans]
        # The event comes from a browser, which may send any name.
        if event.name in names:
            self._pick(names.index(event.name))

    def _tile_clicked(self, event: events.GenericEventArguments) -> None:
        self._pick(int(event.args))

    def _pressed(self, event: events.GenericEventArguments) -> None:
        last = len(self._plans) - 1
        ends = {"Home": 0, "End": last}
        to = ends.get(event.args, self._picked + KEYS.get(event.args, 0))
        self._pick(min(max(to, 0), last))

    def _pick(self, plan: int) -> None:
        # A number from a browser, too.
        if plan != self._picked and 0 <= plan < len(self._plans):
            self._picked = plan
            self._draw()

    def _draw(self) -> None:
        number, plan = self._plans[self._picked]
        words = plan_words(plan, self._objectives, number, len(self._plans))
        self._box.props["aria-valuenow"] = str(self._picked + 1)
        self._box.props["aria-valuetext"] = words
        self._words.set_text(f"{words}.")
        self._shown.clear()
        with self._shown:
            self._show(plan)
        if self._axes:
            names = " and ".join(self._objectives[k].name for k in self._axes)
            label = f"{len(self._plans)} plans by {names}; arrow keys choose one"
            redraw(self._chart, self._options(), label)
        else:
            self._tiles.set_content(front_tiles([plan for _, plan in self._plans], self._picked))

    def _options(self) -> Options:
        across, up = (
            Axis(
                self._objectives[k].name,
                self._objectives[k].sense,
                [value_of(plan, k) for _, plan in self._plans],
            )
            for k in self._axes
        )
        return front(across, up, [number for number, _ in self._plans], self._picked)


def front_tiles(plans: Sequence[Plan], picked: int, /) -> str:
    """Show plans that have no place in a chart, by their numbers or weightings."""
    tiles = "".join(
        f'<span class="tile{" picked" if i == picked else ""}" data-plan="{i}">'
        f"{escape(' and '.join(plan.weightings or [str(i + 1)]))}</span>"
        for i, plan in enumerate(plans)
    )
    return f'<div class="tiles">{tiles}</div>'
