"""The plan of a run that has ended: the plan as a table and a picture, and downloads."""

from __future__ import annotations

from html import escape
from typing import Any

from nicegui import ui

from tacit.engine.agreement import COUNTS
from tacit.problems import Objective, problem_without_weights
from tacit.service.api.terms import public_of_terms
from tacit.service.dashboard.frame import html, native, section
from tacit.service.dashboard.pages.plan_views import plan_matrix, plan_table, tour_map
from tacit.service.dashboard.words import number

DOWNLOADS = {
    "result.json": "Result (JSON)",
    "result.csv": "Plan (CSV)",
    "convergence.png": "Curve (PNG)",
    "progress.csv": "Progress (CSV)",
    "ledger.jsonl": "All that was disclosed (JSON lines)",
}

FOR_OWNERS = (
    "There is a plan, and this platform knows nothing of it: each participant has its own part. "
    "Participants see theirs with tacit participant result."
)


class RunPlan:
    """A place on the page that stays empty until there is something to show."""

    def __init__(self, run_id: str, /) -> None:
        self._id = run_id
        self._box = section("Plan", classes="wide")
        self._box.set_visibility(False)

    def hide(self) -> None:
        """Take the plan away."""
        self._box.set_visibility(False)

    def show(self, run: dict[str, Any], result: dict[str, Any] | None, /) -> None:
        """Show the result of the run."""
        self._box.clear()
        self._box.set_visibility(True)
        with self._box:
            native("h2", "Plan")
            if result is not None and result.get("for_owners"):
                html(summary(run, result))
                native("p", FOR_OWNERS)
                self._links(has_curve=False, has_plan=False)
                return
            if result is None or not result["plan"]:
                native("p", "The run ended before there was a plan.")
                return
            html(summary(run, result))
            if result["front"] and len(result["front"]) > 1:
                which = "one per agreed weighting of the objectives"
                if result["evaluations"]:
                    which = "of which none beats another"
                front = f"There are {len(result['front'])} plans, {which}."
                native("p", f"{front} This is the first; the JSON has all.")
            best = [each["best"] for each in run["terms"]["objectives"]]
            self._links(has_curve=bool(result["evaluations"]) and set(best) == {"value"})
            html(plan_markup(run, result))

    def _links(self, *, has_curve: bool, has_plan: bool = True) -> None:
        shown = {"convergence.png": has_curve, "result.csv": has_plan}
        with ui.element("p").classes("downloads"):
            for name, text in DOWNLOADS.items():
                if shown.get(name, True):
                    ui.link(text, f"/runs/{self._id}/files/{name}").props("download")


def summary(run: dict[str, Any], result: dict[str, Any], /) -> str:
    """The result in a sentence."""
    disclosed = [
        f"{objective['name']} {number(value)}"
        for objective, value in zip(run["terms"]["objectives"], result["told"] or [], strict=False)
        if value is not None and not isinstance(value, bool)
    ]
    parts = [f"Best {' and '.join(disclosed)}" if disclosed else "Done"]
    if result["generation"] is not None and result["seconds"] is not None:
        evaluations = result["evaluations"]
        asked = f" and {number(evaluations)} evaluations" if evaluations else ""
        parts.append(
            f"after {number(result['generation'])} generations{asked} in {result['seconds']:.1f} s"
        )
    text = ", ".join(parts)
    late = result.get("late_by_seconds")
    if late is not None and result["state"] == "finished":
        on_time = f"{late * 1000:.0f} ms after the deadline" if late >= 0.0005 else "in time"
        text += f"; answered {on_time}"
    if result.get("nodes"):
        text += f"; computed by {COUNTS[result['nodes']]} nodes"
    return f"<p>{escape(text)}.</p>"


def plan_markup(run: dict[str, Any], result: dict[str, Any], /) -> str:
    """The plan as a picture, where one helps, and as a table."""
    problem, items = run["terms"]["problem"], result["plan"]["items"]
    known = problem_without_weights(
        public_of_terms(problem), (Objective("secret", None, weight_bound=0),), proven=True
    )
    rows, columns = known.labels
    if known.between_places:
        pairs = [(str(first + 1), rows[place]) for first, place in known.listed(items)]
        picture = tour_map(items, problem["coordinates"], rows) if problem["coordinates"] else ""
        listed = plan_table(pairs, heads=known.heads, owners=None)
    else:
        owner = {row: each["name"] for each in run["members"] for row in each["rows"]}
        pairs = [(rows[row], columns[item]) for row, item in enumerate(items)]
        owners = [owner.get(row, "") for row in range(len(items))]
        forbidden = frozenset((row, column) for row, column in problem["forbidden"])
        picture = plan_matrix(items, row_names=rows, column_names=columns, forbidden=forbidden)
        listed = plan_table(pairs, heads=("row", "gets"), owners=owners)
    scroll = '<div class="scroll {}" tabindex="0" role="region" aria-label="{}">{}</div>'
    shown = scroll.format("picture", "Picture of the plan", picture) if picture else ""
    listed = scroll.format("tall", "The plan as a table", listed)
    return f'<div class="plan">{shown}{listed}</div>'
