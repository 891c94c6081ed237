"""Whether the forbidden pairs of a problem are a schedule, which is then public."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def first_columns(forbidden: Iterable[Sequence[int]], rows: int, /) -> list[int] | None:
    """The first allowed column of each row, if exactly the columns before it are forbidden.

    That is a schedule: columns are slots in time, and no row can have one before its own. Not all
    rows begin at the same one.

    >>> first_columns([(1, 0), (2, 0), (2, 1)], 3), first_columns([(1, 1)], 3), first_columns([], 3)
    ([0, 1, 2], None, None)
    """
    by_row: dict[int, set[int]] = {}
    for row, column in forbidden:
        by_row.setdefault(row, set()).add(column)
    first = [len(by_row.get(row, ())) for row in range(rows)]
    prefixes = all(by_row[row] == set(range(first[row])) for row in by_row)
    return first if prefixes and len(set(first)) > 1 else None
