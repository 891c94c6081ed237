"""Load a problem from any supported file or from the package, and save one in our JSON format.

The package has six 100-city tours of TSPLIB (Reinelt 1991). JSON is written with one matrix row per
line so that diffs stay readable.
"""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tacit.disclosure import Unsaid
from tacit.errors import FileError, ParameterError, ProblemError
from tacit.files import naming_file, writing
from tacit.problems.assignment import Assignment
from tacit.problems.files.decimals import is_power_of_ten, unscaled_text
from tacit.problems.files.json_format import FORMAT, read_problem_file
from tacit.problems.files.matrices import CSV_SUFFIXES, read_mask, read_weights
from tacit.problems.files.tsplib import METRICS, read_tsplib
from tacit.problems.kinds import with_usual_disclosures
from tacit.problems.objective import Objective
from tacit.problems.problem import Participant, Problem

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
    # A file of that name in the working folder goes before the one of the package.
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


def save_problem(problem: Problem, path: str | Path, /) -> None:
    """Write a problem that `load_problem` reads back the same."""
    text = problem_text(problem)
    with writing(path):
        Path(path).write_text(text, encoding="utf-8")


def problem_text(problem: Problem, /) -> str:
    """The JSON text of a problem; docs/problem-format.md shows one."""
    metric = _metric_of(problem)
    fields = {"format": _text(FORMAT), "kind": _text(problem.kind), "name": _text(problem.name)}
    if problem.source is not None:
        fields["source"] = _text(problem.source)
    fields["rows"], fields["columns"] = str(problem.rows), str(problem.columns)
    if problem.row_names is not None:
        fields["row_names"] = _text(problem.row_names)
    if problem.column_names is not None:
        fields["column_names"] = _text(problem.column_names)
    if problem.participants != (Participant("owner", tuple(range(problem.rows))),):
        owners = [
            f'{{"name": {_text(p.name)}, "rows": {_text(p.rows)}}}' for p in problem.participants
        ]
        fields["participants"] = _lines(owners, 2)
    fields |= {name: _text(numbers) for name, numbers in problem.data.items()}
    if problem.forbidden is not None:
        fields["forbidden"] = _text(np.argwhere(problem.forbidden).tolist())
    if problem.optimum is not None:
        fields["optimum"] = unscaled_text(problem.optimum, _written_scale(problem.objectives[0]))
    objectives = [
        _objective(objective, with_weights=not metric) for objective in problem.objectives
    ]
    fields["objectives"] = _lines(objectives, 2)
    if problem.coordinates is not None:
        if metric:
            fields["metric"] = _text(metric)
        fields["coordinates"] = _lines([_point(point) for point in problem.coordinates], 2)
    return _object(fields, 0) + "\n"


def _metric_of(problem: Problem) -> str | None:
    """The metric that gives exactly the weights, which then need not be written."""
    if problem.coordinates is None or len(problem.objectives) > 1:
        return None
    objective = problem.objectives[0]
    if objective.weights is None:
        return None
    for name, distances in METRICS.items():
        if np.array_equal(distances(problem.coordinates) * objective.scale, objective.weights):
            return name
    return None


def _objective(objective: Objective, *, with_weights: bool) -> str:
    scale = _written_scale(objective)
    is_unsaid = isinstance(objective.disclosure, Unsaid)
    said = {}
    if not is_unsaid:
        said["disclosure"] = _text(objective.disclosure.text)
    if not is_unsaid or objective.best_mode is not Unsaid.usual_best:
        said["best"] = _text(objective.best_mode.value)
    fields = {
        "name": _text(objective.name),
        "sense": _text(objective.sense),
        "confidential": _text(objective.confidential),
        **said,
        "scale": str(scale),
        "weight_bound": unscaled_text(objective.weight_bound, scale),
    }
    if with_weights and objective.weights is not None:
        rows = [
            "[" + ", ".join(unscaled_text(weight, scale) for weight in row) + "]"
            for row in objective.weights.tolist()
        ]
        fields["weights"] = _lines(rows, 6)
    return _object(fields, 4)


def _written_scale(objective: Objective) -> int:
    if not is_power_of_ten(objective.scale):
        raise ProblemError(
            f"objective {objective.name!r}: decimals cannot be written with scale "
            f"{objective.scale}; use a power of ten"
        )
    return objective.scale


def _point(point: NDArray[np.float64]) -> str:
    return "[" + ", ".join(_number(float(number)) for number in point) + "]"


def _number(number: float) -> str:
    return str(int(number)) if number.is_integer() and abs(number) < 2**53 else repr(number)


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _lines(items: list[str], indent: int) -> str:
    pad = " " * (indent + 2)
    return "[\n" + ",\n".join(pad + item for item in items) + "\n" + " " * indent + "]"


def _object(fields: dict[str, str], indent: int) -> str:
    pad = " " * (indent + 2)
    lines = ",\n".join(f"{pad}{_text(name)}: {text}" for name, text in fields.items())
    return "{\n" + lines + "\n" + " " * indent + "}"


# What each participant takes home of a drawn problem: its own rows as a CSV to submit.


PUBLIC = "public.json"


def public_part(problem: Problem, /) -> Problem:
    """The problem without anybody's weights: all that a platform needs.

    Coordinates stay: where the cities of a tour lie is public.
    """
    bare = tuple(replace(objective, weights=None) for objective in problem.objectives)
    # The optimum follows from everybody's weights, so it is as confidential as they are.
    return replace(problem, objectives=bare, optimum=None)


def save_participants(problem: Problem, folder: Path, /) -> list[Path]:
    """Write a CSV per participant (and objective, if there are several) and the public rest."""
    written = []
    with writing(folder, remedy="choose another folder"):
        folder.mkdir(parents=True, exist_ok=True)
        for participant in problem.participants:
            for objective in problem.objectives:
                more = f" {objective.name}" if len(problem.objectives) > 1 else ""
                path = folder / f"{participant.name}{more}.csv"
                path.write_text(rows_as_csv(problem, participant, objective), encoding="utf-8")
                written.append(path)
    save_problem(public_part(problem), folder / PUBLIC)
    return [*written, folder / PUBLIC]


def rows_as_csv(problem: Problem, participant: Participant, objective: Objective, /) -> str:
    r"""A participant's rows of one objective, in the user's unit, with names where there are any.

    >>> from tacit.problems import generate_delays
    >>> problem = generate_delays(1, flights=2, slots=2, airlines=2)
    >>> rows_as_csv(problem, problem.participants[0], problem.objectives[0])
    'row,06:00,06:04\namber 100,0,0\n'
    """
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    if problem.column_names is not None:
        corner = ["row"] if problem.row_names is not None else []
        lines.writerow([*corner, *problem.column_names])
    weights = np.zeros((0, 0)) if objective.weights is None else objective.weights
    for row in participant.rows:
        name = [problem.row_names[row]] if problem.row_names is not None else []
        lines.writerow(name + [unscaled_text(int(w), objective.scale) for w in weights[row]])
    return text.getvalue()
