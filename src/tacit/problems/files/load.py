"""One call that reads a problem from any file we know, by its suffix, or one of the package.

The package has six 100-city tours of TSPLIB (Reinelt 1991).
"""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path

from tacit.disclosure import Unsaid
from tacit.errors import FileError, ParameterError
from tacit.files import naming_file
from tacit.problems.assignment import Assignment
from tacit.problems.files.decimals import is_power_of_ten
from tacit.problems.files.json_format import read_problem_file
from tacit.problems.files.matrices import CSV_SUFFIXES, read_mask, read_weights
from tacit.problems.files.tsplib import read_tsplib
from tacit.problems.kinds import with_usual_disclosures
from tacit.problems.objective import Objective
from tacit.problems.problem import Problem

TSPLIB_SUFFIXES = (".tsp", ".atsp")


def load_problem(
    path: str | Path,
    /,
    *,
    minimize: bool = False,
    scale: int | None = None,
    forbidden: str | Path | None = None,
    header: bool | None = None,
    ids: bool | None = None,
) -> Problem:
    """Read a problem.

    A .json file holds all of it. A bare .csv or .npy is an assignment to maximize with one owner,
    and the options speak about it: `minimize`, the `scale` of its decimals (left out, the
    smallest that keeps them), a mask of `forbidden` pairs, and whether it has a `header` row and
    an `ids` column (left out, the cells tell). A .tsp or .atsp is a tour to minimize. The name of
    a shipped problem will do too.

    >>> load_problem("kroA100").rows
    100
    >>> load_problem("nowhere.csv")
    Traceback (most recent call last):
    tacit.errors.FileError: nowhere.csv: there is no such file; check the path
    """
    if scale is not None and not is_power_of_ten(scale):
        raise ParameterError(f"scale is {scale}; use a power of ten such as 1, 10 or 100")
    file = Path(path)
    options = {
        "minimize": minimize,
        "forbidden": forbidden is not None,
        "header": header is not None,
        "ids": ids is not None,
    }
    suffix = file.suffix.lower()
    if not _exists(file) and str(path) in shipped_names():
        _refuse_options(path, options | {"scale": scale is not None})
        return with_usual_disclosures(shipped_problem(str(path)))
    if suffix == ".json":
        _refuse_options(path, options | {"scale": scale is not None})
        return read_problem_file(file)
    if suffix in TSPLIB_SUFFIXES:
        _refuse_options(path, options | {"minimize": False})
        return with_usual_disclosures(read_tsplib(file, scale=scale))
    if suffix == ".npy" or suffix in CSV_SUFFIXES:
        bare = _bare_assignment(
            file, minimize=minimize, scale=scale, forbidden=forbidden, header=header, ids=ids
        )
        return with_usual_disclosures(bare)
    if _exists(file) and file.is_dir():
        raise FileError(path, None, "this is a folder", "name a file in it")
    if not _exists(file):
        shipped = ", ".join(shipped_names())
        remedy = f"check the path, or use a shipped problem: {shipped}"
        raise FileError(path, None, "there is no such file", remedy)
    what = f"problems are not read from {suffix!r} files" if suffix else "the file has no suffix"
    raise FileError(path, None, what, "give a .json, .csv, .npy, .tsp or .atsp file")


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # such as a name longer than any file's
        return False


def _refuse_options(path: str | Path, options: dict[str, bool]) -> None:
    """An option that the file overrules in silence would mislead."""
    given = [name for name, is_given in options.items() if is_given]
    if given:
        raise ParameterError(
            f"{' and '.join(given)} cannot be set for {path}, which says it itself; "
            "leave it away, or give a bare .csv or .npy"
        )


def _bare_assignment(
    path: Path,
    /,
    *,
    minimize: bool,
    scale: int | None,
    forbidden: str | Path | None,
    header: bool | None,
    ids: bool | None,
) -> Assignment:
    table = read_weights(path, scale=scale, header=header, ids=ids)
    rows, columns = table.weights.shape
    mask = None if forbidden is None else read_mask(Path(forbidden))
    with naming_file(path):
        objective = Objective(
            "weight",
            table.weights,
            sense="minimize" if minimize else "maximize",
            scale=table.scale,
        )
        return Assignment(
            name=path.stem,
            rows=rows,
            columns=columns,
            objectives=(objective,),
            row_names=table.row_names,
            column_names=table.column_names,
            forbidden=mask,
        )


def shipped_names() -> tuple[str, ...]:
    """Names of the problems in the package, in alphabetical order.

    >>> shipped_names()
    ('kroA100', 'kroB100', 'kroC100', 'kroD100', 'kroE100', 'rd100')
    """
    entries = (entry.name for entry in (files("tacit.problems") / "data").iterdir())
    return tuple(sorted(name.removesuffix(".json") for name in entries if name.endswith(".json")))


def shipped_problem(name: str, /) -> Problem:
    """Read a problem of the package.

    >>> shipped_problem("kroD100").optimum
    21294
    """
    if name not in shipped_names():
        known = ", ".join(shipped_names())
        raise ParameterError(f"no problem {name!r} is shipped; use one of {known}")
    with as_file(files("tacit.problems") / "data" / f"{name}.json") as path:
        read = read_problem_file(path)
    # Nobody has said what may be disclosed of it, though its file says `none`.
    unsaid = [
        replace(each, disclosure=Unsaid(), best_mode=Unsaid.usual_best) for each in read.objectives
    ]
    return replace(read, objectives=tuple(unsaid))
