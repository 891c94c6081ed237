"""Opening a file that the user named, with a clear word where that fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tacit.errors import FileError, InputError


@contextmanager
def naming_file(path: Path | str, place: str | None = None, /) -> Iterator[None]:
    """Turn what the model refuses inside the block into an error that names the file.

    >>> from tacit.errors import ProblemError
    >>> with naming_file("p.json", "participants"):
    ...     raise ProblemError("row 4 has no owner; add it to one participant's rows")
    Traceback (most recent call last):
    tacit.errors.FileError: p.json, participants: row 4 has no owner; add it to one \
participant's rows
    """
    try:
        yield
    except FileError:
        raise
    except InputError as error:
        what, _, remedy = str(error).rpartition("; ")
        raise FileError(path, place, what or remedy, remedy if what else "correct it") from None
