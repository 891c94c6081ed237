"""A matrix from a file of its own, by the file's suffix: weights, or a mask of forbidden pairs."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import FileError
from tacit.files import read_bytes
from tacit.problems.files.csv_weights import WeightTable, read_csv_weights
from tacit.problems.files.decimals import LARGEST_SCALE, CellFileError
from tacit.problems.model.objective import FITNESS_BITS

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
        weights, scale = _scaled_floats(path, array, scale)
    else:
        scale = scale or 1
        weights = array.astype(np.int64) * scale
    _refuse(path, array, weights > limit, f"times scale {scale} is above {limit}", remedy)
    return WeightTable(weights, scale)


def _read_array(path: Path) -> NDArray[Any]:
    raw = read_bytes(path)
    try:
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
) -> tuple[NDArray[np.int64], int]:
    """Find whole numbers k such that k/scale is, to the last bit, the number that was saved."""
    candidates = [scale] if scale else [10**k for k in range(7)]
    for candidate in candidates:
        weights = np.rint(array.astype(np.float64) * candidate)
        inexact = (weights / candidate).astype(array.dtype) != array
        if not inexact.any():
            return weights.astype(np.int64), candidate
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
