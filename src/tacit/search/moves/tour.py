"""Moves of a tour: inversions (2-opt), exchanges of segments (or-3opt) and or-opt moves.

The table has a line and a column per position (and one more column for the ids): cell (a, b) is
the value of the leg from the city at position a to that at position b. In each generation a new
random window of consecutive positions may change; all others stay.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.search.moves.move_set import Indices, MoveSet, PositionRuns

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
    windows: int = 1,
    exchanges: int = 0,
) -> MoveSet:
    """Random moves of the windows' positions; tables have `width` columns.

    Inversions come first, then exchanges, which turn no leg around, so that they fit directed
    tours, then or-opt moves.

    `words` have a line per parent: one for where its windows begin, evenly spread, and three per
    child of each window. A window of one position has no moves.

    >>> words = np.arange(31, dtype=np.uint64)[None] << np.uint64(59)
    >>> moves = tour_moves(words, cities=6, window=5, children=10, inversions=5, symmetric=True,
    ...                    width=7)
    >>> moves.blocks, moves.children, moves.plus.shape
    (1, 11, (11, 3))
    """
    high = (words >> np.uint64(32)).astype(np.int64)
    parents = len(high)
    first = (high[:, :1] * cities >> 32) + np.arange(windows) * (cities // windows)
    # Each window, with the position before it and the one behind it, which stay.
    arcs = (first.reshape(-1, 1) + np.arange(window + 2)) % cities
    parent = np.repeat(np.arange(parents), windows)[:, None]
    drawn = high[:, 1:].reshape(parents * windows, 3, -1)
    if window < 2:
        drawn, inversions, exchanges = drawn[..., :0], 0, 0
    segment = _draw(drawn.swapaxes(0, 1), window, inversions, exchanges)
    where = _Cells(arcs, parent * cities * width, width)
    plus, minus = _changed_legs(segment, where)
    children = segment.first.shape[1]
    turns: Indices = np.zeros((0, 2), dtype=np.intp)
    if not symmetric:
        turns = where.turns() if children else turns
        sums = parents * cities * width + np.arange(len(arcs))[:, None] * (window + 1)
        plus, minus = _with_turned_legs(segment, plus, minus, first=sums)
    return MoveSet(
        positions=arcs[:, 1:-1] + parent * cities,
        children=children + 1,
        plus=plus.reshape(len(arcs) * (children + 1), -1),
        minus=minus.reshape(len(arcs) * (children + 1), -1),
        runs=_runs(segment),
        turns=turns,
    )


@dataclass(frozen=True, eq=False)
class _Cells:
    """The cells of legs, by places along the arc of each window."""

    arcs: Indices
    table: Indices
    """The first cell of the table of each window's parent."""
    width: int

    def of(self, a: Indices, b: Indices) -> Indices:
        """The cells of the legs from place a to place b, a line per window."""
        lines, columns = (np.take_along_axis(self.arcs, each, axis=1) for each in (a, b))
        return self.table + lines * self.width + columns

    def turns(self) -> Indices:
        """Each leg along the arcs, and the leg back."""
        here, there = self.arcs[:, :-1], self.arcs[:, 1:]
        legs = [self.table + a * self.width + b for a, b in ((here, there), (there, here))]
        return np.stack(legs, axis=2).reshape(-1, 2)


def _draw(drawn: NDArray[np.int64], inner: int, inversions: int, exchanges: int = 0) -> _Segment:
    """Segments of 1..inner, a line per window; an inversion puts one back reversed where it was.

    An exchange moves up to half of the window as it is, past what lies between.
    """
    a = (drawn[0] * inner) >> 32
    b = (drawn[1] * (inner - 1)) >> 32
    b += b >= a
    low, high = np.minimum(a, b) + 1, np.maximum(a, b) + 1
    # The first bits of the third word are length and reversal, the others the new place.
    number = np.arange(drawn.shape[2])
    is_inversion = number < inversions
    is_exchange = ~is_inversion & (number < inversions + exchanges)
    longest = np.where(is_exchange, max(LONGEST_SEGMENT, inner // 2), LONGEST_SEGMENT)
    length = np.minimum(1 + ((drawn[2] >> 16) * longest >> 16), inner - 1)
    first = 1 + ((drawn[0] * (inner - length + 1)) >> 32)
    place = (drawn[1] * (inner - length)) >> 32
    after = np.where(place >= first - 1, place + length + 1, place)
    turns = (drawn[2] & 1).astype(np.bool_) & ~is_exchange
    return _Segment(
        first=np.where(is_inversion, low, first),
        last=np.where(is_inversion, high, first + length - 1),
        after=np.where(is_inversion, low - 1, after),
        reversed=is_inversion | turns,
    )


def _runs(segment: _Segment) -> PositionRuns:
    """The segment at its new place, and what lies between its old and its new place."""
    windows, children = segment.first.shape
    child = (np.arange(windows)[:, None] * (children + 1) + np.arange(1, children + 1)).reshape(-1)
    i, e, m = (each.reshape(-1) for each in (segment.first, segment.last, segment.after))
    turned = segment.reversed.reshape(-1)
    length = e - i + 1
    stays = m == i - 1
    forth = m > e
    # The new start of the segment: right after m, or so far before that it ends at m.
    begin = np.where(forth, m - length + 1, m + 1)
    moved = ~stays
    between = PositionRuns(
        child=child,
        to=np.where(forth, i, begin + length),
        source=np.where(forth, e + 1, m + 1),
        length=np.where(forth, m - e, i - m - 1),
        step=np.ones_like(child),
    )[moved]
    return PositionRuns(
        child=np.concatenate([child, between.child]),
        # The first position of the arc stays and is none of the block's.
        to=np.concatenate([begin, between.to]) - 1,
        source=np.concatenate([np.where(turned, e, i), between.source]) - 1,
        length=np.concatenate([length, between.length]),
        step=np.concatenate([np.where(turned, -1, 1), between.step]),
    )


def _changed_legs(segment: _Segment, where: _Cells) -> tuple[Indices, Indices]:
    """The legs added and the legs removed, but for legs that are turned."""
    i, e, m = segment.first, segment.last, segment.after
    stays = m == i - 1
    head, tail = np.where(segment.reversed, e, i), np.where(segment.reversed, i, e)
    nothing = where.table
    plus = [
        np.where(stays, nothing, where.of(i - 1, e + 1)),
        where.of(m, head),
        where.of(tail, np.where(stays, e, m) + 1),
    ]
    minus = [
        where.of(i - 1, i),
        where.of(e, e + 1),
        np.where(stays, nothing, where.of(m, m + 1)),
    ]
    parent = np.broadcast_to(where.table[:, :, None], (len(i), 1, TERMS))
    return tuple(  # type: ignore[return-value]
        np.concatenate([parent, np.stack(cells, axis=2)], axis=1) for cells in (plus, minus)
    )


def _with_turned_legs(
    segment: _Segment, plus: Indices, minus: Indices, *, first: Indices
) -> tuple[Indices, Indices]:
    """The same with the legs that a directed tour turns: the difference of two of their sums.

    The sums of each window are cells from `first` on.
    """
    none = plus[:, :1, :1]
    turned = []
    for cells, end in ((plus, segment.last), (minus, segment.first)):
        sums = np.where(segment.reversed, end + first, none[:, :, 0])
        turned.append(np.concatenate([cells, np.concatenate([none, sums[:, :, None]], 1)], 2))
    return turned[0], turned[1]
