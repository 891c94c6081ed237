"""Where a machine that follows a series takes its owner's costs from.

A file or a folder: in a folder NUMBER.csv counts for the run of that number, and costs.csv for any
other; of several objectives the K-th has NUMBER-K.csv or costs-K.csv. Or a command of the owner's,
which gets the rows and columns that are asked for as a CSV with empty cells on its standard input,
and prints the same CSV filled in. No name that came from the platform becomes part of a path or of
a command.
"""

from __future__ import annotations

import csv
import io
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tacit.agreement import Agreement
from tacit.errors import FileError, InputError

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
        """The file of a run, once nobody writes it any more."""
        found = next((path for path in self._candidates(wanted) if path.exists()), None)
        if found is not None and time.time() - found.stat().st_mtime < SETTLED_SECONDS:
            found = None
        yield found

    def _candidates(self, wanted: Wanted) -> list[Path]:
        if not self._place.is_dir():
            return [self._place]
        which = "" if wanted.is_only else f"-{wanted.objective + 1}"
        return [self._place / f"{stem}{which}.csv" for stem in (wanted.number, "costs")]

    def words(self, wanted: Wanted, /) -> str:
        """Where the costs are expected."""
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
        """What the command prints, in a file that only its owner can read and that goes at once."""
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
        """Where the costs are expected."""
        return f"the command {self._command[0]}"


AnyCosts = FileCosts | CommandCosts
