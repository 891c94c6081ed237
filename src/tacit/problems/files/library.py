"""The problems that come with the package: six 100-city tours of TSPLIB (Reinelt 1991)."""

from __future__ import annotations

from importlib.resources import as_file, files

from tacit.errors import ParameterError
from tacit.problems.files.problem_from_file import read_problem_file
from tacit.problems.model.problem import Problem

_SUFFIX = ".json"


def shipped_names() -> tuple[str, ...]:
    """Names of the problems in the package, in alphabetical order.

    >>> shipped_names()
    ('kroA100', 'kroB100', 'kroC100', 'kroD100', 'kroE100', 'rd100')
    """
    entries = (entry.name for entry in (files("tacit.problems") / "data").iterdir())
    return tuple(sorted(name.removesuffix(_SUFFIX) for name in entries if name.endswith(_SUFFIX)))


def shipped_problem(name: str, /) -> Problem:
    """Read a problem of the package.

    >>> shipped_problem("kroD100").optimum
    21294
    """
    if name not in shipped_names():
        known = ", ".join(shipped_names())
        raise ParameterError(f"no problem {name!r} is shipped; use one of {known}")
    with as_file(files("tacit.problems") / "data" / f"{name}{_SUFFIX}") as path:
        return read_problem_file(path)
