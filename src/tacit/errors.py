"""Every error tacit raises on purpose, in one tree.

::

    TacitError                    catch this to catch all of them
    └── InputError                something the user gave is wrong
        ├── FileError             a file, with the place in it and the remedy
        ├── ProblemError          a problem that contradicts itself
        ├── DisclosureError       a disclosure that does not exist or does not fit
        └── ParameterError        a setting out of its range

Each message says what was wrong, where, and what to do about it. The command line prints it as
one line and ends with the error's `exit_code`.
"""

from __future__ import annotations

from pathlib import Path


class TacitError(Exception):
    """The root of the tree.

    >>> issubclass(InputError, TacitError)
    True
    """

    exit_code = 1


class InputError(TacitError):
    """Something the user gave is wrong; the message says what to give instead.

    >>> InputError("the deadline is negative; give a time such as 30s").exit_code
    2
    """

    exit_code = 2


class FileError(InputError):
    """A file is wrong: names the file, the place in it, what is wrong there, and the remedy.

    >>> print(FileError("w.csv", "row 3", "has 2 cells, row 1 has 3", "fill it up"))
    w.csv, row 3: has 2 cells, row 1 has 3; fill it up
    """

    def __init__(self, path: str | Path, place: str | None, what: str, remedy: str) -> None:
        self.path, self.place, self.what, self.remedy = str(path), place, what, remedy
        where = f"{path}, {place}" if place else f"{path}"
        super().__init__(f"{where}: {what}; {remedy}")

    def __reduce__(self) -> tuple[type[FileError], tuple[str, str | None, str, str]]:
        # Errors travel between processes, and the default would hand back the message alone.
        return FileError, (self.path, self.place, self.what, self.remedy)


class ProblemError(InputError):
    """A problem contradicts itself: a row without an owner, more rows than columns.

    >>> raise ProblemError("row 4 has no owner; add it to one participant's rows")
    Traceback (most recent call last):
    tacit.errors.ProblemError: row 4 has no owner; add it to one participant's rows
    """


class DisclosureError(InputError):
    """A disclosure that does not exist, or that does not fit the population.

    >>> raise DisclosureError("top:400 asks for 400 of 300 individuals; lower it")
    Traceback (most recent call last):
    tacit.errors.DisclosureError: top:400 asks for 400 of 300 individuals; lower it
    """


class ParameterError(InputError):
    """A setting out of its range.

    >>> raise ParameterError("population is 0; give at least 2")
    Traceback (most recent call last):
    tacit.errors.ParameterError: population is 0; give at least 2
    """
