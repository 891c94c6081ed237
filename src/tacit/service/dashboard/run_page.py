"""Show a run: its state, its progress while it runs, and what an operator can do with it."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from urllib.parse import quote

from nicegui import ui

from tacit.client import ClusterView, InvitationFile, RunResult, RunTerms, RunView
from tacit.errors import ServiceError, TooManyError
from tacit.service.dashboard.charts import Point, chart, curve, curve_label, redraw, thinned
from tacit.service.dashboard.disclosures import (
    disclosed_so_far,
    inferred,
    inferred_markup,
)
from tacit.service.dashboard.frame import (
    Visitor,
    button,
    confirmed,
    hint,
    html,
    link_button,
    native,
    page_frame,
    section,
    sentences_list,
    show_codes,
    show_error,
)
from tacit.service.dashboard.log_check import LogChecks, RunAudit
from tacit.service.dashboard.nodes import nodes_table, stall_words, waits_for_nodes
from tacit.service.dashboard.run_parts import (
    figures,
    members_of,
    members_table,
    search_words,
    terms_list,
    warnings_list,
    way_of,
)
from tacit.service.dashboard.run_plan import RunPlan
from tacit.service.dashboard.sessions import ApiClient
from tacit.service.dashboard.words import sentence, state_meaning, state_name, time_left
from tacit.service.execution.progress_file import progress_points
from tacit.service.workflow.terms import population_of_terms

CODES = (
    "Each works once and is not shown again. A file has the address, the certificate and a code of "
    "its own, which then takes the place of the one shown. Hand each participant its own by a way "
    "that you trust; it joins with: tacit participant join NAME.tacit. It signs only keys that it "
    "has pinned (tacit participant trust): participants give each other theirs, and the nodes' "
    "operators give theirs to all of them, not by way of this platform."
)
BEFORE_THE_END = ("invited", "agreed", "submitted", "running")


SHORTEST_SECONDS, LONGEST_SECONDS = 2.0, 30.0
# A curve is fetched again once its run has gone on by a tenth, within these bounds.
SHARE = 0.1
MOST_CURVES = 64


async def show_invitations(
    codes: dict[str, str], /, *, file: Callable[[str], Awaitable[bytes]] | None = None
) -> None:
    """Show the codes of new participants, or say that nobody is new."""
    if codes:
        await show_codes("Invitation codes", CODES, codes, file=file)
    else:
        ui.notify("All participants have joined before and see it now.", type="positive")


class RunActions:
    """A line of buttons; those that a state does not allow are not there."""

    def __init__(
        self, visitor: Visitor, run_id: str, refresh: Callable[[], Awaitable[None]], /
    ) -> None:
        self._api, self._path, self._refresh = visitor.api, f"/runs/{run_id}", refresh
        self._is_operator = visitor.is_operator
        self._state = ""
        self._line = ui.element("div").classes("actions")

    def show(self, run: RunView, /) -> None:
        # Buttons are made anew only in another state, so that nobody loses the focus.
        if not self._is_operator or run.state == self._state:
            return
        self._state = run.state
        self._line.clear()
        with self._line:
            if run.state == "draft":
                button("Invite participants", self._invite, kind="main")
                link_button("Edit", f"{self._path}/edit")
                button("Delete", self._delete, kind="danger")
            elif run.state in BEFORE_THE_END:
                button("Cancel the run", self._cancel, kind="danger")
            elif run.state == "interrupted":
                button("Resume", self._resume, kind="main")
            link_button("Copy", f"{self._path}/copy")
            link_button("Make a series of it", f"{self._path}/series")

    async def _invite(self) -> None:
        text = "From now on its terms are fixed. Participants can review and sign them."
        if not await confirmed("Invite the participants?", text, do="Invite"):
            return
        run = await self._api.post(f"{self._path}/invite", None, RunView)
        await show_invitations(run.invitations, file=self._invitation)
        await self._refresh()

    async def _invitation(self, name: str) -> bytes:
        path = f"{self._path}/invitations/{quote(name, safe='')}"
        return (await self._api.post(path, None, InvitationFile)).as_file()

    async def _cancel(self) -> None:
        text = "It ends for everybody and cannot go on. If it has a best plan so far, that is kept."
        if await confirmed("Cancel this run?", text, do="Cancel the run", danger=True):
            await self._change("cancel")

    async def _resume(self) -> None:
        text = "It resumes where it stopped, as soon as nodes are free, with a new deadline."
        if await confirmed("Resume this run?", text, do="Resume"):
            await self._change("resume")

    async def _change(self, what: str) -> None:
        await self._api.post(f"{self._path}/{what}", None, RunView)
        await self._refresh()

    async def _delete(self) -> None:
        text = "Nobody has been invited yet."
        if await confirmed("Delete this draft?", text, do="Delete", danger=True):
            await self._api.delete(self._path)
            ui.navigate.to("/")


EVERY_SECONDS = 1.0
FETCH_TICKS = 10
"""Without any event a run is fetched again after so many ticks."""


async def run_page(visitor: Visitor, run: RunView, curves: Curves, checks: LogChecks, /) -> None:
    with page_frame(run.name, visitor):
        page = _RunPage(visitor, run, curves, checks)
    await page.refresh(run)
    ui.timer(EVERY_SECONDS, page.tick)


def evaluations_made(run: RunView, /) -> int | None:
    """Return the number of evaluations of a run that is over for good."""
    is_over = run.state in ("finished", "failed", "cancelled")
    return run.progress.evaluations if is_over and run.progress else None


class _RunPage:
    """Parts are made once; NiceGUI sends a content only if it differs from the last."""

    def __init__(self, visitor: Visitor, run: RunView, curves: Curves, checks: LogChecks) -> None:
        self._visitor, self._id, self._run = visitor, run.id, run
        self._seen = -1
        self._population = population_of_terms(run.terms)
        self._search = search_words(run.terms)
        self._curves = curves
        self._points: list[Point] = []
        self._ticks = 0
        self._plan_of: str | None = None
        # Terms are as large as the problem: what follows from them is not worked out each second.
        self._inferred_from: tuple[RunTerms, int | None] | None = None
        self._disclosed_from: tuple[RunTerms, int] | None = None
        self._cluster: ClusterView | None = None
        with ui.element("div").classes("title-line"):
            native("h1", run.name)
            self._state = native("span").classes("state")
        self._meaning = native("p").classes("lead").props('role="status"')
        self._stalled = native("p").classes("banner").props('role="alert"')
        self._way = html()
        self._warnings = html()
        self.actions = RunActions(visitor, self._id, self.fetch)
        with ui.element("div").classes("parts"):
            self._plan = RunPlan(self._id)
            with section("Progress", classes="wide"):
                with ui.element("p").classes("countdown"):
                    self._left = native("span").classes("left").props('role="timer"')
                    self._left_of = native("span").classes("left-of")
                self._hint = html()
                self._plot = ui.element("div")
                self._chart: ui.echart | None = None
                self._figures = html()
            with section("Participants"):
                self._members = html()
            with section("Nodes"):
                self._nodes = html()
            with section("Disclosed so far", classes="wide"):
                self._disclosed = html()
            with section("What could be inferred", classes="wide"):
                self._inferred = html()
            self._audit = RunAudit(visitor, self._id, checks)
            with section("Terms", classes="wide"):
                self._terms = html()

    async def tick(self) -> None:
        if self._newest() == self._seen and self._ticks % FETCH_TICKS:
            await self.refresh(self._run)
        else:
            await self.fetch()

    def _newest(self) -> int:
        return self._visitor.announcer.newest(self._id)

    async def fetch(self) -> None:
        newest = self._newest()
        try:
            self._run = await self._visitor.api.get(f"/runs/{self._id}", RunView)
            await self.refresh(self._run)
            self._seen = newest
        except ServiceError as error:
            # Of many open pages some are refused for a moment; the next second tries again.
            if not isinstance(error, TooManyError):
                show_error(error)

    async def refresh(self, run: RunView, /) -> None:
        # Once a second: only what changed is sent, and clusters are asked for less often.
        self._ticks += 1
        await self._fetch_points(run)
        now = time.time()
        if self._ticks % (2 if run.state == "running" else 5) == 1:
            self._cluster = await self._cluster_of(run)
            self._nodes.set_content(nodes_table(self._cluster))
        self._show_state(run, now)
        self._way.set_content(way_of(run.state))
        self._warnings.set_content(warnings_list(run.warnings))
        self._countdown(run)
        self._draw(run)
        waits = waits_for_nodes(run, self._cluster)
        self._figures.set_content(figures(run, population=self._population, now=now, waits=waits))
        self._members.set_content(members_table(members_of(run)))
        self._show_disclosed(run)
        evaluated = evaluations_made(run)
        # The estimate takes a while for large problems.
        if (run.terms, evaluated) != self._inferred_from:
            self._inferred_from = (run.terms, evaluated)
            self._inferred.set_content(inferred_markup(inferred(run.terms, evaluations=evaluated)))
        self._terms.set_content(self._terms_of(run))
        self.actions.show(run)
        self._audit.show(run)
        await self._show_plan(run)

    def _show_state(self, run: RunView, now: float) -> None:
        stalled = stall_words(run, self._cluster, now, sealed=not self._population)
        name, kind = state_name(run.state), str(run.state)
        if stalled is not None:
            name, kind = f"{name}, stalled", "stalled"
        self._state.set_text(name)
        self._state.classes(replace=f"state {kind}")
        why = sentence(run.reason) if run.reason else state_meaning(run.state)
        self._meaning.set_text("" if stalled is not None else why)
        self._stalled.set_text(stalled or "")
        self._stalled.set_visibility(stalled is not None)

    async def _fetch_points(self, run: RunView) -> None:
        # A sealed search has no values on the way.
        progress = run.progress
        if progress is None or not self._population:
            return
        shared = await self._curves.points(self._visitor.api, run)
        until = shared[-1][0] if shared else -1.0
        # What this page has seen of the run since its curve was fetched.
        seen = [point for point in self._points if until < point[0] <= progress.seconds]
        self._points = [*shared, *seen]
        best = progress.best[0] if progress.best else None
        if best is None or isinstance(best, bool):
            return
        if not self._points or self._points[-1][0] < progress.seconds:
            self._points.append((progress.seconds, float(best)))

    def _countdown(self, run: RunView) -> None:
        if run.state == "running" and run.deadline_at:
            left = run.deadline_at - time.time()
            self._left.set_text(time_left(left))
            # A sealed run ends as soon as its steps are made.
            most = "left of" if self._population else "left at most, of"
            self._left_of.set_text(f"{most} {time_left(run.terms.deadline_seconds)}")
        elif run.progress is not None:
            self._left.set_text(f"{run.progress.seconds:.1f} s")
            self._left_of.set_text("used")
        else:
            self._left.set_text(time_left(run.terms.deadline_seconds))
            self._left_of.set_text("to search, once all costs are in")

    def _draw(self, run: RunView) -> None:
        objective, has_curve = run.terms.objectives[0], bool(self._population and self._points)
        text = ""
        if not self._population:
            text = "A sealed run discloses nothing before its plan is opened, so there is no curve."
        elif has_curve and len(run.terms.objectives) > 1:
            text = f"Best {objective.name} of any plan, over time."
        elif has_curve:
            pass
        elif run.progress is not None and objective.best != "value":
            text = "The best value is not disclosed in this run, so there is no curve."
        elif run.state in ("draft", "invited", "agreed", "submitted"):
            text = "The curve of the best value appears here while the run goes on."
        else:
            text = "There is no curve: nothing was evaluated."
        self._hint.set_content(hint(text) if text else "")
        if not has_curve:
            return
        until = run.terms.deadline_seconds if run.state == "running" else None
        shown, label = curve(self._points, until=until), curve_label(objective.name, self._points)
        if self._chart is None:
            # Not before there are points: a chart that is hidden has no size.
            with self._plot:
                self._chart = chart(shown, label)
        redraw(self._chart, shown, label)

    def _terms_of(self, run: RunView) -> str:
        known = [("Created by", run.created_by), ("Run", run.id)]
        known += [("Agreement", run.agreement_hash)] if run.agreement_hash else []
        return terms_list(run.terms, population=self._population, search=self._search, known=known)

    def _show_disclosed(self, run: RunView) -> None:
        progress = run.progress
        answers = 0 if progress is None else progress.generation + 1
        if not self._population:
            answers = int(run.state == "finished")
        if (run.terms, answers) != self._disclosed_from:
            self._disclosed_from = run.terms, answers
            lines = disclosed_so_far(run.terms, answers, self._population)
            self._disclosed.set_content(sentences_list(lines))

    async def _cluster_of(self, run: RunView) -> ClusterView | None:
        if run.cluster is None:
            return None
        try:
            clusters = await self._visitor.api.get("/clusters", list[ClusterView])
        except ServiceError:
            return None
        return next((cluster for cluster in clusters if cluster.name == run.cluster), None)

    async def _show_plan(self, run: RunView) -> None:
        if run.state not in ("finished", "interrupted", "cancelled", "failed"):
            # A run that is resumed has no plan until it ends again.
            self._plan_of = None
            self._plan.hide()
            return
        # A result is fetched once per end: a run that is resumed ends again, in another state.
        if self._plan_of == run.state:
            return
        try:
            result: RunResult | None = await self._visitor.api.get(
                f"/runs/{self._id}/result", RunResult
            )
        except ServiceError:
            result = None
        self._plan_of = run.state
        self._plan.show(run, result)


@dataclass
class _Curve:
    points: list[Point] = field(default_factory=list)
    at: float = float("-inf")
    state: str | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Curves:
    """What is known of each run; who asks for one has just been shown the run by the API."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._curves: OrderedDict[str, _Curve] = OrderedDict()

    def pause(self, seconds: float, /) -> float:
        """Return how long a curve stays valid, this far into its run."""
        return min(max(SHARE * seconds, SHORTEST_SECONDS), LONGEST_SECONDS)

    async def points(self, api: ApiClient, run: RunView, /) -> list[Point]:
        """Return the curve of a run, fetched with the visitor's token if it is too old."""
        curve = self._curves.setdefault(run.id, _Curve())
        self._curves.move_to_end(run.id)
        # Those that nobody has looked at for longest.
        while len(self._curves) > MOST_CURVES:
            self._curves.popitem(last=False)
        # Everybody who looks at once waits for one request.
        async with curve.lock:
            if self._is_old(curve, run):
                await self._fetch(curve, api, run)
        return curve.points

    def _is_old(self, curve: _Curve, run: RunView) -> bool:
        age = self._clock() - curve.at
        # A run that ended has points that came after the last fetch.
        if curve.state != run.state:
            return curve.state is not None or age >= SHORTEST_SECONDS
        seconds = 0.0 if run.progress is None else run.progress.seconds
        return run.state == "running" and age >= self.pause(seconds)

    async def _fetch(self, curve: _Curve, api: ApiClient, run: RunView) -> None:
        try:
            answer = await api.fetch(f"/runs/{run.id}/progress.csv")
            curve.points, curve.state = thinned(progress_points(answer.text)), run.state
        except ServiceError:
            # It is asked for again, though not at once.
            curve.state = None
        curve.at = self._clock()
