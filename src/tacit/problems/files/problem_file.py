"""The JSON format of a problem, `tacit-problem/1`, as typed objects. See docs/problem-format.md.

Decoding checks the shape of the file. What the numbers mean together is checked when
`problem_from_file` builds the problem.
"""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from typing import Literal, cast

import msgspec

from tacit.errors import FileError
from tacit.files import naming_file, read_text
from tacit.plain_text import decoders_words, nearest_word
from tacit.problems.model.kinds import kind_named
from tacit.problems.model.objective import Sense

FORMAT = "tacit-problem/1"
_MANUAL = "see docs/problem-format.md"


class MatrixFile(msgspec.Struct, forbid_unknown_fields=True):
    """A matrix in a file of its own; its path is relative to the problem file."""

    file: str
    header: bool | None = None
    ids: bool | None = None


class ParticipantEntry(msgspec.Struct, forbid_unknown_fields=True):
    """Who owns which rows, counted from 0."""

    name: str
    rows: list[int]


class ObjectiveEntry(msgspec.Struct, forbid_unknown_fields=True):
    """One objective. Weights and their bound are in the user's unit, before scaling."""

    name: str
    sense: Sense | None = None
    confidential: bool = True
    disclosure: str | None = None
    """Left out, what is usual for the kind: sealed where that can be."""
    best: str | None = None
    scale: int | None = None
    weight_bound: Decimal | None = None
    weights: list[list[Decimal]] | MatrixFile | None = None


class ProblemFile(msgspec.Struct, forbid_unknown_fields=True):
    """A whole problem file."""

    format: str
    kind: str
    objectives: list[ObjectiveEntry] = []
    name: str | None = None
    source: str | None = None
    rows: int | None = None
    columns: int | None = None
    row_names: list[str] | None = None
    column_names: list[str] | None = None
    participants: list[ParticipantEntry] = []
    forbidden: list[tuple[int, int]] | MatrixFile | None = None
    optimum: Decimal | None = None
    metric: Literal["EUC_2D", "CEIL_2D", "ATT", "GEO"] | None = None
    coordinates: list[tuple[float, float]] | None = None


class _Head(msgspec.Struct):
    format: str | None = None
    kind: object = None


_READ_HEAD = msgspec.json.Decoder(_Head)


def decode_problem_file(path: Path, /) -> ProblemFile:
    """Read a problem file and check its shape."""
    text = read_text(path)
    try:
        head = _READ_HEAD.decode(text)
        if head.format == FORMAT:
            with naming_file(path, "kind"):
                shape = _with_data(head.kind) if isinstance(head.kind, str) else ProblemFile
            return msgspec.json.decode(text, type=shape)
    except msgspec.ValidationError as error:
        raise _shape_error(path, str(error)) from None
    except msgspec.DecodeError as error:
        raise _syntax_error(path, text, str(error)) from None
    except RecursionError:
        raise FileError(path, None, "the JSON is nested too deeply", _MANUAL) from None
    what = "there is no format" if head.format is None else f"the format {head.format!r} is unknown"
    raise FileError(path, "format", what, f'write "format": "{FORMAT}"')


def _with_data(kind: str) -> type[ProblemFile]:
    """The shape of a file about a kind of problem that has public data of its own."""
    fields = [(name, int | list[int]) for name in kind_named(kind).data_fields]
    shape = msgspec.defstruct(
        "ProblemFile", fields, bases=(ProblemFile,), forbid_unknown_fields=True, kw_only=True
    )
    return cast(type[ProblemFile], shape)


def _shape_error(path: Path, message: str) -> FileError:
    """Say in our words what the decoder says in its own: `Expected ... - at `$.place``."""
    what, _, where = message.partition(" - at ")
    place = where.strip("`").removeprefix("$").removeprefix(".") or None
    if unknown := re.fullmatch(r"(?s)Object contains unknown field `(.*)`", what):
        near = nearest_word(unknown[1], ProblemFile.__struct_encode_fields__)
        what = f"the field {unknown[1]!r} is unknown"
        remedy = f"write {near!r}, or {_MANUAL}" if near else f"check its spelling or {_MANUAL}"
    elif missing := re.fullmatch(r"Object missing required field `(.*)`", what):
        what, remedy = f"the field {missing[1]!r} is missing", f"add it, {_MANUAL}"
    elif what.startswith("Invalid decimal") or "`decimal`" in what:
        what, remedy = "this is not a number", "fill in a number"
    elif value := re.fullmatch(r"Invalid enum value (.*)", what):
        what, remedy = f"{value[1]} is not one of its values", _MANUAL
    else:
        what = decoders_words(what)
        remedy = f"correct it, {_MANUAL}"
    return FileError(path, place, what, remedy)


def _syntax_error(path: Path, text: str, message: str) -> FileError:
    found = re.search(r"\(byte (\d+)\)", message)
    before = text
    if found:
        # The decoder counts past what trails, but up to any other character it dislikes.
        byte = int(found[1]) - ("trailing" in message)
        before = text.encode()[:byte].decode(errors="ignore")
    line = before.count("\n") + 1
    column = len(before) - before.rfind("\n")
    if not text.strip():
        return FileError(path, None, "the file is empty", "give a problem in JSON")
    if not found:
        what, remedy = "the JSON ends too early", "close what is open there"
    else:
        what = "broken JSON, " + message.removeprefix("JSON is malformed: ").split(" (byte")[0]
        remedy = "check for a missing comma, quote or bracket there"
    return FileError(path, f"line {line}, column {column}", what, remedy)
