"""The outer form of a TSPLIB 95 file: keywords, sections of numbers, and layouts of a matrix."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tacit.errors import FileError
from tacit.files import read_bytes

_KEYWORD = re.compile(r"([A-Za-z][A-Za-z0-9_]*)\s*(:?)\s*(.*)")
LAYOUTS = (
    "FULL_MATRIX",
    "UPPER_ROW",
    "LOWER_COL",
    "UPPER_DIAG_ROW",
    "LOWER_DIAG_COL",
    "LOWER_ROW",
    "UPPER_COL",
    "LOWER_DIAG_ROW",
    "UPPER_DIAG_COL",
)
"""All values of EDGE_WEIGHT_FORMAT that hold a matrix."""


@dataclass(frozen=True)
class Token:
    """One number or word of a section and the line it stands in."""

    text: str
    line: int


@dataclass(frozen=True)
class TsplibText:
    """A file taken apart, nothing interpreted yet."""

    path: Path
    values: dict[str, Token] = field(default_factory=dict)
    sections: dict[str, list[Token]] = field(default_factory=dict)

    def word(self, keyword: str, /) -> str | None:
        """The first word of a keyword's value, in capitals; comments may follow it."""
        token = self.values.get(keyword)
        return token.text.split()[0].upper() if token and token.text else None

    def place(self, keyword: str, /) -> str | None:
        """The line of a keyword."""
        token = self.values.get(keyword)
        return f"line {token.line}" if token else None

    def dimension(self) -> int | None:
        """The number of cities, where the file tells it."""
        word = self.word("DIMENSION")
        if word is None:
            return None
        if not (word.isascii() and word.isdigit()) or not 0 < len(word) <= 9:
            raise FileError(
                self.path,
                self.place("DIMENSION"),
                f"DIMENSION is {word!r}",
                "give the number of cities",
            )
        return int(word)


def read_tsplib_text(path: Path, /) -> TsplibText:
    r"""Take a TSPLIB file apart."""
    text = TsplibText(path)
    # Old files carry names in old encodings, in comments only: those bytes may be anything.
    lines = read_bytes(path).decode("utf-8-sig", errors="replace").splitlines()
    section: list[Token] | None = None
    for number, line in enumerate(lines, start=1):
        stripped = line.strip()
        if not stripped:
            continue
        keyword = _KEYWORD.fullmatch(stripped)
        if keyword is None:
            if section is None:
                raise FileError(
                    path,
                    f"line {number}",
                    f"{_shown(stripped)!r} stands before any section",
                    "check that this is a TSPLIB file",
                )
            section.extend(Token(word, number) for word in stripped.split())
            continue
        name, colon, value = keyword.group(1).upper(), keyword.group(2), keyword.group(3).strip()
        if name == "EOF":
            break
        if name.endswith("_SECTION"):
            section = text.sections.setdefault(name, [])
            section.extend(Token(word, number) for word in value.split())
        elif colon or (section is None and value):
            section = None
            text.values[name] = Token(value, number)
        else:
            raise FileError(
                path,
                f"line {number}",
                f"{_shown(stripped)!r} is neither a number nor a keyword",
                "check that this is a TSPLIB file",
            )
    if not text.values and not text.sections:
        raise FileError(path, None, "the file is empty", "give a TSPLIB file")
    return text


def _shown(line: str) -> str:
    return line if len(line) <= 40 else line[:37] + "..."


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
        # The matrix is symmetric, so the columns of one triangle are the rows of the other.
        is_upper = layout.startswith("UPPER") == layout.endswith("ROW")
        beside = 0 if "DIAG" in layout else 1
        rows, columns = np.triu_indices(n, beside) if is_upper else np.tril_indices(n, -beside)
        matrix = np.zeros((n, n), dtype=np.int64)
        matrix[rows, columns] = values
        matrix[columns, rows] = values
    np.fill_diagonal(matrix, 0)
    return matrix
