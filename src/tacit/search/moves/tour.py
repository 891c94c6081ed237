"""Moves of a tour: inversions (2-opt) and or-opt moves of a segment.

The table has a line and a column per position (and one more column for the ids): cell (a, b) is
the value of the leg from the city at position a to that at position b. In each generation a new
random window of consecutive positions may change; all others stay.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.search.moves.move_set import Indices, MoveSet

LONGEST_SEGMENT = 3
"""The largest number of cities that an or-opt move relocates."""
TERMS = 3
"""The largest number of legs that a move changes on a symmetric tour."""


@dataclass(frozen=True, eq=False)
class _Stretch:
    """A move: the segment i..e is placed, as it is or reversed, after m."""

    first: Indices
    last: Indices
    after: Indices
    turned: NDArray[np.bool_]


def tour_moves(
    words: NDArray[np.uint64],
    *,
    cities: int,
    window: int,
    children: int,
    inversions: int,
    symmetric: bool,
    width: int,
) -> MoveSet:
    """Random moves of a window's positions, inversions first; the table has `width` columns.

    `words` are one, and three per child. A window of one position has no moves.

    >>> words = np.arange(31, dtype=np.uint64) << np.uint64(59)
    >>> moves = tour_moves(words, cities=6, window=5, children=10, inversions=5, symmetric=True,
    ...                    width=7)
    >>> moves.blocks, moves.children, moves.plus.shape
    (1, 11, (11, 3))
    """
    high = (words >> np.uint64(32)).astype(np.int64)
    # The window, with the position before it and the one behind it, which stay.
    arc = (np.arange(window + 2) + ((high[0] * cities) >> 32)) % cities
    if window < 2:
        children = inversions = 0
    drawn = high[1 : 1 + 3 * children].reshape(3, children)
    stretch = _draw(drawn, window, inversions)
    sources = _sources(stretch, window + 2)
    if symmetric:
        plus, minus = _changed_ways(stretch, arc, width)
    else:
        plus, minus = _all_ways(sources, arc, width)
    child, to = np.nonzero(sources != np.arange(window + 2))
    return MoveSet(
        positions=arc[None, 1:-1],
        children=children + 1,
        plus=plus,
        minus=minus,
        moved_child=child,
        moved_to=to - 1,
        moved_from=sources[child, to] - 1,
    )


def _draw(drawn: NDArray[np.int64], inner: int, inversions: int) -> _Stretch:
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
    return _Stretch(
        first=np.where(is_inversion, low, first),
        last=np.where(is_inversion, high, first + length - 1),
        after=np.where(is_inversion, low - 1, after),
        turned=is_inversion | turns,
    )


def _sources(stretch: _Stretch, size: int) -> Indices:
    """Per child and position of the arc its new content; the first line is the parent."""
    x = np.arange(size, dtype=np.int16)[None]
    i, e, m = (
        each.astype(np.int16)[:, None] for each in (stretch.first, stretch.last, stretch.after)
    )
    length = e - i + 1
    # The new start of the segment: right after m, or so far before that it ends at m.
    begin = np.where(m < i, m + 1, m - length + 1)
    inside = (x >= begin) & (x < begin + length)
    along = np.where(stretch.turned[:, None], e - (x - begin), i + (x - begin))
    back, forth = (x >= begin + length) & (x <= e), (x >= i) & (x < begin)
    rest = x - length * back + length * forth
    sources = np.where(inside, along, rest)
    return np.concatenate([x, sources]) if len(sources) else x


def _changed_ways(stretch: _Stretch, arc: Indices, width: int) -> tuple[Indices, Indices]:
    """The legs added and the legs removed, on a symmetric tour."""
    i, e, m = stretch.first, stretch.last, stretch.after
    stays = m == i - 1
    head, tail = np.where(stretch.turned, e, i), np.where(stretch.turned, i, e)

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


def _all_ways(sources: Indices, arc: Indices, width: int) -> tuple[Indices, Indices]:
    """All legs of each child along the arc, and those of the parent."""
    at = arc[sources]
    ways = at[:, :-1] * width + at[:, 1:]
    return ways, ways[:1]
