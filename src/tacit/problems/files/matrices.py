"""Matrices from files: CSV, with names around the numbers or without, NumPy, and masks."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import FileError
from tacit.files import read_bytes, read_text
from tacit.problems.files.decimals import (
    LARGEST_SCALE,
    CellError,
    CellFileError,
    is_number,
    parse_decimal,
    scale_needed,
    scaled,
)
from tacit.problems.objective import FITNESS_BITS

# Weights from a CSV file: comma, semicolon or tab, with or without names around them.
#
# Places are named as a spreadsheet shows them: rows and columns from 1, and the cell as in B3.
#
# A wrong guess would drop weights or take ids for weights without a word, so a row or a column
# counts as names only where its cells say so; one stray text among numbers is an error, not a name.


Cells = Sequence[Sequence[str]]

_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
_DECIMAL_POINT = re.compile(r"[+-]?[0-9]+\.[0-9]+")
_ROWS_TO_JUDGE = 20
_ID_WORDS = re.compile(
    "ids?|names?|key|index|rows?|no|nr|number|item|agent|participant|owner|flight|load|job|task"
    "|worker|driver|carrier|from|city",
    re.IGNORECASE,
)


@dataclass(frozen=True, eq=False)
class WeightTable:
    """A matrix of scaled weights, and the names that stood around it."""

    weights: NDArray[np.int64]
    scale: int
    row_names: tuple[str, ...] | None = None
    column_names: tuple[str, ...] | None = None


@dataclass(frozen=True)
class _CsvRow:
    number: int
    """As a spreadsheet counts, from 1."""
    cells: list[str]


def read_csv_weights(
    path: Path,
    /,
    *,
    scale: int | None = None,
    limit: int | None = None,
    header: bool | None = None,
    ids: bool | None = None,
    columns: int | None = None,
) -> WeightTable:
    r"""Read a matrix of weights.

    Without a `scale` the smallest power of ten that keeps all decimals is taken. `limit` is the
    largest weight, after scaling. `header` and `ids` say whether the first row and the first
    column hold names; left out, the cells tell, and so do `columns`, the number of weights in a
    row where it is known: one cell more is a name.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "w.csv")
    ...     _ = file.write_text("flight,s1,s2\nF1,1.5,2\nF2,3,4\n")
    ...     table = read_csv_weights(file)
    >>> table.weights.tolist(), table.scale, table.row_names
    ([[15, 20], [30, 40]], 10, ('F1', 'F2'))
    """
    written = _read_rows(path)
    # Names are taken as written: a comma in a name is no decimal comma.
    rows = _with_points(written)
    cells = [row.cells for row in rows]
    if ids is None and columns is not None and len(cells[0]) == columns + 1:
        ids = True
    if header is None:
        header = has_header(cells)
    if ids is None:
        ids = has_ids(cells, header=header)
    body = rows[1:] if header else rows
    first = 1 if ids else 0
    if not body or len(rows[0].cells) <= first:
        raise FileError(path, None, "there are names but no weights", "add rows of numbers")
    numbers = [_parse_row(path, row, first, is_first=row is rows[0]) for row in body]
    if scale is None:
        scale = scale_needed(number for row in numbers for number in row)
    if limit is None:
        limit = (2**FITNESS_BITS - 1) // len(body)
    weights = np.array(
        [
            _scale_row(path, row, first, line, scale, limit)
            for row, line in zip(body, numbers, strict=True)
        ],
        dtype=np.int64,
    )
    return WeightTable(
        weights,
        scale,
        tuple(row.cells[0] for row in written[len(rows) - len(body) :]) if ids else None,
        tuple(written[0].cells[first:]) if header else None,
    )


def cell_place(row: int, column: int, /) -> str:
    """Name a cell, both counted from 1.

    >>> cell_place(3, 28)
    'row 3, column 28 (cell AB3)'
    """
    letters, rest = "", column
    while rest:
        rest, letter = divmod(rest - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return f"row {row}, column {column} (cell {letters}{row})"


def _read_rows(path: Path) -> list[_CsvRow]:
    text = read_text(path)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text), strict=True)
    rows: list[_CsvRow] = []
    try:
        for number, cells in enumerate(reader, start=1):
            if cells:
                rows.append(_CsvRow(number, [cell.strip() for cell in cells]))
    except csv.Error as error:
        raise FileError(
            path, f"line {reader.line_num}", f"the CSV breaks off ({error})", "check its quotes"
        ) from None
    # Spreadsheets leave empty rows at the end.
    while rows and not any(rows[-1].cells):
        rows.pop()
    if not rows:
        raise FileError(path, None, "the file is empty", "give one row of weights per line")
    for row in rows:
        if len(row.cells) != len(rows[0].cells):
            raise FileError(
                path,
                f"row {row.number}",
                f"has {len(row.cells)} cells where row {rows[0].number} has {len(rows[0].cells)}",
                "give every row the same number of cells",
            )
    return rows


def _with_points(rows: list[_CsvRow]) -> list[_CsvRow]:
    """Decimal commas as points, where nothing else can be meant.

    They stand in files with semicolons or tabs, or in quotes. `1,500` may be a thousand and a half,
    so a file that has only such numbers, or points as well, is left for its owner to correct.
    """
    cells = [cell for row in rows for cell in row.cells]
    commas = [cell for cell in cells if _DECIMAL_COMMA.fullmatch(cell)]
    if not commas or any(_DECIMAL_POINT.fullmatch(cell) for cell in cells):
        return rows
    if all(len(cell.partition(",")[2]) == 3 for cell in commas):
        return rows
    return [
        _CsvRow(
            row.number,
            [
                cell.replace(",", ".") if _DECIMAL_COMMA.fullmatch(cell) else cell
                for cell in row.cells
            ],
        )
        for row in rows
    ]


def _delimiter(text: str) -> str:
    """The delimiter that splits the first rows evenly and into numbers.

    A decimal comma counts as part of a number here, so that the error names the comma, and the
    file is not split at it. Semicolon and tab come first for the same reason.
    """
    head = [line for line in text.splitlines() if line.strip()][:_ROWS_TO_JUDGE]

    def quality(delimiter: str) -> tuple[bool, bool, float]:
        try:
            rows = list(csv.reader(head, delimiter=delimiter))
        except csv.Error:
            rows = []
        splits = any(len(row) > 1 for row in rows)
        cells = [cell.strip().replace(",", ".", 1) for row in rows for cell in row]
        even = splits and len({len(row) for row in rows}) == 1
        return splits, even, sum(map(is_number, cells)) / max(len(cells), 1)

    return max(";\t,", key=quality)


def _parse_row(path: Path, row: _CsvRow, first: int, *, is_first: bool) -> list[Decimal]:
    numbers = []
    for column, cell in enumerate(row.cells[first:], start=first + 1):
        try:
            numbers.append(parse_decimal(cell))
        except CellError as error:
            more = ""
            if is_first and cell and not is_number(cell):
                more = ", or say that the first row is a header"
            elif column == 1 and cell and not is_number(cell):
                more = ", or say that the first column holds ids"
            raise CellFileError(path, cell_place(row.number, column), error, more=more) from None
    return numbers


def _scale_row(
    path: Path, row: _CsvRow, first: int, numbers: Sequence[Decimal], scale: int, limit: int
) -> list[int]:
    values = []
    for column, number in enumerate(numbers, start=first + 1):
        try:
            values.append(scaled(number, scale, limit=limit))
        except CellError as error:
            raise CellFileError(path, cell_place(row.number, column), error) from None
    return values


def has_header(cells: Cells, /) -> bool:
    """Return whether the first row holds column names.

    >>> has_header([["id", "s1", "s2"], ["F1", "3", "4"]])
    True
    >>> has_header([["F1", "3", "4"], ["F2", "5", "6"]])
    False
    >>> has_header([["", "0", "1"], ["0", "3", "4"]])
    True
    """
    corner, rest = cells[0][0], cells[0][1:]
    if is_number(corner) or len(cells) < 2:
        return False
    if not corner:
        return True
    if not rest:
        return is_number(cells[1][0])
    texts = sum(1 for cell in rest if cell and not is_number(cell))
    if texts:
        return 2 * texts > len(rest)
    # All numbers but the corner: names where they just count and the corner is no id itself.
    body = [row[0] for row in cells[1:]]
    if not _counts(rest):
        return False
    if _says_ids(corner):
        return True
    return _all_text(body) and _shape(corner) not in map(_shape, body)


def has_ids(cells: Cells, /, *, header: bool) -> bool:
    """Return whether the first column holds row names.

    >>> has_ids([["id", "s1", "s2"], ["1", "3", "4"]], header=True)
    True
    >>> has_ids([["s1", "s2", "s3"], ["1", "3", "4"]], header=True)
    False
    """
    body = [row[0] for row in (cells[1:] if header else cells)]
    if not body or len(cells[0]) < 2:
        return False
    if _all_text(body):
        return True
    if not header:
        return False
    corner, rest = cells[0][0], cells[0][1:]
    if not corner or all(is_number(cell) for cell in rest):
        return True
    return _corner_stands_out(corner, rest, body)


def _corner_stands_out(corner: str, rest: Sequence[str], body: Sequence[str]) -> bool:
    """Tell `flight,s1,s2` from `s1,s2,s3` where the column below is numbers in both."""
    if _says_ids(corner):
        return True
    shapes = {_shape(cell) for cell in rest}
    if len(shapes) == 1 and len(rest) > 1:
        return _shape(corner) not in shapes
    return len(body) > 2 and _counts(body)


def _says_ids(corner: str) -> bool:
    return bool(_ID_WORDS.fullmatch(corner)) or "\\" in corner or "/" in corner


def _all_text(cells: Sequence[str]) -> bool:
    return all(cell and not is_number(cell) for cell in cells)


def _shape(name: str) -> str:
    """`slot 12` and `slot 7` are alike, so are `AMS` and `BRU`; `flight` differs from both."""
    if re.search(r"\d", name):
        return re.sub(r"\d+", "0", name)
    return re.sub(r"[^\W\d_a-z]+", "A", re.sub(r"[^\W\d_A-Z]+", "a", name))


def _counts(cells: Sequence[str]) -> bool:
    """Return whether the cells are 0, 1, 2... or 1, 2, 3..."""
    return any(list(cells) == [str(i + start) for i in range(len(cells))] for start in (0, 1))


# A matrix from a file of its own, by the file's suffix: weights, or a mask of forbidden pairs.


CSV_SUFFIXES = (".csv", ".tsv", ".txt")


def read_weights(
    path: Path,
    /,
    *,
    scale: int | None = None,
    limit: int | None = None,
    header: bool | None = None,
    ids: bool | None = None,
) -> WeightTable:
    """Read a .csv or .npy file; see `read_csv_weights` and `read_npy_weights`.

    >>> read_weights(Path("w.xlsx"))
    Traceback (most recent call last):
    tacit.errors.FileError: w.xlsx: weights are not read from '.xlsx' files; save them as .csv \
or .npy
    """
    suffix = path.suffix.lower()
    if suffix == ".npy":
        return read_npy_weights(path, scale=scale, limit=limit)
    if suffix in CSV_SUFFIXES:
        return read_csv_weights(path, scale=scale, limit=limit, header=header, ids=ids)
    raise FileError(
        path, None, f"weights are not read from {suffix!r} files", "save them as .csv or .npy"
    )


def read_mask(
    path: Path, /, *, header: bool | None = None, ids: bool | None = None
) -> NDArray[np.bool_]:
    """Read a mask of forbidden pairs: 1 where a row may not take a column, 0 elsewhere."""
    try:
        table = read_weights(path, scale=1, limit=1, header=header, ids=ids)
    except CellFileError as error:
        remedy = "a mask holds 1 for a forbidden pair and 0 elsewhere"
        raise FileError(path, error.place, error.what, remedy) from None
    return np.asarray(table.weights == 1)


def read_npy_weights(
    path: Path, /, *, scale: int | None = None, limit: int | None = None
) -> WeightTable:
    """Read a two-dimensional NumPy array of weights, whole numbers or decimals."""
    array = _read_array(path)
    if limit is None:
        limit = (2**FITNESS_BITS - 1) // len(array)
    if array.dtype.kind == "f":
        _refuse(path, array, ~np.isfinite(array), "is not a finite number", "fill in a number")
    _refuse(path, array, array < 0, "is negative", "shift all weights so that the least is 0")
    remedy = "use coarser weights, a smaller scale, or raise weight_bound if one is given"
    _refuse(path, array, array > limit, f"is above the largest weight, {limit}", remedy)
    if array.dtype.kind == "f":
        whole, scale = _scaled_floats(path, array, scale)
        factor = 1
    else:
        whole, factor = array, scale or 1
        scale = factor
    # Before the product: one beyond 64 bits would wrap around into the allowed range.
    too_large = whole > limit // factor
    _refuse(path, array, too_large, f"times scale {scale} is above {limit}", remedy)
    return WeightTable(whole.astype(np.int64) * factor, scale)


def _read_array(path: Path) -> NDArray[Any]:
    raw = read_bytes(path)
    try:
        # A pickle in the file would run code of whoever wrote it.
        array = np.load(io.BytesIO(raw), allow_pickle=False)
    except Exception:  # NumPy's parser raises many kinds, none of them meant for users
        array = None
    if not isinstance(array, np.ndarray):
        raise FileError(path, None, "this is no .npy array", "write it with numpy.save")
    if array.dtype.kind not in "biuf":
        raise FileError(
            path, None, f"it holds {array.dtype}, not numbers", "save integers or floats"
        )
    if array.ndim != 2 or array.size == 0:
        shape = " x ".join(map(str, array.shape)) or "a single number"
        raise FileError(path, None, f"its shape is {shape}", "save a matrix of rows and columns")
    return array


def _scaled_floats(
    path: Path, array: NDArray[Any], scale: int | None
) -> tuple[NDArray[np.float64], int]:
    """Find whole numbers k such that k/scale is, to the last bit, the number that was saved."""
    candidates = [scale] if scale else [10**k for k in range(7)]
    for candidate in candidates:
        weights = np.rint(array.astype(np.float64) * candidate)
        # Back in the type that was saved, since 0.1 in 32 bits is not 0.1 in 64.
        inexact = (weights / candidate).astype(array.dtype) != array
        if not inexact.any():
            return weights, candidate
    _refuse(
        path,
        array,
        inexact,
        f"has more decimals than scale {candidates[-1]} keeps",
        "round it" if candidates[-1] >= LARGEST_SCALE else "use a larger scale or round it",
    )
    raise AssertionError("unreachable")


def _refuse(path: Path, array: NDArray[Any], bad: NDArray[Any], what: str, remedy: str) -> None:
    places = np.argwhere(bad)
    if len(places):
        row, column = (int(i) for i in places[0])
        place = f"[{row}, {column}] (counted from 0)"
        raise FileError(path, place, f"{array[row, column]} {what}", remedy)
