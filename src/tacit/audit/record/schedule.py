"""Whether the forbidden pairs of a problem are a schedule, which is then public."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def first_columns(forbidden: Iterable[Sequence[int]], rows: int, /) -> list[int] | None:
    """The first allowed column of each row, if the columns before it tell of a schedule.

    Columns are slots in time, and no row can have one before its own. That is so if at least half
    of the rows have such a beginning, and not all of them the same. Single slots that are closed
    later on do not change it.

    >>> first_columns([(1, 0), (2, 0), (2, 1), (0, 2)], 3), first_columns([(1, 0)], 3)
    ([0, 1, 2], None)
    """
    by_row: dict[int, set[int]] = {}
    for row, column in forbidden:
        by_row.setdefault(row, set()).add(column)
    first = [_beginning(by_row.get(row, set())) for row in range(rows)]
    late = sum(each > 0 for each in first)
    return first if 2 * late >= rows and len(set(first)) > 1 else None


def _beginning(columns: set[int]) -> int:
    """How many columns from the first one on are forbidden."""
    count = 0
    while count in columns:
        count += 1
    return count
