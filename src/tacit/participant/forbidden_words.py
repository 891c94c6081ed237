"""Forbidden pairs as somebody reads them: rows of the same rule together, columns in runs."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise

Run = tuple[int, int]
"""The first and the last of columns that stand side by side."""

TIME = re.compile(r"(\d{1,2}):(\d{2})")
MOST_ROWS, MOST_RUNS = 8, 6


def forbidden_lines(
    pairs: Iterable[tuple[int, int]],
    rows: Sequence[str],
    columns: Sequence[str],
    own: Collection[int],
    /,
) -> list[str]:
    """One line for all rows with the same rule; those of whoever reads it come first.

    >>> slots = ["7:30", "7:40", "7:50", "8:00"]
    >>> pairs = [(0, 0), (1, 0), (2, 0), (2, 1), (2, 3)]
    >>> forbidden_lines(pairs, ["F0", "F1", "F2"], slots, {1})
    ['F1 (yours): not before 7:40', 'F0: not before 7:40', 'F2: only 7:50']
    >>> forbidden_lines([(0, 0), (0, 1)], ["F0"], ["gate A", "gate B", "gate C", "gate D"], ())
    ['F0: not gate A, gate B']
    """
    by_row: dict[int, set[int]] = defaultdict(set)
    for row, column in pairs:
        by_row[row].add(column)
    alike: dict[tuple[bool, str], list[str]] = defaultdict(list)
    are_times = _are_times(columns)
    for row in sorted(by_row):
        rule = _rule(by_row[row], columns, are_times=are_times)
        alike[row not in own, rule].append(rows[row])
    return [
        f"{_some(names, MOST_ROWS)}{'' if others else ' (yours)'}: {rule}"
        for (others, rule), names in sorted(alike.items(), key=lambda each: each[0][0])
    ]


def _rule(forbidden: set[int], columns: Sequence[str], *, are_times: bool) -> str:
    """The shorter of what a row may not take and what it may."""
    last = len(columns) - 1
    banned, free = (
        list(_runs(sorted(each))) for each in (forbidden, {*range(len(columns))} - forbidden)
    )
    if are_times and banned == [(0, banned[0][1])] and free:
        return f"not before {columns[free[0][0]]}"
    if are_times and banned == [(banned[0][0], last)] and free:
        return f"not after {columns[free[-1][1]]}"
    if _length(free) < _length(banned):
        return f"only {_listed(free, columns)}" if free else "no column at all"
    return f"not {_listed(banned, columns)}"


def _length(runs: list[Run]) -> int:
    """How many columns have to be named."""
    return sum(min(last - first + 1, 2) for first, last in runs)


def _listed(runs: list[Run], columns: Sequence[str]) -> str:
    named: list[str] = []
    for first, last in runs:
        if last - first < 2:
            named += columns[first : last + 1]
        else:
            named.append(f"{columns[first]} to {columns[last]}")
    return _some(named, MOST_RUNS)


def _runs(columns: list[int]) -> Iterable[Run]:
    """Columns that follow each other, as first and last."""
    start = columns[:1]
    for before, column in pairwise(columns):
        if column != before + 1:
            yield start[0], before
            start = [column]
    if columns:
        yield start[0], columns[-1]


def _are_times(columns: Sequence[str]) -> bool:
    """Whether the columns are times of a day, one after the other: then "before" says something."""
    found = [TIME.fullmatch(name) for name in columns]
    minutes = [int(each[1]) * 60 + int(each[2]) for each in found if each is not None]
    return len(minutes) == len(columns) and all(a < b for a, b in pairwise(minutes))


def _some(names: Sequence[str], most: int) -> str:
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more, see --json" if more > 0 else "")
