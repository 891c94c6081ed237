"""Writing a problem in our JSON format, one matrix row per line so that diffs stay readable."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tacit.disclosure import Unsaid
from tacit.errors import ProblemError
from tacit.files import writing
from tacit.problems.files.decimals import is_power_of_ten, unscaled_text
from tacit.problems.files.problem_file import FORMAT
from tacit.problems.files.tsplib_distances import METRICS
from tacit.problems.model.objective import Objective
from tacit.problems.model.problem import Participant, Problem


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
