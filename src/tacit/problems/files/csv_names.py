"""Whether a CSV file names its columns in the first row and its rows in the first column.

A wrong guess would drop weights or take ids for weights without a word, so a row or a column
counts as names only where its cells say so; one stray text among numbers is an error, not a name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tacit.problems.files.decimals import is_number

Cells = Sequence[Sequence[str]]

_ID_WORDS = re.compile(
    "ids?|names?|key|index|rows?|no|nr|number|item|agent|participant|owner|flight|load|job|task"
    "|worker|driver|carrier|from|city",
    re.IGNORECASE,
)


def has_header(cells: Cells, /) -> bool:
    """Whether the first row holds column names.

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
    """Whether the first column holds row names.

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
    """Whether the cells are 0, 1, 2... or 1, 2, 3..."""
    return any(list(cells) == [str(i + start) for i in range(len(cells))] for start in (0, 1))
