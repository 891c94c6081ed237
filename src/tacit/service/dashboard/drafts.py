"""Problems for a new run: drawn, or uploaded as a file."""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from tacit.errors import FileError, ParameterError
from tacit.problems import (
    MatrixFile,
    Objective,
    Problem,
    decode_problem_file,
    generate_named,
    load_problem,
    save_participants,
)
from tacit.service.dashboard.rules import ObjectiveRule, account_name

KINDS = {
    "delays": "Flights and landing slots",
    "ap": "Assignment, uniform weights",
    "tsp": "Tour through cities",
    "capacitated": "Assignment to columns with capacities",
    "routing": "Vehicles from a depot to customers",
}


@dataclass(frozen=True)
class Upload:
    """A problem, and what its file says of each objective."""

    problem: Problem
    rules: tuple[ObjectiveRule, ...]


def drawn_problem(
    kind: str, /, *, rows: int, columns: int, participants: int, seed: int
) -> Problem:
    """Draw a problem of one of `KINDS`."""
    if kind not in KINDS:
        raise ParameterError(f"{kind!r} cannot be drawn; use one of {', '.join(KINDS)}")
    return generate_named(kind, seed, rows=rows, columns=columns, participants=participants)


def uploaded(content: bytes, /) -> Upload:
    """Read an uploaded problem file, which may not refer to files of the platform."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "upload.json")
        file.write_bytes(content)
        try:
            raw = decode_problem_file(file)
            matrices = [raw.forbidden, *(objective.weights for objective in raw.objectives)]
            if any(isinstance(matrix, MatrixFile) for matrix in matrices):
                raise ParameterError(
                    "the problem refers to another file; leave weights out, and write forbidden "
                    "pairs into the problem itself"
                )
            problem = load_problem(file)
        except FileError as error:
            # Where the platform keeps it for a moment is nobody's business.
            raise ParameterError(str(error).replace(str(file), "the file")) from None
    said = json.loads(content).get("objectives", [])
    given = said if len(said) == len(problem.objectives) else [{} for _ in problem.objectives]
    rules = zip(given, problem.objectives, strict=True)
    return Upload(problem, tuple(_said_rule(entry, objective) for entry, objective in rules))


def _said_rule(entry: dict[str, str], objective: Objective) -> ObjectiveRule:
    """What a file says of an objective; what it leaves out is as little as there is."""
    disclosure = objective.disclosure.text
    usual = "value" if disclosure == "none" else "nothing"
    return ObjectiveRule(disclosure, entry.get("best") or usual)


def has_weights(problem: Problem, /) -> bool:
    """Whether somebody's costs came with the problem."""
    return any(each.weights is not None and each.confidential for each in problem.objectives)


def costs_archive(problem: Problem, /) -> bytes:
    """A zip file with each participant's CSV, for trying things out with drawn costs."""
    packed = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(packed, "w") as archive:
        for path in save_participants(problem, Path(folder)):
            archive.write(path, account_name(path.stem) + path.suffix)
    return packed.getvalue()
