"""From a problem, drawn or uploaded, to the terms of a run, which hold no weights."""

from __future__ import annotations

import io
import json
import re
import tempfile
import unicodedata
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

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
from tacit.service.api.terms import RunTerms, draft_of_problem
from tacit.service.dashboard.refusals import plain_refusal

KINDS = {
    "delays": "Flights and landing slots",
    "ap": "Assignment, uniform weights",
    "tsp": "Tour through cities",
    "capacitated": "Assignment to columns with capacities",
    "routing": "Vehicles from a depot to customers",
}


class ObjectiveRule(NamedTuple):
    """What is disclosed of one objective, and of its best value."""

    disclosure: str
    best: str


def usual_rule(problem: Problem, /) -> ObjectiveRule:
    """Where a problem says nothing, as little as can be is disclosed."""
    all_secret = all(each.confidential for each in problem.objectives)
    kind = problem if all_secret else Problem
    return ObjectiveRule(kind.usual_disclosure, "nothing")


@dataclass(frozen=True)
class Upload:
    """A problem, and what its file says of each objective."""

    problem: Problem
    rules: tuple[ObjectiveRule, ...]


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
    on_loss: str = "wait"
    objectives: tuple[ObjectiveRule, ...] = ()
    """Of each objective, where they differ from `disclosure` and `best`."""


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


def account_name(name: str, /) -> str:
    """The name of an account that comes closest to a participant's name, with no spaces in it.

    >>> account_name("Participant 1"), account_name("ce\u0301leste"), account_name("--")
    ('Participant-1', 'céleste', 'participant')
    """
    plain = re.sub(r"[^\w.-]+", "-", unicodedata.normalize("NFC", name)).strip("-._")
    return plain[:63] or "participant"


def run_terms(problem: Problem, rules: Rules, /) -> dict[str, Any]:
    """What the API takes as a draft."""
    owners = {account_name(each.name): each.rows for each in problem.participants}
    if len(owners) < len(problem.participants):
        raise ParameterError(
            "two participants' names differ only in signs that accounts cannot have; rename one"
        )
    draft = draft_of_problem(problem, owners, disclosure=rules.disclosure, best=rules.best)
    for objective, rule in zip(draft["objectives"], rules.objectives, strict=False):
        if objective.get("confidential", True):
            objective.update(rule._asdict())
    terms = {
        **draft,
        "name": rules.name,
        "limits": {"evaluations": rules.evaluations or None, "expiry_hours": rules.expiry_hours},
        "deadline_seconds": rules.deadline_seconds,
        "reveal_best": rules.reveal_best,
        "plan": rules.plan,
        "on_loss": rules.on_loss,
    }
    try:
        RunTerms.model_validate(terms)
    except ValidationError as error:
        raise ParameterError(plain_refusal(error)) from None
    return terms


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
