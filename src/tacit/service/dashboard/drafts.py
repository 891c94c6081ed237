"""Make problems for new runs from tables, from files or drawn, and the terms of a run.

A table is a CSV file as a spreadsheet saves it, with a line of names on top. Errors name cells as a
spreadsheet does.
"""

from __future__ import annotations

import asyncio
import csv
import dataclasses
import io
import json
import pickle
import re
import tempfile
import unicodedata
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from tacit.client import MOST_CELLS, RunTerms
from tacit.errors import FileError, ParameterError
from tacit.problems import (
    MatrixFile,
    Objective,
    Participant,
    Problem,
    decode_problem_file,
    generate_named,
    kind_named,
    load_problem,
    save_participants,
)
from tacit.service.api.intake import SMALL_BYTES
from tacit.service.background import Background
from tacit.service.workflow.drafting import budget_of_terms
from tacit.service.workflow.terms import problem_of_terms, terms_of_problem

T = TypeVar("T")
READ_SECONDS = 30.0
LONGEST_CELL = 1000
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
    entries = json.loads(content).get("objectives", [])
    given = entries if len(entries) == len(problem.objectives) else [{} for _ in problem.objectives]
    rules = zip(given, problem.objectives, strict=True)
    return problem, tuple(_rule_in_file(entry, objective) for entry, objective in rules)


def _rule_in_file(entry: dict[str, str], objective: Objective) -> ObjectiveRule:
    """Return the rule in a file. Whatever it leaves out is disclosed as little as possible."""
    disclosure = objective.disclosure.text
    usual = "value" if disclosure == "none" else "nothing"
    return ObjectiveRule(disclosure, entry.get("best") or usual)


async def found_in(background: Background, read: Callable[[bytes], T], content: bytes, /) -> T:
    """Return what a function of this module reads in a file; in another process if it is large."""
    if len(content) <= SMALL_BYTES:
        return await asyncio.to_thread(read, content)
    packed = await background.compute(partial(_packed, read), content, within=READ_SECONDS)
    found: T = pickle.loads(packed)  # as our own function packed it
    return found


def _packed(read: Callable[[bytes], T], content: bytes) -> bytes:
    return pickle.dumps(read(content))


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


KINDS_OF_TABLES = {
    "assignment": "Assignment",
    "capacitated": "Assignment, capacities",
    "tour": "Tour through places",
    "routing": "Vehicles from a depot",
}
OWNER_WORDS = ("participant", "owner", "owned by", "airline", "carrier", "company")
# What a cell of the mask says: whether the pair is forbidden.
MAY, MAY_NOT = ("", "0"), ("1", "x")
MOST_LINES, MOST_NAME = 20_000, 200
USUAL_BOUND = 1000


@dataclass(frozen=True)
class Table:
    """Lines of text under a line of names."""

    heads: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]

    def column(self, *names: str) -> list[str] | None:
        """Return the cells under one of these names, whatever their case."""
        for i, head in enumerate(self.heads):
            if head.casefold() in names:
                return [line[i] for line in self.lines]
        return None

    @property
    def names(self) -> list[str]:
        """Return the first column, in which each name stands once."""
        seen: dict[str, int] = {}
        for row, line in enumerate(self.lines, start=2):
            name = line[0]
            if not name:
                raise ParameterError(f"cell A{row} is empty; give each line a name")
            if len(name) > MOST_NAME:
                raise ParameterError(f"the name in cell A{row} is too long; shorten it")
            if name in seen:
                raise ParameterError(f"{name!r} stands in A{seen[name]} and A{row}; rename one")
            seen[name] = row
        return list(seen)


@dataclass
class Tables:
    """What has been given so far."""

    rows: Table | None = None
    columns: Table | None = None
    mask: Table | None = None
    objectives: list[Objective] = field(default_factory=list)
    symmetric: bool = True
    """Whether ways between places cost the same in both directions."""


def read_table(content: bytes, /) -> Table:
    r"""Read a CSV file: comma, semicolon or tab, with names in its first line.

    >>> read_table(b"flight;airline\nF1;north\nF2;south\n").lines
    (('F1', 'north'), ('F2', 'south'))
    """
    try:
        # Spreadsheets write a mark for the order of bytes.
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ParameterError("the text is not UTF-8; save it as CSV UTF-8") from None
    first = text.partition("\n")[0]
    # Names hold commas more often than semicolons or tabs, so ties go to the rarer sign.
    delimiter = max(";\t,", key=first.count)
    lines: list[tuple[str, ...]] = []
    try:
        for cells in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True):
            if any(cell.strip() for cell in cells):
                lines.append(tuple(_plain(cell) for cell in cells))
    except csv.Error:
        raise ParameterError(f"the CSV breaks off after line {len(lines)}; check quotes") from None
    if len(lines) < 2:
        raise ParameterError("give a line of names, and at least one line below it")
    if len(lines) > MOST_LINES:
        raise ParameterError(f"there are {len(lines)} lines; give {MOST_LINES} at most")
    for row, line in enumerate(lines, start=1):
        if len(line) != len(lines[0]):
            raise ParameterError(
                f"line {row} has {len(line)} cells where line 1 has {len(lines[0])}; make them even"
            )
    return Table(lines[0], tuple(lines[1:]))


def _plain(cell: str) -> str:
    """Strip a cell, and drop characters that cannot be shown."""
    # Bringing marks into order takes the square of their number.
    if len(cell) > LONGEST_CELL:
        raise ParameterError(f"a cell has {len(cell)} characters; give {LONGEST_CELL} at most")
    # One letter can be two signs.
    kept = unicodedata.normalize("NFC", cell.strip())
    return "".join(sign for sign in kept if sign.isprintable())


def cell(column: int, row: int, /) -> str:
    """Return the name of a cell, both counted from 0 in the whole file.

    >>> cell(27, 2)
    'AB3'
    """
    letters, rest = "", column + 1
    while rest:
        rest, letter = divmod(rest - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return f"{letters}{row + 1}"


def owners_of(rows: Table, /) -> tuple[Participant, ...]:
    """Return the owners of rows, in the order of their first rows."""
    owners = rows.column(*OWNER_WORDS)
    if owners is None and len(rows.heads) > 1:
        owners = [line[1] for line in rows.lines]
    if owners is None:
        raise ParameterError("there is no column of owners; add one that is called participant")
    owned_rows: dict[str, list[int]] = {}
    for row, owner in enumerate(owners):
        if not owner:
            raise ParameterError(f"line {row + 2} has no owner; say whose {rows.names[row]} is")
        owned_rows.setdefault(owner, []).append(row)
    return tuple(Participant(name, tuple(owned)) for name, owned in owned_rows.items())


def mask_of(mask: Table, rows: Sequence[str], columns: Sequence[str], /) -> NDArray[np.bool_]:
    """Return which row may not have which column, both found by their names."""
    check_size(len(rows), len(columns))
    forbidden = np.zeros((len(rows), len(columns)), dtype=np.bool_)
    place = {name: i for i, name in enumerate(rows)}
    # Each column is taken out when it is found, so one that stands twice is not found again.
    column_place, heads = {name: i for i, name in enumerate(columns)}, mask.heads[1:]
    at: list[int] = []
    for i, head in enumerate(heads, start=1):
        if head not in column_place:
            raise ParameterError(f"{head!r} in cell {cell(i, 0)} is no column, or stands twice")
        at.append(column_place.pop(head))
    for row, (name, line) in enumerate(zip(mask.names, mask.lines, strict=True), start=1):
        if name not in place:
            raise ParameterError(f"{name!r} in cell {cell(0, row)} is no row of the first table")
        for i, text in enumerate(line[1:], start=1):
            mark = text.casefold()
            if mark not in MAY + MAY_NOT:
                raise ParameterError(
                    f"cell {cell(i, row)} is {text!r}; write 1 if {name} may not have "
                    f"{heads[i - 1]}, and 0 if it may"
                )
            forbidden[place[name], at[i - 1]] = mark in MAY_NOT
    return forbidden


def check_size(rows: int, columns: int, /) -> None:
    """Refuse a size that no run can have, before anything is made of it."""
    if rows * columns > MOST_CELLS:
        raise ParameterError(
            f"{rows} rows and {columns} columns are too many; rows times columns may be "
            f"{MOST_CELLS:,} at most"
        )


def numbers_of(table: Table, words: Sequence[str], /) -> list[int]:
    texts = table.column(*words)
    if texts is None:
        raise ParameterError(f"there is no column that is called {words[0]}; add it")
    for row, text in enumerate(texts, start=2):
        if not (text.isascii() and text.isdigit() and len(text) <= 9):
            raise ParameterError(f"line {row}: {words[0]} is {text!r}; give a whole number")
    return [int(text) for text in texts]


def problem_of_tables(name: str, kind: str, tables: Tables, /) -> Problem:
    """Return the problem that the tables describe; it has no weights."""
    if tables.rows is None:
        raise ParameterError("give the table of rows and their owners")
    rows, places = tables.rows.names, kind_named(kind).between_places
    # Places of a tour are both: who is visited, and after whom.
    columns = rows if places else _column_names(tables)
    check_size(len(rows), len(columns))
    return kind_named(kind)(
        name=name,
        rows=len(rows),
        columns=len(columns),
        objectives=tuple(tables.objectives),
        participants=owners_of(tables.rows),
        row_names=tuple(rows),
        column_names=None if places else tuple(columns),
        forbidden=None if places or tables.mask is None else mask_of(tables.mask, rows, columns),
        **_public_data(kind, tables),
    )


def _column_names(tables: Tables) -> list[str]:
    if tables.columns is not None:
        return tables.columns.names
    if tables.mask is not None:
        return list(tables.mask.heads[1:])
    raise ParameterError("give the table of columns, or a mask that names them")


def _public_data(kind: str, tables: Tables) -> Mapping[str, Any]:
    assert tables.rows is not None
    if kind == "tour":
        return {"symmetric": tables.symmetric}
    if kind not in ("capacitated", "routing"):
        return {}
    if tables.columns is None:
        what = "vehicles" if kind == "routing" else "columns"
        raise ParameterError(f"give the table of {what} with their capacity")
    capacities = tuple(numbers_of(tables.columns, ("capacity", "capacities")))
    if kind == "capacitated":
        return {"capacities": capacities}
    demands = tuple(numbers_of(tables.rows, ("demand", "demands")))
    return {"capacities": capacities, "demands": demands, "symmetric": tables.symmetric}
