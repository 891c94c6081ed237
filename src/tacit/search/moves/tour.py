"""Moves of a tour: inversions (2-opt) and or-opt moves of a segment.

The table has a line and a column per position (and one more column for the ids): cell (a, b) is
the value of the leg from the city at position a to that at position b. In each generation a new
random window of consecutive positions may change; all others stay.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.search.moves.move_set import MoveSet
from tacit.search.moves.runs import Indices, Runs

LONGEST_SEGMENT = 3
"""The largest number of cities that an or-opt move relocates."""
TERMS = 3
"""The largest number of legs that a move changes, but for those that it turns."""


@dataclass(frozen=True, eq=False)
class _Segment:
    """A move: the segment i..e is placed, as it is or reversed, after m."""

    first: Indices
    last: Indices
    after: Indices
    reversed: NDArray[np.bool_]


def tour_moves(
    words: NDArray[np.uint64],
    *,
    cities: int,
    window: int,
    children: int,
    inversions: int,
    symmetric: bool,
    width: int,
    offset: int = 0,
) -> MoveSet:
    """Random moves of a window's positions, inversions first; the table has `width` columns.

    `words` are one, and three per child. A window of one position has no moves. The window begins
    so many positions behind the drawn one.

    >>> words = np.arange(31, dtype=np.uint64) << np.uint64(59)
    >>> moves = tour_moves(words, cities=6, window=5, children=10, inversions=5, symmetric=True,
    ...                    width=7)
    >>> moves.blocks, moves.children, moves.plus.shape
    (1, 11, (11, 3))
    """
    high = (words >> np.uint64(32)).astype(np.int64)
    # The window, with the position before it and the one behind it, which stay.
    arc = (np.arange(window + 2) + offset + ((high[0] * cities) >> 32)) % cities
    if window < 2:
        children = inversions = 0
    drawn = high[1 : 1 + 3 * children].reshape(3, children)
    segment = _draw(drawn, window, inversions)
    plus, minus = _changed_legs(segment, arc, width)
    turns = np.zeros((0, 2), dtype=np.intp)
    if not symmetric:
        legs = np.stack([arc[:-1] * width + arc[1:], arc[1:] * width + arc[:-1]], axis=1)
        turns = legs if children else turns
        plus, minus = _with_turned_legs(segment, plus, minus, first=cities * width)
    return MoveSet(
        positions=arc[None, 1:-1],
        children=children + 1,
        plus=plus,
        minus=minus,
        runs=_runs(segment),
        turns=turns,
    )


def _draw(drawn: NDArray[np.int64], inner: int, inversions: int) -> _Segment:
    """Segments of 1..inner; an inversion puts one back reversed where it was."""
    a = (drawn[0] * inner) >> 32
    b = (drawn[1] * (inner - 1)) >> 32
    b += b >= a
    low, high = np.minimum(a, b) + 1, np.maximum(a, b) + 1
    # The first bits of the third word are length and reversal, the others the new place.
    length = np.minimum(1 + ((drawn[2] >> 16) * LONGEST_SEGMENT >> 16), inner - 1)
    first = 1 + ((drawn[0] * (inner - length + 1)) >> 32)
    place = (drawn[1] * (inner - length)) >> 32
    after = np.where(place >= first - 1, place + length + 1, place)
    turns = (drawn[2] & 1).astype(np.bool_)
    is_inversion = np.arange(drawn.shape[1]) < inversions
    return _Segment(
        first=np.where(is_inversion, low, first),
        last=np.where(is_inversion, high, first + length - 1),
        after=np.where(is_inversion, low - 1, after),
        reversed=is_inversion | turns,
    )


def _runs(segment: _Segment) -> Runs:
    """The segment at its new place, and what lies between its old and its new place."""
    i, e, m = segment.first, segment.last, segment.after
    child = np.arange(1, len(i) + 1)
    length = e - i + 1
    stays = m == i - 1
    forth = m > e
    # The new start of the segment: right after m, or so far before that it ends at m.
    begin = np.where(forth, m - length + 1, m + 1)
    moved = ~stays
    between = Runs(
        child=child,
        to=np.where(forth, i, begin + length),
        source=np.where(forth, e + 1, m + 1),
        length=np.where(forth, m - e, i - m - 1),
        step=np.ones_like(child),
    )[moved]
    return Runs(
        child=np.concatenate([child, between.child]),
        # The first position of the arc stays and is none of the block's.
        to=np.concatenate([begin, between.to]) - 1,
        source=np.concatenate([np.where(segment.reversed, e, i), between.source]) - 1,
        length=np.concatenate([length, between.length]),
        step=np.concatenate([np.where(segment.reversed, -1, 1), between.step]),
    )


def _changed_legs(segment: _Segment, arc: Indices, width: int) -> tuple[Indices, Indices]:
    """The legs added and the legs removed, but for legs that are turned."""
    i, e, m = segment.first, segment.last, segment.after
    stays = m == i - 1
    head, tail = np.where(segment.reversed, e, i), np.where(segment.reversed, i, e)

    def cell(a: Indices, b: Indices) -> Indices:
        return arc[a] * width + arc[b]

    nothing = np.zeros_like(i)
    plus = [
        np.where(stays, nothing, cell(i - 1, e + 1)),
        cell(m, head),
        np.where(stays, cell(tail, e + 1), cell(tail, m + 1)),
    ]
    minus = [
        cell(i - 1, i),
        cell(e, e + 1),
        np.where(stays, nothing, cell(m, m + 1)),
    ]
    parent = np.zeros((1, TERMS), dtype=i.dtype)
    return tuple(  # type: ignore[return-value]
        np.concatenate([parent, np.stack(cells, axis=1)]) for cells in (plus, minus)
    )


def _with_turned_legs(
    segment: _Segment, plus: Indices, minus: Indices, *, first: int
) -> tuple[Indices, Indices]:
    """The same with the legs that a directed tour turns: the difference of two of their sums.

    The sums are cells from `first` on.
    """
    turned = np.concatenate([[False], segment.reversed])
    ends = (np.concatenate([[0], each]) + first for each in (segment.last, segment.first))
    plus, minus = (
        np.column_stack([cells, np.where(turned, end, 0)])
        for cells, end in zip((plus, minus), ends, strict=True)
    )
    return plus, minus
