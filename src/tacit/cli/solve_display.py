"""Show a running `tacit solve` as a live line, and its result as a summary."""

from __future__ import annotations

import time
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, SpinnerColumn, TextColumn
from rich.progress import Progress as Bar
from rich.table import Table

from tacit.agreement import COUNTS, promise_of
from tacit.problems import Problem
from tacit.runs import (
    DEFAULT_GENERATIONS,
    FrontSummary,
    Limits,
    Progress,
    Result,
    disclosed_to_user,
    show_duration,
)

REFRESH_SECONDS = 0.1
PLAN_ENTRIES_SHOWN = 12


class LiveProgress:
    """A progress line with generation, best value and time left."""

    def __init__(self, console: Console, problem: Problem, limits: Limits, /) -> None:
        self._problem, self._deadline = problem, limits.deadline
        self._generations = limits.generations or (
            DEFAULT_GENERATIONS if limits.is_unlimited else None
        )
        self._bar = Bar(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            TextColumn("{task.fields[detail]}"),
            console=console,
            transient=True,
            expand=True,
        )
        self._task = self._bar.add_task(problem.name, total=1.0, detail="")
        self._next_refresh = 0.0

    def __enter__(self) -> LiveProgress:
        """Start drawing."""
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Clear the line."""
        self._bar.stop()

    @property
    def share_done(self) -> float:
        """How much of the bar was drawn last, from 0 to 1."""
        return float(self._bar.tasks[0].completed)

    def announce(self, line: str, /) -> None:
        """Say what is being prepared, at once: it may be done before the next regular drawing."""
        self._bar.update(self._task, detail=line, refresh=True)

    def observe(self, progress: Progress, /) -> None:
        """Draw where the search stands, if the last drawing is old enough."""
        now = time.monotonic()
        # A search may have hundreds of generations a second, and drawing each would slow it down.
        if now < self._next_refresh:
            return
        self._next_refresh = now + REFRESH_SECONDS
        # Whichever limit comes first ends the search, so the bar shows the one that is closest.
        shares = [0.0]
        detail = [_standing(progress)]
        if progress.searches > 1:
            several = progress.plans > progress.searches
            what = f"group {progress.search + 1}" if several else f"plan {progress.search + 1}"
            detail.insert(0, f"{what} of {progress.searches}")
        if progress.plans > progress.searches:
            detail.insert(0, f"{progress.plans} plans")
        disclosed = disclosed_to_user(self._problem, progress.best)
        best = [str(each) for each in disclosed if each is not None]
        detail.append("best " + " / ".join(best) if best else "no value is disclosed")
        if self._deadline is not None:
            shares.append(progress.seconds / self._deadline)
            detail.append(f"{show_duration(max(self._deadline - progress.seconds, 0))} left")
        if progress.steps:
            shares.append(progress.generation / progress.steps)
        elif self._generations:
            shares.append(progress.generation / self._generations)
        done = min(max(shares), 1.0)
        # At once: on a busy machine the search may be over before the next regular drawing.
        self._bar.update(self._task, completed=done, detail=", ".join(detail), refresh=True)


def _standing(progress: Progress) -> str:
    """Return the step that a search has made last."""
    if progress.iteration is not None:
        return f"iteration {progress.iteration}"
    return f"generation {progress.generation}"


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
        worth = "" if result.value is None else f" = {_exactly(result.value[k])}"
        best = result.best_known.disclosed[k]
        known = (
            "" if best is None or isinstance(best, bool) else f"; best disclosed {_exactly(best)}"
        )
        table.add_row(
            objective.name, f"{objective.sense}{worth}; disclosing {objective.disclosure}{known}"
        )
    if result.percent_of_optimum is not None and result.optimum is not None:
        table.add_row(
            "quality",
            f"{result.percent_of_optimum:.2f} % of the optimum {_exactly(result.optimum)}",
        )
    table.add_row("search", _search_line(result))
    if result.nodes:
        table.add_row("promise", promise_of(result.nodes))
    for note in result.notes:
        table.add_row("note", note)
    if result.front is not None:
        table.add_row("front", _front_line(result.front, len(result.best_known.plans)))
    table.add_row("plan", _plan_line(result, saved_to))
    if saved_to is not None:
        table.add_row("result", str(saved_to))
    if plotted_to is not None:
        table.add_row("plot", str(plotted_to))
    console.print(table)


def _exactly(value: float) -> str:
    """A value with all its digits.

    >>> _exactly(1000005.0), _exactly(12345.67)
    ('1000005', '12345.67')
    """
    return str(int(value)) if value == int(value) else str(value)


def _search_line(result: Result) -> str:
    if result.algorithm == "exact":
        return "exact"
    seconds = result.timing.seconds if result.timing else 0.0
    where = f"on {COUNTS[result.nodes]} nodes" if result.nodes else "in this process"
    if result.proved is None:
        return (
            f"{result.algorithm}, seed {result.seed}: {result.generations} generations in "
            f"{show_duration(seconds)} {where}, stopped by {result.stopped}"
        )
    proved = "proved to be the optimum" if result.proved else "not proved to be the optimum"
    if result.gaps and not result.proved:
        proved += f", which is better by at most {max(result.gaps):,}"
    generations, iterations = _steps(result)
    return (
        f"{result.algorithm}: {generations} generations and {iterations} iterations in "
        f"{show_duration(seconds)} {where}, {proved}"
    )


def _steps(result: Result) -> tuple[int, int]:
    """Return how many steps of a sealed assignment were block descent, and how many followed."""
    descent = int(result.parameters["generations"])
    made = [sum(int(count) for _, count, _ in each) for each in result.parameters["schedule"]]
    generations = sum(min(descent, steps) for steps in made)
    return generations, sum(made) - generations


def _front_line(front: FrontSummary, plans: int) -> str:
    line = f"{len(front.nondominated)} of {plans} plans of the last set are non-dominated"
    if front.values is None:
        return line
    spans = [
        f"{_exactly(min(each))} to {_exactly(max(each))}"
        for each in zip(*front.values, strict=True)
    ]
    return f"{line}: {', '.join(spans)}"


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
