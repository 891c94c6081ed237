"""A matrix from a file of its own, by the file's suffix: weights, or a mask of forbidden pairs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tacit.errors import FileError
from tacit.problems.files.csv_weights import WeightTable, read_csv_weights
from tacit.problems.files.decimals import CellFileError
from tacit.problems.files.npy_weights import read_npy_weights

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
