"""Read a participant's costs, and check them cell by cell before anything is sealed.

They come from a CSV. For a series they may come from a folder, where NUMBER.csv counts for the run
of that number and costs.csv for any other; of several objectives the K-th has NUMBER-K.csv or
costs-K.csv. Or they come from a command of the owner's, which gets the rows and columns as a CSV
with empty cells on its standard input, and prints the same CSV filled in. No name that came from
the platform becomes part of a path or of a command.
"""

from __future__ import annotations

import csv
import io
import os
import shlex
import subprocess
import tempfile
import time
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tacit.agreement import Agreement, ObjectiveTerms
from tacit.errors import FileError, InputError
from tacit.problems import CellFileError, Fault, WeightTable, read_csv_weights, unscaled_text


def read_costs(
    path: Path, agreement: Agreement, participant: str, objective: int, /
) -> NDArray[np.int64]:
    r"""A participant's rows in the agreement's order, scaled to whole numbers within its bound.

    Rows come by name or by number (from 0, as in the agreement) in the first column, or without
    either in the agreement's order; columns by name in the first line, or in their order.
    """
    terms, problem = agreement.objectives[objective], agreement.problem
    rows = agreement.rows_of(participant, objective)
    if not rows:
        raise InputError(f"{participant!r} owns no rows of {terms.name!r}; give --objective")
    table = _read(path, terms, problem.columns)
    if table.weights.shape[1] != problem.columns:
        raise FileError(
            path,
            None,
            f"has {table.weights.shape[1]} columns of numbers, and the agreement has "
            f"{problem.columns}",
            "give one number for each column, and the names of rows before them",
        )
    lines = _lines_of_rows(path, table, agreement, rows, participant)
    columns = _columns(path, table.column_names, problem.column_names, problem.columns)
    return table.weights[lines][:, columns]


def check_weights(
    weights: NDArray[np.int64], agreement: Agreement, participant: str, objective: int, /
) -> None:
    """Refuse scaled weights that are not this participant's rows within the bound."""
    rows, terms = agreement.rows_of(participant, objective), agreement.objectives[objective]
    if weights.shape != (len(rows), agreement.problem.columns):
        raise InputError(
            f"{participant!r} owns {len(rows)} rows of {agreement.problem.columns} weights, and "
            f"gave {weights.shape}; give its rows only, in the agreement's order"
        )
    if not np.issubdtype(weights.dtype, np.integer):
        raise InputError(f"weights are {weights.dtype}; scale them to whole numbers")
    row_names, column_names = agreement.known_problem.labels
    for line, column in np.argwhere((weights < 0) | (weights > terms.weight_bound)):
        raise InputError(
            f"the weight {weights[line, column]} of row {row_names[rows[line]]}, column "
            f"{column_names[column]} is outside 0..{terms.weight_bound}; correct it"
        )


def _read(path: Path, terms: ObjectiveTerms, columns: int) -> WeightTable:
    try:
        return read_csv_weights(path, scale=terms.scale, limit=terms.weight_bound, columns=columns)
    except CellFileError as error:
        most = unscaled_text(terms.weight_bound, terms.scale)
        digits = len(str(terms.scale)) - 1
        remedy = {
            Fault.TOO_LARGE: f"the agreement allows 0 to {most}: correct the cell, or ask for a "
            "new run",
            Fault.TOO_FINE: f"the agreement allows {digits} after the point: round it",
            Fault.EMPTY: "fill in a number",
        }.get(error.fault, error.remedy)
        raise FileError(path, error.place, error.what, remedy) from None


def _lines_of_rows(
    path: Path, table: WeightTable, agreement: Agreement, rows: Sequence[int], participant: str
) -> list[int]:
    """Find the line in the file of each of the participant's rows."""
    names = agreement.problem.row_names
    if table.row_names is None:
        if len(table.weights) != len(rows):
            raise FileError(
                path,
                None,
                f"has {len(table.weights)} rows without names; {participant!r} owns {len(rows)}",
                "give your own rows only, or name them in the first column",
            )
        return list(range(len(rows)))
    by_name = {} if names is None else {_composed(name): row for row, name in enumerate(names)}
    place: dict[int, int] = {}
    # A name before a number: rows may be called "3" without being row 3.
    for line, given in enumerate(table.row_names):
        row = by_name.get(_composed(given))
        if row is None and given.isdecimal():
            row = int(given)
        if row is None or row not in rows:
            raise FileError(
                path,
                f"row {given!r}",
                f"is not a row of {participant!r}",
                f"give yours only: {show_rows(agreement, rows)}",
            )
        if row in place:
            raise FileError(path, f"row {given!r}", "stands twice", "keep one of them")
        place[row] = line
    missing = [row for row in rows if row not in place]
    if missing:
        raise FileError(path, None, f"lacks {show_rows(agreement, missing)}", "add what is missing")
    return [place[row] for row in rows]


def _columns(
    path: Path, given: Sequence[str] | None, names: Sequence[str] | None, count: int
) -> list[int]:
    """Find the file's column for each column of the agreement."""
    if given is None or names is None:
        return list(range(count))
    given, names = [_composed(name) for name in given], [_composed(name) for name in names]
    place = {name: column for column, name in enumerate(given)}
    known = set(names)
    unknown = [name for name in given if name not in known]
    if unknown or len(place) < len(given):
        wrong = unknown[0] if unknown else next(n for n in given if list(given).count(n) > 1)
        raise FileError(
            path,
            f"column {wrong!r}",
            "is not in the agreement" if unknown else "stands twice",
            f"the agreement's columns are {_some(names)}",
        )
    return [place[name] for name in names]


def _composed(name: str) -> str:
    """A name in one form: some systems write an accent as a character of its own (NFD)."""
    return unicodedata.normalize("NFC", name)


def show_rows(agreement: Agreement, rows: Sequence[int], /) -> str:
    """Rows by their names, or by their numbers where they have none."""
    names = agreement.problem.row_names
    return _some([str(row) if names is None else names[row] for row in rows])


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


SETTLED_SECONDS = 2.0
"""A file that changed more recently may still be being written."""
COMMAND_SECONDS = 300.0
PRINTED = "what the command for costs printed"


@dataclass(frozen=True)
class Wanted:
    """The costs that are asked for: a participant's rows of one objective of a run."""

    run: str
    number: int
    agreement: Agreement
    account: str
    objective: int
    is_only: bool
    """Whether there is no other objective to seal."""

    def empty_csv(self) -> str:
        """A table with the names and nothing in the cells."""
        problem = self.agreement.problem
        rows, columns = self.agreement.known_problem.labels
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["", *columns])
        for row in self.agreement.rows_of(self.account, self.objective):
            writer.writerow([rows[row], *[""] * problem.columns])
        return out.getvalue()


class FileCosts:
    """A CSV for every run, or a folder with one for each."""

    is_slow = False

    def __init__(self, place: Path, /) -> None:
        if not place.exists():
            raise FileError(place, None, "there is no such file or folder", "check the path")
        self._place = place

    @contextmanager
    def opened(self, wanted: Wanted, /) -> Iterator[Path | None]:
        """The file of a run, once it no longer changes."""
        found = next((path for path in self._candidates(wanted) if path.exists()), None)
        # A program may still be writing it; half a file could be valid and wrong.
        if found is not None and time.time() - found.stat().st_mtime < SETTLED_SECONDS:
            found = None
        yield found

    def _candidates(self, wanted: Wanted) -> list[Path]:
        if not self._place.is_dir():
            return [self._place]
        which = "" if wanted.is_only else f"-{wanted.objective + 1}"
        return [self._place / f"{stem}{which}.csv" for stem in (wanted.number, "costs")]

    def words(self, wanted: Wanted, /) -> str:
        return " or ".join(str(path) for path in self._candidates(wanted))


class CommandCosts:
    """A command of the owner's that prints the costs of a run."""

    is_slow = True
    """So that it is not called every few seconds."""

    def __init__(self, command: Sequence[str], /) -> None:
        if not command:
            raise InputError("the command for costs is empty; give a program and its arguments")
        self._command = list(command)

    @contextmanager
    def opened(self, wanted: Wanted, /) -> Iterator[Path | None]:
        """Write what the command prints to a file for its owner alone, and remove it afterwards."""
        with tempfile.TemporaryDirectory(prefix="tacit-costs-") as folder:
            path = Path(folder) / "costs.csv"
            path.write_bytes(self._printed(wanted))
            try:
                yield path
            except FileError as error:
                if error.path != str(path):
                    raise
                # The file is gone before anybody could look at it.
                raise FileError(PRINTED, error.place, error.what, error.remedy) from None

    def _printed(self, wanted: Wanted) -> bytes:
        given = {
            "TACIT_RUN": wanted.run,
            "TACIT_NUMBER": str(wanted.number),
            "TACIT_OBJECTIVE": str(wanted.objective + 1),
        }
        try:
            # Without a shell, and with names in the environment only: nothing that came from the
            # platform is ever run.
            done = subprocess.run(
                self._command,
                input=wanted.empty_csv().encode(),
                env={**os.environ, **given},
                stdout=subprocess.PIPE,
                timeout=COMMAND_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise InputError(f"the command for costs did not work ({error}); correct it") from None
        if done.returncode != 0:
            raise InputError(
                f"the command for costs ended with {done.returncode}; see what it says"
            )
        return done.stdout

    def words(self, _wanted: Wanted, /) -> str:
        return f"the command {self._command[0]}"


AnyCosts = FileCosts | CommandCosts


def cost_source(costs: Path | None, command: str | None, /) -> AnyCosts | None:
    """A file, a folder or a command line that costs come from; None if neither is given."""
    if costs is not None and command is not None:
        raise InputError("costs come from --costs or from --command; give one of them")
    if command is None:
        return None if costs is None else FileCosts(costs)
    try:
        return CommandCosts(shlex.split(command))
    except ValueError as error:  # a quotation mark without its other half
        raise InputError(f"--command {command!r} is not whole ({error}); correct it") from None
