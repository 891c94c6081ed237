"""From a problem, drawn or uploaded, to the terms of a run, which hold no weights."""

from __future__ import annotations

import io
import re
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.errors import ParameterError
from tacit.problems import (
    MatrixFile,
    Problem,
    decode_problem_file,
    generate_named,
    load_problem,
    save_participants,
)
from tacit.service.api.terms import draft_of_problem

KINDS = {
    "delays": "Flights and landing slots",
    "ap": "Assignment, uniform weights",
    "tsp": "Tour through cities",
    "capacitated": "Assignment to columns with capacities",
    "routing": "Vehicles from a depot to customers",
}


@dataclass(frozen=True)
class Rules:
    """What an operator decides about a run besides its problem."""

    name: str
    disclosure: str
    best: str
    deadline_seconds: float
    evaluations: int
    expiry_hours: float
    reveal_best: bool = False
    plan: str = "everybody"


def drawn_problem(
    kind: str, /, *, rows: int, columns: int, participants: int, seed: int
) -> Problem:
    """Draw a problem of one of `KINDS`."""
    if kind not in KINDS:
        raise ParameterError(f"{kind!r} cannot be drawn; use one of {', '.join(KINDS)}")
    return generate_named(kind, seed, rows=rows, columns=columns, participants=participants)


def uploaded_problem(content: bytes, /) -> Problem:
    """Read an uploaded problem file, which may not refer to files of the platform."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "upload.json")
        file.write_bytes(content)
        raw = decode_problem_file(file)
        matrices = [raw.forbidden, *(objective.weights for objective in raw.objectives)]
        if any(isinstance(matrix, MatrixFile) for matrix in matrices):
            raise ParameterError(
                "the problem refers to another file; leave weights out, and write forbidden "
                "pairs into the problem itself"
            )
        return load_problem(file)


def account_name(name: str, /) -> str:
    """The name of an account that comes closest to a participant's name.

    >>> account_name("Participant 1"), account_name("--")
    ('participant-1', 'participant')
    """
    plain = re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-._")
    return plain[:63] or "participant"


def run_terms(problem: Problem, rules: Rules, /) -> dict[str, Any]:
    """What the API takes as a draft."""
    owners = {account_name(each.name): each.rows for each in problem.participants}
    if len(owners) < len(problem.participants):
        raise ParameterError(
            "two participants' names differ only in signs that accounts cannot have; rename one"
        )
    draft = draft_of_problem(problem, owners, disclosure=rules.disclosure, best=rules.best)
    return {
        **draft,
        "name": rules.name,
        "limits": {"evaluations": rules.evaluations or None, "expiry_hours": rules.expiry_hours},
        "deadline_seconds": rules.deadline_seconds,
        "reveal_best": rules.reveal_best,
        "plan": rules.plan,
    }


def has_weights(problem: Problem, /) -> bool:
    """Whether somebody's costs came with the problem."""
    return any(objective.weights is not None for objective in problem.objectives)


def costs_archive(problem: Problem, /) -> bytes:
    """A zip file with each participant's CSV, for trying things out with drawn costs."""
    packed = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(packed, "w") as archive:
        for path in save_participants(problem, Path(folder)):
            archive.write(path, account_name(path.stem) + path.suffix)
    return packed.getvalue()
