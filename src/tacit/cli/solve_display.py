"""What `tacit solve` shows: a live line while it runs, a summary when it is done."""

from __future__ import annotations

import time
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn
from rich.table import Table

from tacit.disclosure import SEALED
from tacit.problems import Problem
from tacit.runs import GenerationView, Result, show_duration
from tacit.runs.sealed_loop import SealedView
from tacit.runs.solve import DEFAULT_GENERATIONS
from tacit.runs.summarize import told_to_user

REFRESH_SECONDS = 0.1
PLAN_ENTRIES_SHOWN = 12


class LiveProgress:
    """A progress line with generation, best value and time left."""

    def __init__(
        self,
        console: Console,
        problem: Problem,
        /,
        *,
        deadline: float | None,
        generations: int | None,
    ) -> None:
        self._problem, self._deadline = problem, deadline
        self._generations = generations or (None if deadline else DEFAULT_GENERATIONS)
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            TextColumn("{task.fields[detail]}"),
            console=console,
            transient=True,
            expand=True,
        )
        self._task = self._progress.add_task(problem.name, total=1.0, detail="")
        self._started: float | None = None
        self._next_refresh = 0.0

    def __enter__(self) -> LiveProgress:
        """Start drawing."""
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Clear the line."""
        self._progress.stop()

    def announce(self, line: str, /) -> None:
        """Say what is being prepared."""
        self._progress.update(self._task, detail=line)

    def observe(self, view: GenerationView, /) -> None:
        """Take a generation in, and draw it if the last drawing is old enough."""
        now = time.monotonic()
        if self._started is None:
            self._started = now - view.record.seconds
        if now < self._next_refresh:
            return
        self._next_refresh = now + REFRESH_SECONDS
        elapsed = now - self._started
        shares = [0.0]
        detail = [f"generation {view.record.generation}"]
        best = [str(b) for b in told_to_user(self._problem, view.record.told_best) if b is not None]
        if best:
            detail.append("best " + " / ".join(best))
        if self._deadline is not None:
            shares.append(elapsed / self._deadline)
            detail.append(f"{show_duration(max(self._deadline - elapsed, 0))} left")
        if self._generations:
            shares.append(view.record.generation / self._generations)
        self._progress.update(self._task, completed=min(max(shares), 1.0), detail=", ".join(detail))

    def observe_sealed(self, view: SealedView, /) -> None:
        """Draw what there is to show of a sealed search."""
        now = time.monotonic()
        if now < self._next_refresh:
            return
        self._next_refresh = now + REFRESH_SECONDS
        shares = [0.0]
        detail = [f"generation {view.generation}", "sealed: no value is known before the end"]
        if view.searches > 1:
            detail.insert(0, f"plan {view.search + 1} of {view.searches}")
        if self._deadline is not None:
            shares.append(view.seconds / self._deadline)
            detail.append(f"{show_duration(max(self._deadline - view.seconds, 0))} left")
        if self._generations:
            done = (view.search + view.generation / self._generations) / view.searches
            shares.append(done)
        self._progress.update(self._task, completed=min(max(shares), 1.0), detail=", ".join(detail))


def show_result(
    result: Result, console: Console, /, *, saved_to: Path | None, plotted_to: Path | None
) -> None:
    """Print what a person wants to know of a result."""
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    size = f"{result.problem.rows} x {result.problem.columns}"
    table.add_row("problem", f"{result.problem.name} ({result.problem.kind}, {size})")
    for k, objective in enumerate(result.objectives):
        worth = "" if result.value is None else f" = {result.value[k]:g}"
        told = result.best_known.told[k]
        known = "" if told is None or isinstance(told, bool) else f"; best value told {told:g}"
        table.add_row(
            objective.name, f"{objective.sense}{worth}; disclosing {objective.disclosure}{known}"
        )
    if result.percent_of_optimum is not None and result.optimum is not None:
        table.add_row(
            "quality", f"{result.percent_of_optimum:.2f} % of the optimum {result.optimum:g}"
        )
    table.add_row("search", _search_line(result))
    for note in result.notes:
        table.add_row("note", note)
    table.add_row("plan", _plan_line(result, saved_to))
    if saved_to is not None:
        table.add_row("result", str(saved_to))
    if plotted_to is not None:
        table.add_row("plot", str(plotted_to))
    console.print(table)


def _search_line(result: Result) -> str:
    if result.algorithm == "exact":
        return "exact"
    seconds = result.timing.seconds if result.timing else 0.0
    where = "on three nodes" if result.engine == "nodes" else "in this process"
    what = "searched" if result.algorithm == SEALED else "evaluated"
    return (
        f"{result.algorithm}, seed {result.seed}: {result.generations} generations in "
        f"{show_duration(seconds)}, {what} {where}, stopped by {result.stopped}"
    )


def _plan_line(result: Result, saved_to: Path | None) -> str:
    if result.named_plan is None:
        entries = [str(entry) for entry in result.plan]
    else:
        entries = [f"{one}→{other}" for one, other in result.named_plan]
    shown = " ".join(entries[:PLAN_ENTRIES_SHOWN])
    rest = len(entries) - PLAN_ENTRIES_SHOWN
    if rest <= 0:
        return shown
    where = "--out FILE keeps all" if saved_to is None else f"all in {saved_to}"
    return f"{shown} … ({rest} more; {where})"
