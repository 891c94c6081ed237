"""The plan of a run that has ended: the plan as a table and a picture, and downloads."""

from __future__ import annotations

from html import escape

from nicegui import ui

from tacit.agreement import COUNTS
from tacit.client import RunResult, RunView
from tacit.disclosure import SEALED
from tacit.problems import Objective, problem_without_weights
from tacit.service.dashboard.frame import file_link, html, native, section
from tacit.service.dashboard.pages.front_choice import FrontChoice
from tacit.service.dashboard.pages.plan_views import (
    ROWS_IN_SIGHT,
    plan_matrix,
    plan_table,
    tour_map,
)
from tacit.service.dashboard.words import number
from tacit.service.workflow.terms import known_problem

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
