"""Show the plan of a run that has ended, or one of several to choose from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

from nicegui import events, ui

from tacit.agreement import COUNTS
from tacit.client import Plan, RunObjective, RunResult, RunView
from tacit.disclosure import SEALED
from tacit.problems import Objective, problem_without_weights
from tacit.service.dashboard.curve import round_ticks
from tacit.service.dashboard.frame import file_link, html, native, section
from tacit.service.dashboard.words import number
from tacit.service.workflow.terms import known_problem

MATRIX_LIMIT = 60
"""More rows or columns than this are a table only."""
CELL, LETTER = 18, 7.2
"""Pixels of a square and, at most, of a letter; the picture is never drawn smaller than that."""
ROWS_IN_SIGHT = 60
"""A longer table scrolls by itself, and says so."""
MAP_SIDE, MOST_NAMES = 420, 40
"""Pixels, and how many places have their names written beside them."""


def plan_table(
    pairs: Sequence[tuple[str, str]], /, *, heads: tuple[str, str], owners: Sequence[str] | None
) -> str:
    """What each row gets, with its owner where one is given."""
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


def plan_matrix(
    plan: Sequence[int],
    /,
    *,
    row_names: Sequence[str],
    column_names: Sequence[str],
    forbidden: frozenset[tuple[int, int]] = frozenset(),
) -> str:
    """An assignment as a picture: a filled square where a row has its column."""
    rows, columns = len(row_names), len(column_names)
    if rows > MATRIX_LIMIT or columns > MATRIX_LIMIT:
        return ""
    left = 12 + LETTER * max(len(name) for name in row_names)
    # Names of columns stand at 60 degrees.
    tall = LETTER * max(len(name) for name in column_names)
    top, width = 12 + 0.87 * tall, left + columns * CELL + 0.5 * tall + 8
    shapes = []
    for r in range(rows):
        y = top + r * CELL
        shapes.append(
            f'<text x="{left - 6:.0f}" y="{y + 13:.0f}" text-anchor="end">'
            f"{escape(row_names[r])}</text>"
        )
        for c in range(columns):
            kind = "taken" if plan[r] == c else "barred" if (r, c) in forbidden else "open"
            shapes.append(
                f'<rect class="{kind}" x="{left + c * CELL + 1:.0f}" y="{y + 1:.0f}" '
                f'width="{CELL - 2}" height="{CELL - 2}" rx="2"/>'
            )
    for c, name in enumerate(column_names):
        at = f"translate({left + c * CELL + 12:.0f} {top - 6:.0f}) rotate(-60)"
        shapes.append(f'<text transform="{at}">{escape(name)}</text>')
    height = top + rows * CELL + 4
    return (
        f'<svg class="matrix" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img" '
        f'aria-label="Rows and columns of the plan; the table says the same">'
        f"{''.join(shapes)}</svg>{matrix_legend(has_barred=bool(forbidden))}"
    )


def matrix_legend(*, has_barred: bool) -> str:
    """What the squares mean."""
    barred = '<span class="key box barred"></span> may not have' if has_barred else ""
    return (
        '<p class="legend"><span class="key box taken"></span> gets '
        f'<span class="key box"></span> could have had {barred}</p>'
    )


def tour_map(
    tour: Sequence[int], coordinates: Sequence[Sequence[float]], names: Sequence[str], /
) -> str:
    """A tour through its cities."""
    xs, ys = [point[0] for point in coordinates], [point[1] for point in coordinates]
    scale = MAP_SIDE / max(max(xs) - min(xs), max(ys) - min(ys), 1e-9)
    has_names = len(names) <= MOST_NAMES
    # A name beside a place on the right edge needs room.
    beside = LETTER * max(len(name) for name in names) if has_names else 0.0
    placed = [
        (20 + (x - min(xs)) * scale, 20 + (max(ys) - y) * scale)
        for x, y in zip(xs, ys, strict=True)
    ]
    way = " ".join(f"{placed[city][0]:.1f},{placed[city][1]:.1f}" for city in tour)
    dots = "".join(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4"><title>{escape(name)}</title></circle>'
        + (f'<text x="{x + 7:.1f}" y="{y - 5:.1f}">{escape(name)}</text>' if has_names else "")
        for (x, y), name in zip(placed, names, strict=True)
    )
    width = 40 + (max(xs) - min(xs)) * scale + beside
    height = 40 + (max(ys) - min(ys)) * scale
    return (
        f'<svg class="map" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img" '
        f'aria-label="A map of the tour; the table says the same">'
        f'<polygon points="{way}"/>{dots}</svg>'
    )


LEFT, RIGHT, TOP, BOTTOM = 76.0, 32.0, 30.0, 54.0
SIZES = (("broad", 520.0, 400.0), ("slim", 340.0, 320.0))
"""Twice, since letters must not shrink with the picture."""


@dataclass(frozen=True)
class Axis:
    """An objective along a side of the picture."""

    name: str
    sense: str
    values: Sequence[float]

    @property
    def label(self) -> str:
        """What is drawn, and which end is good."""
        better = "more is better" if self.sense == "maximize" else "less is better"
        return f"{self.name} ({better})"

    @property
    def ticks(self) -> list[float]:
        """Round values around all plans."""
        return round_ticks(min(self.values), max(self.values))


def known_objectives(plans: Sequence[Plan], /) -> list[int]:
    """The objectives of which each plan's own value is known.

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


def front_svg(across: Axis, up: Axis, picked: int, numbers: Sequence[int], /) -> str:
    """All plans as points, the picked one larger; `data-plan` is its place along the front.

    `numbers` are those of the plans in the result, by which everybody else calls them.
    """
    label = f"{len(across.values)} plans by {across.name} and {up.name}; arrow keys choose one"
    return "".join(
        f'<svg class="front {name}" viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
        f'aria-label="{escape(label)}">{_drawing(across, up, picked, numbers, width, height)}</svg>'
        for name, width, height in SIZES
    )


def _drawing(
    across: Axis, up: Axis, picked: int, numbers: Sequence[int], width: float, height: float
) -> str:
    x_ticks, y_ticks = across.ticks, up.ticks
    right, floor = width - RIGHT, height - BOTTOM

    def x(value: float) -> float:
        return LEFT + (right - LEFT) * (value - x_ticks[0]) / ((x_ticks[-1] - x_ticks[0]) or 1.0)

    def y(value: float) -> float:
        return floor - (floor - TOP) * (value - y_ticks[0]) / ((y_ticks[-1] - y_ticks[0]) or 1.0)

    parts = [
        f'<line class="grid" x1="{LEFT}" x2="{right}" y1="{y(tick):.1f}" y2="{y(tick):.1f}"/>'
        f'<text x="{LEFT - 8}" y="{y(tick) + 4:.1f}" text-anchor="end">{number(tick)}</text>'
        for tick in y_ticks
    ]
    # Every second number where there is little room for them.
    step = 2 if (right - LEFT) / len(x_ticks) < 64 else 1
    parts += [
        f'<line class="grid" x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{TOP}" y2="{floor}"/>'
        + (
            f'<text x="{x(tick):.1f}" y="{floor + 18}" text-anchor="middle">{number(tick)}</text>'
            if i % step == 0
            else ""
        )
        for i, tick in enumerate(x_ticks)
    ]
    parts.append(
        f'<text class="axis" x="{right}" y="{height - 10}" text-anchor="end">'
        f"{escape(across.label)}</text>"
        f'<text class="axis" x="4" y="14">{escape(up.label)}</text>'
    )
    # The picked plan last, so that none lies over it.
    order = [i for i in range(len(across.values)) if i != picked] + [picked]
    for i in order:
        kind, radius = ("point picked", 8) if i == picked else ("point", 5)
        parts.append(
            f'<circle class="{kind}" data-plan="{i}" r="{radius}" '
            f'cx="{x(across.values[i]):.1f}" cy="{y(up.values[i]):.1f}">'
            f"<title>Plan {numbers[i]}</title></circle>"
        )
    return "".join(parts)


def front_tiles(plans: Sequence[Plan], picked: int, /) -> str:
    """Plans without a place in a picture: their numbers, or what they were found for."""
    tiles = "".join(
        f'<span class="tile{" picked" if i == picked else ""}" data-plan="{i}">'
        f"{escape(' and '.join(plan.weightings or [str(i + 1)]))}</span>"
        for i, plan in enumerate(plans)
    )
    return f'<div class="tiles">{tiles}</div>'


def front_legend(*, drawn: bool) -> str:
    """What the marks mean."""
    shape = "dot" if drawn else "box"
    return (
        f'<p class="legend"><span class="key {shape}"></span> a plan '
        f'<span class="key {shape} picked"></span> the plan shown</p>'
    )


def plan_words(
    plan: Plan, objectives: Sequence[RunObjective], number_of_it: int, count: int, /
) -> str:
    """Which plan it is, with its own values as far as they are known.

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


DOWNLOADS = {
    "result.json": "Result (JSON)",
    "result.csv": "Plan (CSV)",
    "convergence.png": "Curve (PNG)",
    "progress.csv": "Progress (CSV)",
    "ledger.jsonl": "All that was disclosed (JSON lines)",
}
OF_SEVERAL = {"result.json": "Result with all plans (JSON)", "result.csv": "Plan 1 (CSV)"}
FOR_OWNERS = (
    "There is a plan, and this platform knows nothing of it: each participant has its own part. "
    "Participants see theirs with tacit participant result."
)


class RunPlan:
    """A place on the page that stays empty until there is something to show."""

    def __init__(self, run_id: str, /) -> None:
        self._id = run_id
        self._box = section("Plan", classes="wide section-of-plan")
        self._box.set_visibility(False)

    def hide(self) -> None:
        """Take the plan away."""
        self._box.set_visibility(False)

    def show(self, run: RunView, result: RunResult | None, /) -> None:
        """Show the result of the run."""
        self._box.clear()
        self._box.set_visibility(True)
        with self._box:
            native("h2", "Plan")
            if result is not None and result.for_owners:
                html(summary(run, result))
                native("p", FOR_OWNERS)
                self._links(has_curve=False, has_plan=False)
                return
            if result is None or not result.plan:
                native("p", "The run ended before there was a plan.")
                return
            html(summary(run, result))
            best = [each.best for each in run.terms.objectives]
            front = result.front or []
            has_curve = bool(result.evaluations) and set(best) == {"value"}
            self._links(has_curve=has_curve, several=len(front) > 1)
            if len(front) > 1:
                native("p", front_words(result))
                FrontChoice(front, run.terms.objectives, lambda plan: plan_markup(run, plan.items))
            else:
                html(plan_markup(run, result.plan.items))

    def _links(self, *, has_curve: bool, has_plan: bool = True, several: bool = False) -> None:
        shown = {"convergence.png": has_curve, "result.csv": has_plan}
        names = {**DOWNLOADS, **(OF_SEVERAL if several else {})}
        with ui.element("p").classes("downloads"):
            for name, text in names.items():
                if shown.get(name, True):
                    file_link(self._id, name, text)


def front_words(result: RunResult, /) -> str:
    """How many plans there are, and in what sense each is good."""
    count = f"There are {number(len(result.plans))} different plans"
    if result.evaluations:
        return f"{count}, of which none is known to beat another in every objective."
    return f"{count}, found for the agreed weightings of the objectives."


def best_of(run: RunView, result: RunResult, /) -> str:
    """The best value that was disclosed, where it is about one objective.

    Of several, the best of each belong to different plans.
    """
    objectives, told = run.terms.objectives, result.disclosed or []
    if len(objectives) > 1 or not told or told[0] is None or isinstance(told[0], bool):
        return "Done"
    return f"Best {objectives[0].name} {number(told[0])}"


def is_perhaps_worse(run: RunView, result: RunResult, /) -> bool:
    """Whether the plan is one of several that look alike, of which one has the best value."""
    disclosure = run.terms.objectives[0].disclosure
    tells_which = disclosure in ("none", "order", SEALED) or run.terms.reveal_best
    return not tells_which and best_of(run, result) != "Done"


PROVED = {
    True: "The nodes proved that no plan is better",
    False: "It is not proved whether a better plan exists",
}


def summary(run: RunView, result: RunResult, /) -> str:
    """The result in a sentence."""
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


def plan_markup(run: RunView, items: list[int], /) -> str:
    """The plan as a picture, where one helps, and as a table."""
    problem = run.terms.problem
    known = problem_without_weights(
        known_problem(problem), (Objective("secret", None, weight_bound=0),), proven=True
    )
    rows, columns = known.labels
    if known.between_places:
        pairs = [(str(first + 1), rows[place]) for first, place in known.listed(items)]
        picture = tour_map(items, problem.coordinates, rows) if problem.coordinates else ""
        listed = plan_table(pairs, heads=known.heads, owners=None)
    else:
        owner = {row: each.name for each in run.members for row in each.rows}
        pairs = [(rows[row], columns[item]) for row, item in enumerate(items)]
        owners = [owner.get(row, "") for row in range(len(items))]
        forbidden = frozenset((row, column) for row, column in problem.forbidden)
        picture = plan_matrix(items, row_names=rows, column_names=columns, forbidden=forbidden)
        listed = plan_table(pairs, heads=("row", "gets"), owners=owners)
    scroll = '<div class="scroll {}" tabindex="0" role="region" aria-label="{}">{}</div>'
    shown = scroll.format("picture", "Picture of the plan", picture) if picture else ""
    height = "tall" if len(items) > ROWS_IN_SIGHT else ""
    listed = scroll.format(height, "The plan as a table", listed)
    return f'<div class="plan">{shown}{listed}</div>'
