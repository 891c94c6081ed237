"""How far a study is: a bar with an estimate on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tacit.runs import show_duration

LINE_EVERY_SECONDS = 30.0


class StudyProgress:
    """Counts runs and estimates the time left from those computed in this session.

    >>> with StudyProgress(Console(quiet=True), {"ap": 4}) as progress:
    ...     progress.advance("ap", 1)
    ...     progress.time_left() is None
    True
    """

    def __init__(self, console: Console, runs: dict[str, int], /) -> None:
        self._console, self._total = console, sum(runs.values())
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            console=console,
        )
        self._tasks = {
            name: self._bar.add_task(name, total=count, left="", visible=console.is_terminal)
            for name, count in runs.items()
        }
        self._done = self._computed = 0
        self._started = self._last_line = time.monotonic()

    def __enter__(self) -> StudyProgress:
        """Start drawing."""
        if self._console.is_terminal:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the finished bars standing."""
        if self._console.is_terminal:
            self._bar.stop()

    def advance(self, study: str, runs: int, /) -> None:
        """So many more runs of a study are there; a batch at once was found, not computed."""
        self._done += runs
        if runs == 1:
            self._computed += 1
        left = self.time_left()
        told = "" if left is None else f"{show_duration(left)} left"
        self._bar.update(self._tasks[study], advance=runs, left=told)
        now = time.monotonic()
        if not self._console.is_terminal and now - self._last_line >= LINE_EVERY_SECONDS:
            self._last_line = now
            self._console.print(f"{study}: {self._done} of {self._total} runs, {told}")

    def time_left(self) -> float | None:
        """Seconds, once enough runs were computed to tell."""
        if self._computed < 10:
            return None
        each = (time.monotonic() - self._started) / self._computed
        return each * (self._total - self._done)
