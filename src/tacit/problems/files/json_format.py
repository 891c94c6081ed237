"""The JSON format of a problem, `tacit-problem/1`, as typed objects. See docs/problem-format.md.

Decoding checks the shape of the file. What the numbers mean together is checked when
`problem_from_file` builds the problem.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from tacit.disclosure import SEALED, parse_best_mode, parse_disclosure
from tacit.errors import FileError
from tacit.files import naming_file, other_version, read_text
from tacit.plain_text import decoders_words, nearest_word
from tacit.problems.files.decimals import CellError, is_power_of_ten, scaled
from tacit.problems.files.matrices import WeightTable, read_mask, read_weights
from tacit.problems.files.tsplib import LARGEST_COORDINATE, METRICS
from tacit.problems.kinds import kind_named
from tacit.problems.objective import FITNESS_BITS, Objective, Sense
from tacit.problems.problem import MOST_PAIRS, Participant, Problem

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
        # The head first: another format or kind is named as such, not as an unknown field.
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
    other = other_version({"format": head.format}, FORMAT)
    what = "there is no format" if head.format is None else f"the format {head.format!r} is unknown"
    raise FileError(path, "format", other or what, f'write "format": "{FORMAT}"')


def _with_data(kind: str) -> type[ProblemFile]:
    """The shape of a file about a kind of problem that has public data of its own."""
    fields = [(name, int | list[int]) for name in kind_named(kind).data_fields]
    shape = msgspec.defstruct(
        "ProblemFile", fields, bases=(ProblemFile,), forbid_unknown_fields=True, kw_only=True
    )
    return cast(type[ProblemFile], shape)


def _shape_error(path: Path, message: str) -> FileError:
    """Reword an error of the decoder: `Expected ... - at `$.place``."""
    # The decoder writes "what - at `$.place`".
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


# From a decoded problem file to a problem: reads the matrices and names every bad place.


def read_problem_file(path: Path, /) -> Problem:
    return _Builder(path, decode_problem_file(path)).problem()


@dataclass
class _Builder:
    """Holds what is known so far of one file's problem: its path and the names in its matrices."""

    path: Path
    content: ProblemFile
    names: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def problem(self) -> Problem:
        content = self.content
        if content.row_names is not None:
            self.names["row"] = tuple(content.row_names)
        if content.column_names is not None:
            self.names["column"] = tuple(content.column_names)
        coordinates = self._coordinates()
        entries = content.objectives
        if not entries and content.metric:
            entries = [ObjectiveEntry("length")]
        objectives = tuple(self._objective(i, entry) for i, entry in enumerate(entries))
        objectives = self._with_distances(objectives, coordinates)
        rows, columns = self._size(objectives)
        optimum = self._optimum(objectives)
        data: dict[str, Any] = {name: getattr(content, name) for name in self.kind.data_fields}
        with naming_file(self.path):
            return self.kind(
                name=content.name or self.path.stem,
                source=content.source,
                rows=rows,
                columns=columns,
                objectives=objectives,
                participants=self._participants(),
                row_names=self.names.get("row"),
                column_names=self.names.get("column"),
                optimum=optimum,
                forbidden=self._forbidden(rows, columns),
                coordinates=coordinates,
                **data,
            )

    @property
    def kind(self) -> type[Problem]:
        return kind_named(self.content.kind)

    def _error(self, place: str, what: str, remedy: str) -> FileError:
        return FileError(self.path, place, what, remedy)

    def _participants(self) -> tuple[Participant, ...]:
        return tuple(Participant(p.name, tuple(p.rows)) for p in self.content.participants)

    def _objective(self, index: int, entry: ObjectiveEntry) -> Objective:
        place = f"objectives[{index}]"
        if entry.scale is not None and not is_power_of_ten(entry.scale):
            raise self._error(
                f"{place}.scale", f"{entry.scale} is not a power of ten", "use 1, 10, 100 or so"
            )
        scale = entry.scale or 1
        most = 2**FITNESS_BITS - 1
        bound = None
        if entry.weight_bound is not None:
            bound = self._scaled(f"{place}.weight_bound", entry.weight_bound, scale, most)
        table = self._weights(f"{place}.weights", entry, scale, bound)
        with naming_file(self.path, f"{place}.disclosure"):
            disclosure = parse_disclosure(entry.disclosure or self._usual_disclosure)
        with naming_file(self.path, f"{place}.best"):
            best_mode = parse_best_mode(disclosure.usual_best if entry.best is None else entry.best)
        # Distances come later, from the metric; until then a bound of 0 stands in.
        awaits_distances = table is None and bound is None and self.content.metric is not None
        with naming_file(self.path, place):
            return Objective(
                entry.name,
                None if table is None else table.weights,
                sense=entry.sense or self.kind.usual_sense,
                confidential=entry.confidential,
                disclosure=disclosure,
                best_mode=best_mode,
                scale=scale,
                weight_bound=(0 if awaits_distances else -1) if bound is None else bound,
            )

    @property
    def _usual_disclosure(self) -> str:
        """That of objectives which do not say; a search is sealed for all of them or for none."""
        all_secret = all(each.confidential for each in self.content.objectives)
        silent = all(each.disclosure in (None, SEALED) for each in self.content.objectives)
        return self.kind.usual_disclosure if all_secret and silent else Problem.usual_disclosure

    def _scaled(self, place: str, number: Decimal, scale: int, limit: int) -> int:
        try:
            return scaled(number, scale, limit=limit)
        except CellError as error:
            raise self._error(place, error.what, error.remedy) from None

    def _weights(
        self, place: str, entry: ObjectiveEntry, scale: int, bound: int | None
    ) -> WeightTable | None:
        source = entry.weights
        if source is None:
            return None
        if isinstance(source, MatrixFile):
            table = read_weights(
                self.path.parent / source.file,
                scale=scale,
                limit=bound,
                header=source.header,
                ids=source.ids,
            )
            self._agree_on_names("row", table.row_names, source.file, place)
            self._agree_on_names("column", table.column_names, source.file, place)
            return table
        if not source or not source[0]:
            raise self._error(place, "the matrix is empty", "give one list of weights per row")
        # A plan adds up one weight per row, and that sum must fit the bits of a fitness.
        limit = (2**FITNESS_BITS - 1) // len(source) if bound is None else bound
        matrix = np.empty((len(source), len(source[0])), dtype=np.int64)
        for r, row in enumerate(source):
            if len(row) != len(source[0]):
                raise self._error(
                    f"{place}[{r}]",
                    f"has {len(row)} weights where {place}[0] has {len(source[0])}",
                    "give every row the same number",
                )
            for c, number in enumerate(row):
                matrix[r, c] = self._scaled(f"{place}[{r}][{c}]", number, scale, limit)
        return WeightTable(matrix, scale)

    def _agree_on_names(
        self, what: str, names: tuple[str, ...] | None, file: str, place: str
    ) -> None:
        """Two files in different order would be added up wrongly, and their names tell."""
        if names is None:
            return
        for i, (known, name) in enumerate(
            zip(self.names.setdefault(what, names), names, strict=False)
        ):
            if known != name:
                raise self._error(
                    place,
                    f"{file} calls {what} {i} {name!r} where {known!r} is expected",
                    "bring all files into the same order",
                )

    def _coordinates(self) -> NDArray[np.float64] | None:
        content = self.content
        if not self.kind.between_places:
            for name in ("coordinates", "metric"):
                if getattr(content, name) is not None:
                    what = "only ways between places have it"
                    raise self._error(name, what, 'remove it or use "kind": "tour"')
        elif content.forbidden is not None:
            what = f"a {content.kind} has no forbidden pairs"
            raise self._error("forbidden", what, "remove them")
        if content.coordinates is None:
            if content.metric is not None:
                raise self._error("metric", "there are no coordinates to measure", "add them")
            return None
        for i, point in enumerate(content.coordinates):
            if max(map(abs, point)) > LARGEST_COORDINATE:
                raise self._error(
                    f"coordinates[{i}]", f"{point} is too far away", "use a larger unit"
                )
        return np.array(content.coordinates, dtype=np.float64).reshape(-1, 2)

    def _with_distances(
        self, objectives: tuple[Objective, ...], coordinates: NDArray[np.float64] | None
    ) -> tuple[Objective, ...]:
        metric = self.content.metric
        if metric is None or coordinates is None:
            return objectives
        bare = [i for i, objective in enumerate(objectives) if objective.weights is None]
        if len(bare) != 1:
            what = f"{len(bare)} objectives without weights could use the distances"
            raise self._error("metric", what, "leave exactly one without weights")
        self._check_places(len(coordinates))
        objective = objectives[bare[0]]
        entry = self.content.objectives[bare[0]] if self.content.objectives else None
        # A bound that the file states stays; otherwise the largest distance is the bound.
        bound = -1 if entry is None or entry.weight_bound is None else objective.weight_bound
        with naming_file(self.path, f"objectives[{bare[0]}]"):
            measured = replace(
                objective,
                weights=METRICS[metric](coordinates) * objective.scale,
                weight_bound=bound,
            )
        return (*objectives[: bare[0]], measured, *objectives[bare[0] + 1 :])

    def _check_places(self, places: int) -> None:
        """Before ways between all of them are measured, which takes memory."""
        for name, said in (("rows", self.content.rows), ("columns", self.content.columns)):
            if said is not None and said < places:
                what = f"says {said}, and there are coordinates of {places} places"
                raise self._error(name, what, "correct one of them")
        if places**2 > MOST_PAIRS:
            what = f"there are {places} places, and {MOST_PAIRS} pairs are the most"
            raise self._error("coordinates", what, "leave some out")

    def _size(self, objectives: tuple[Objective, ...]) -> tuple[int, int]:
        if not objectives:
            raise self._error("objectives", "there is no objective", "give at least one")
        rows, columns = self.content.rows, self.content.columns
        for objective in objectives:
            if objective.weights is not None:
                rows = objective.weights.shape[0] if rows is None else rows
                columns = objective.weights.shape[1] if columns is None else columns
        if self.kind.between_places:
            rows, columns = rows or columns, columns or rows
        for name, value in (("rows", rows), ("columns", columns)):
            if value is None:
                raise self._error(name, "the size is unknown without weights", f"add {name!r}")
        size = int(rows or 0), int(columns or 0)
        # Before a mask of this size is allocated: a file of one line may claim any number of rows.
        if size[0] * size[1] > MOST_PAIRS:
            what = f"{size[0]} x {size[1]} is more than {MOST_PAIRS} pairs"
            raise self._error("rows", what, "use a smaller problem")
        return size

    def _optimum(self, objectives: tuple[Objective, ...]) -> int | None:
        if self.content.optimum is None:
            return None
        if len(objectives) != 1:
            raise self._error(
                "optimum", f"{len(objectives)} objectives have no single optimum", "remove it"
            )
        return self._scaled("optimum", self.content.optimum, objectives[0].scale, 2**62)

    def _forbidden(self, rows: int, columns: int) -> NDArray[np.bool_] | None:
        source = self.content.forbidden
        if source is None:
            return None
        if isinstance(source, MatrixFile):
            return read_mask(self.path.parent / source.file, header=source.header, ids=source.ids)
        mask = np.zeros((rows, columns), dtype=np.bool_)
        for i, (row, column) in enumerate(source):
            if not (0 <= row < rows and 0 <= column < columns):
                raise self._error(
                    f"forbidden[{i}]",
                    f"there is no row {row}, column {column} in a {rows} x {columns} problem",
                    "count both from 0",
                )
            mask[row, column] = True
        return mask
