"""A participant's own rows from its CSV, checked cell by cell before anything is sealed."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tacit.agreement import Agreement, ObjectiveTerms
from tacit.errors import FileError, InputError
from tacit.problems import CellFileError, Fault, WeightTable, read_csv_weights, unscaled_text


def read_costs(
    path: Path, agreement: Agreement, participant: str, objective: int, /
) -> NDArray[np.int64]:
    r"""A participant's rows in the agreement's order, scaled to whole numbers within its bound.

    Rows come by name or by number (from 0, as in the agreement) in the first column, or without
    either in the agreement's order; columns by name in the first line, or in their order.
    """
    terms, problem = agreement.objectives[objective], agreement.problem
    rows = agreement.rows_of(participant, objective)
    if not rows:
        raise InputError(f"{participant!r} owns no rows of {terms.name!r}; give --objective")
    table = _read(path, terms, problem.columns)
    if table.weights.shape[1] != problem.columns:
        raise FileError(
            path,
            None,
            f"has {table.weights.shape[1]} columns of numbers, and the agreement has "
            f"{problem.columns}",
            "give one number for each column, and the names of rows before them",
        )
    lines = _lines_of_rows(path, table, agreement, rows, participant)
    columns = _columns(path, table.column_names, problem.column_names, problem.columns)
    return table.weights[lines][:, columns]


def check_weights(
    weights: NDArray[np.int64], agreement: Agreement, participant: str, objective: int, /
) -> None:
    """Refuse scaled weights that are not this participant's rows within the bound."""
    rows, terms = agreement.rows_of(participant, objective), agreement.objectives[objective]
    if weights.shape != (len(rows), agreement.problem.columns):
        raise InputError(
            f"{participant!r} owns {len(rows)} rows of {agreement.problem.columns} weights, and "
            f"gave {weights.shape}; give its rows only, in the agreement's order"
        )
    if not np.issubdtype(weights.dtype, np.integer):
        raise InputError(f"weights are {weights.dtype}; scale them to whole numbers")
    row_names, column_names = agreement.known_problem.labels
    for line, column in np.argwhere((weights < 0) | (weights > terms.weight_bound)):
        raise InputError(
            f"the weight {weights[line, column]} of row {row_names[rows[line]]}, column "
            f"{column_names[column]} is outside 0..{terms.weight_bound}; correct it"
        )


def _read(path: Path, terms: ObjectiveTerms, columns: int) -> WeightTable:
    try:
        return read_csv_weights(path, scale=terms.scale, limit=terms.weight_bound, columns=columns)
    except CellFileError as error:
        most = unscaled_text(terms.weight_bound, terms.scale)
        digits = len(str(terms.scale)) - 1
        remedy = {
            Fault.TOO_LARGE: f"the agreement allows 0 to {most}: correct the cell, or ask for a "
            "new run",
            Fault.TOO_FINE: f"the agreement allows {digits} after the point: round it",
            Fault.EMPTY: "fill in a number",
        }.get(error.fault, error.remedy)
        raise FileError(path, error.place, error.what, remedy) from None


def _lines_of_rows(
    path: Path, table: WeightTable, agreement: Agreement, rows: Sequence[int], participant: str
) -> list[int]:
    """Where in the file each of the participant's rows stands."""
    names = agreement.problem.row_names
    if table.row_names is None:
        if len(table.weights) != len(rows):
            raise FileError(
                path,
                None,
                f"has {len(table.weights)} rows without names; {participant!r} owns {len(rows)}",
                "give your own rows only, or name them in the first column",
            )
        return list(range(len(rows)))
    by_name = {} if names is None else {_composed(name): row for row, name in enumerate(names)}
    place: dict[int, int] = {}
    for line, given in enumerate(table.row_names):
        row = by_name.get(_composed(given))
        if row is None and given.isdecimal():
            row = int(given)
        if row is None or row not in rows:
            raise FileError(
                path,
                f"row {given!r}",
                f"is not a row of {participant!r}",
                f"give yours only: {show_rows(agreement, rows)}",
            )
        if row in place:
            raise FileError(path, f"row {given!r}", "stands twice", "keep one of them")
        place[row] = line
    missing = [row for row in rows if row not in place]
    if missing:
        raise FileError(path, None, f"lacks {show_rows(agreement, missing)}", "add what is missing")
    return [place[row] for row in rows]


def _columns(
    path: Path, given: Sequence[str] | None, names: Sequence[str] | None, count: int
) -> list[int]:
    """Which column of the file is each column of the agreement."""
    if given is None or names is None:
        return list(range(count))
    given, names = [_composed(name) for name in given], [_composed(name) for name in names]
    place = {name: column for column, name in enumerate(given)}
    known = set(names)
    unknown = [name for name in given if name not in known]
    if unknown or len(place) < len(given):
        wrong = unknown[0] if unknown else next(n for n in given if list(given).count(n) > 1)
        raise FileError(
            path,
            f"column {wrong!r}",
            "is not in the agreement" if unknown else "stands twice",
            f"the agreement's columns are {_some(names)}",
        )
    return [place[name] for name in names]


def _composed(name: str) -> str:
    """A name in one form: some systems write an accent as a character of its own (NFD)."""
    return unicodedata.normalize("NFC", name)


def show_rows(agreement: Agreement, rows: Sequence[int], /) -> str:
    """Rows by their names, or by their numbers where they have none."""
    names = agreement.problem.row_names
    return _some([str(row) if names is None else names[row] for row in rows])


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
