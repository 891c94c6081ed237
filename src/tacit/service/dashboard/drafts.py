"""Make problems for new runs, and the terms of a run about one."""

from __future__ import annotations

import dataclasses
import io
import json
import re
import tempfile
import unicodedata
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from tacit.client import RunTerms
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
from tacit.service.workflow.drafting import budget_of_terms
from tacit.service.workflow.terms import problem_of_terms, terms_of_problem

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


def drawn_problem(
    kind: str, /, *, rows: int, columns: int, participants: int, seed: int
) -> Problem:
    if kind not in KINDS:
        raise ParameterError(f"{kind!r} cannot be drawn; use one of {', '.join(KINDS)}")
    return generate_named(kind, seed, rows=rows, columns=columns, participants=participants)


def uploaded(content: bytes, /) -> tuple[Problem, tuple[ObjectiveRule, ...]]:
    """Read a problem file with its rules. It may not refer to files of the platform."""
    # In a file, since that is what the reader reads; it is gone before anything is shown.
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
    # The reader gives every objective a rule; only the text shows which of them somebody wrote.
    said = json.loads(content).get("objectives", [])
    given = said if len(said) == len(problem.objectives) else [{} for _ in problem.objectives]
    rules = zip(given, problem.objectives, strict=True)
    return problem, tuple(_said_rule(entry, objective) for entry, objective in rules)


def _said_rule(entry: dict[str, str], objective: Objective) -> ObjectiveRule:
    """Return the rule in a file. Whatever it leaves out is disclosed as little as possible."""
    disclosure = objective.disclosure.text
    usual = "value" if disclosure == "none" else "nothing"
    return ObjectiveRule(disclosure, entry.get("best") or usual)


def usual_rule(problem: Problem, /) -> ObjectiveRule:
    """Return the rule that discloses least."""
    all_secret = all(each.confidential for each in problem.objectives)
    kind = problem if all_secret else Problem
    return ObjectiveRule(kind.usual_disclosure, "nothing")


def nearest_account_name(name: str, /) -> str:
    """Return the name of an account that comes closest to a participant's name.

    >>> [nearest_account_name(name) for name in ("Participant 1", "ce\u0301leste", "--")]
    ['Participant-1', 'céleste', 'participant']
    """
    plain = re.sub(r"[^\w.-]+", "-", unicodedata.normalize("NFC", name)).strip("-._")
    return plain[:63] or "participant"


def usual_terms(
    problem: Problem,
    objectives: Sequence[ObjectiveRule] = (),
    /,
    **rules: Any,  # noqa: ANN401 - as terms have them
) -> RunTerms:
    """Return the terms that a form begins with; `objectives` are the rules of a file."""
    named = tuple(objectives) or (usual_rule(problem),) * len(problem.objectives)
    usual = {"name": problem.name, "deadline_seconds": 10.0, "limits": {"expiry_hours": 48.0}}
    differ = [each._asdict() for each in named]
    return terms_about(problem, {**usual, "objectives": differ, **rules})


def terms_about(problem: Problem, rules: Mapping[str, Any], /) -> RunTerms:
    """Return the terms of a run about a problem. Participants get the names of accounts."""
    owners = {nearest_account_name(each.name): each.rows for each in problem.participants}
    if len(owners) < len(problem.participants):
        raise ParameterError(
            "two participants' names differ only in signs that accounts cannot have; rename one"
        )
    return terms_of_problem(problem, owners, rules=rules)


# What a run of a series has of its own, and how many evaluations at most.
OF_EACH_RUN = ("name", "problem", "participants", "deadline_seconds")


def with_signed(terms: RunTerms, signed: RunTerms, /) -> RunTerms:
    """Keep of a form's terms only what a run of a series has of its own."""
    own = {name: getattr(terms, name) for name in OF_EACH_RUN}
    limits = replace(signed.limits, evaluations=terms.limits.evaluations)
    return replace(signed, limits=limits, **own)


def draft_of_terms(terms: RunTerms, /) -> tuple[Problem, RunTerms]:
    """Return a run's problem with public weights, and its terms, to be changed or copied."""
    problem = problem_of_terms(terms, proven=True)
    if terms.problem.coordinates is not None:
        problem = dataclasses.replace(problem, coordinates=np.array(terms.problem.coordinates))
    open_limits = replace(terms.limits, evaluations=None)
    # What was left open is kept as what fitted into the deadline, and stays open.
    if terms.limits.evaluations == budget_of_terms(replace(terms, limits=open_limits)):
        terms = replace(terms, limits=open_limits)
    return problem, terms


def has_weights(problem: Problem, /) -> bool:
    """Return whether the problem came with somebody's costs."""
    return any(each.weights is not None and each.confidential for each in problem.objectives)


def costs_archive(problem: Problem, /) -> bytes:
    """Pack each participant's drawn costs, as CSV, into a zip file."""
    packed = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(packed, "w") as archive:
        for path in save_participants(problem, Path(folder)):
            archive.write(path, nearest_account_name(path.stem) + path.suffix)
    return packed.getvalue()
