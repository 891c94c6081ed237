"""The progress of a run: a CSV line per generation, thinned to a length that stays small.

The worker writes it, the API hands it out. A long run has a line for every second, fourth, eighth
... generation.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from contextlib import suppress

from tacit.client import RunProgress
from tacit.service.storage.run_files import PROGRESS, FilePart

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


def progress_text(stored: bytes | None, last: RunProgress | None, /, *, objectives: int) -> str:
    """A run's file as it is now, up to its last report."""
    lines = _lines(stored)
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

    >>> from tacit.service.execution.report import Report
    >>> file = ProgressFile(None, objectives=1, after=-1, most=4)
    >>> for generation in range(9):
    ...     file.add(Report(stage="running", generation=generation).progress())
    ...     part = file.new_part()
    >>> [line.split(",")[0] for line in part.data.decode().splitlines()[1:]]
    ['0', '4', '8']
    """

    def __init__(
        self, stored: bytes | None, /, *, objectives: int, after: int, most: int = MOST_LINES
    ) -> None:
        self._header, self._most = header(objectives), most
        self._every, self._size = 1, 0
        # A run that resumes from its checkpoint repeats the generations after that.
        self._lines = [line for line in _lines(stored) if _generation(line) <= after]
        self._new: list[str] = []

    def add(self, progress: RunProgress, /) -> None:
        """One more generation, if it is one that has a line."""
        if progress.generation % self._every == 0:
            self._new.append(line_of(progress))

    @property
    def whole(self) -> bytes:
        """All lines so far, with the first."""
        return (self._header + "".join([*self._lines, *self._new])).encode()

    def new_part(self) -> FilePart | None:
        """What has come since the last part; the first one is the whole file."""
        if self._size and not self._new:
            return None
        new, self._new = self._new, []
        self._lines += new
        if self._size and len(self._lines) <= self._most:
            part = FilePart(PROGRESS, "".join(new).encode(), self._size)
        else:
            while len(self._lines) > self._most:
                self._every *= 2
                self._lines = _thinned(self._lines, self._every)
            part = FilePart(PROGRESS, self.whole)
            self._size = 0
        self._size += len(part.data)
        return part


def _thinned(lines: Sequence[str], every: int) -> list[str]:
    return [line for line in lines if _generation(line) % every == 0]


def _lines(stored: bytes | None) -> list[str]:
    """All lines but the first."""
    return [] if stored is None else stored.decode().splitlines(keepends=True)[1:]


def _generation(line: str) -> int:
    return int(line.partition(",")[0])
