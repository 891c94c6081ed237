"""The progress of a run: a CSV line per generation, thinned to a length that stays small.

The worker writes it, the API hands it out. A long run has a line for every second, fourth, eighth
... generation.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tacit.client import RunProgress
from tacit.files import replace_file

PROGRESS = "progress.csv"
MOST_LINES = 2000
COLUMNS = ("generation", "seconds", "evaluations", "evaluations_per_second", "best")


def header(objectives: int, /) -> str:
    r"""The first line; `best` is that of the first objective.

    >>> header(2)
    'generation,seconds,evaluations,evaluations_per_second,best,best_2\n'
    """
    return ",".join([*COLUMNS, *(f"best_{k + 1}" for k in range(1, objectives))]) + "\n"


def line_of(progress: RunProgress, /) -> str:
    r"""A report of progress as a line.

    >>> from tacit.service.execution.report import Report
    >>> line_of(Report(stage="running", generation=3, seconds=0.5, best=[7.0, None]).progress())
    '3,0.5,0,0.0,7.0,\n'
    """
    cells = [*(getattr(progress, name) for name in COLUMNS[:-1]), *progress.best]
    return ",".join("" if cell is None else str(cell) for cell in cells) + "\n"


def read_progress(folder: Path, last: RunProgress | None, /, *, objectives: int) -> str:
    """A run's file as it is now, up to its last report."""
    lines = _lines(folder / PROGRESS)
    if last is not None:
        new = line_of(last)
        if _generation(new) > (_generation(lines[-1]) if lines else -1):
            lines.append(new)
    return header(objectives) + "".join(lines)


def progress_points(text: str, /) -> list[tuple[float, float]]:
    r"""Seconds and best value from a run's file; lines that disclose no value are left out.

    >>> progress_points("generation,seconds,best\n0,0.1,9\n1,0.2,\n2,0.3,True\n")
    [(0.1, 9.0)]
    """
    points = []
    for line in csv.DictReader(io.StringIO(text)):
        with suppress(ValueError, TypeError, KeyError):
            points.append((float(line["seconds"]), float(line["best"])))
    return points


class ProgressFile:
    """A run's file, as its worker writes it; it continues where the run does.

    >>> import tempfile
    >>> from tacit.service.execution.report import Report
    >>> folder = Path(tempfile.mkdtemp())
    >>> file = ProgressFile(folder, objectives=1, after=-1, most=4)
    >>> for generation in range(9):
    ...     file.add(Report(stage="running", generation=generation).progress())
    ...     file.flush()
    >>> [line.split(",")[0] for line in (folder / PROGRESS).read_text().splitlines()[1:]]
    ['0', '4', '8']
    """

    def __init__(
        self, folder: Path, /, *, objectives: int, after: int, most: int = MOST_LINES
    ) -> None:
        self._path, self._header, self._most = folder / PROGRESS, header(objectives), most
        self._every = 1
        # A run that resumes from its checkpoint repeats the generations after that.
        self._lines = [line for line in _lines(self._path) if _generation(line) <= after]
        self._new: list[str] = []
        self._rewrite()

    def add(self, progress: RunProgress, /) -> None:
        """One more generation, if it is one that has a line."""
        if progress.generation % self._every == 0:
            self._new.append(line_of(progress))

    def flush(self) -> None:
        """Write down what is new."""
        if not self._new:
            return
        self._lines += self._new
        if len(self._lines) > self._most:
            self._rewrite()
        else:
            with self._path.open("a") as file:
                file.writelines(self._new)
        self._new = []

    def _rewrite(self) -> None:
        while len(self._lines) > self._most:
            self._every *= 2
            self._lines = _thinned(self._lines, self._every)
        replace_file(self._path, (self._header + "".join(self._lines)).encode())


def _thinned(lines: Sequence[str], every: int) -> list[str]:
    return [line for line in lines if _generation(line) % every == 0]


def _lines(path: Path) -> list[str]:
    """All whole lines but the first."""
    try:
        text = path.read_text()
    except FileNotFoundError:
        return []
    return text[: text.rfind("\n") + 1].splitlines(keepends=True)[1:]


def _generation(line: str) -> int:
    return int(line.partition(",")[0])
