"""The layouts in which TSPLIB 95 writes out a matrix of weights.

Column-wise layouts of one triangle hold the same numbers in the same order as row-wise layouts of
the other, since the matrix is symmetric.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

_Indices = tuple[NDArray[np.intp], NDArray[np.intp]]


def _upper(n: int) -> _Indices:
    rows, columns = np.triu_indices(n, 1)
    return rows, columns


def _upper_with_diagonal(n: int) -> _Indices:
    rows, columns = np.triu_indices(n)
    return rows, columns


def _lower(n: int) -> _Indices:
    rows, columns = np.tril_indices(n, -1)
    return rows, columns


def _lower_with_diagonal(n: int) -> _Indices:
    rows, columns = np.tril_indices(n)
    return rows, columns


_TRIANGLES: dict[str, Callable[[int], _Indices]] = {
    "UPPER_ROW": _upper,
    "LOWER_COL": _upper,
    "UPPER_DIAG_ROW": _upper_with_diagonal,
    "LOWER_DIAG_COL": _upper_with_diagonal,
    "LOWER_ROW": _lower,
    "UPPER_COL": _lower,
    "LOWER_DIAG_ROW": _lower_with_diagonal,
    "UPPER_DIAG_COL": _lower_with_diagonal,
}

LAYOUTS = ("FULL_MATRIX", *_TRIANGLES)
"""All values of EDGE_WEIGHT_FORMAT that hold a matrix."""


def layout_size(layout: str, n: int, /) -> int:
    """How many numbers a layout holds for n cities.

    >>> layout_size("FULL_MATRIX", 4), layout_size("UPPER_ROW", 4), layout_size("UPPER_DIAG_ROW", 4)
    (16, 6, 10)
    """
    if layout == "FULL_MATRIX":
        return n * n
    return n * (n + 1) // 2 if "DIAG" in layout else n * (n - 1) // 2


def matrix_from_layout(layout: str, numbers: Sequence[int], n: int, /) -> NDArray[np.int64]:
    """Put the numbers in their places.

    The diagonal becomes 0: no tour uses it, and files put any large number there, which would
    raise the bound on weights for nothing.

    >>> matrix_from_layout("UPPER_ROW", [1, 2, 3], 3).tolist()
    [[0, 1, 2], [1, 0, 3], [2, 3, 0]]
    """
    values = np.array(numbers, dtype=np.int64)
    if layout == "FULL_MATRIX":
        matrix = values.reshape(n, n)
    else:
        rows, columns = _TRIANGLES[layout](n)
        matrix = np.zeros((n, n), dtype=np.int64)
        matrix[rows, columns] = values
        matrix[columns, rows] = values
    np.fill_diagonal(matrix, 0)
    return matrix
