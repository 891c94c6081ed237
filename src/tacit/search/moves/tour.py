"""Moves of a tour: inversions (2-opt) and or-opt moves of a stretch of it.

The table has a line and a column per position (and one more column for the ids): cell (a, b) is
what the way from the city at position a to that at position b is worth. In each generation the tour
is looked at from another position on, which stays where it is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.search.moves.move_set import Indices, MoveSet

LONGEST_SEGMENT = 3
"""The most cities that an or-opt move takes along."""
TERMS = 3
"""The largest number of ways that a move changes where both directions are worth the same."""


@dataclass(frozen=True, eq=False)
class _Stretch:
    """A move as it stands: what was at i..e comes, as it is or turned around, after m."""

    first: Indices
    last: Indices
    after: Indices
    turned: NDArray[np.bool_]


def tour_moves(
    words: NDArray[np.uint64],
    *,
    cities: int,
    children: int,
    inversions: int,
    symmetric: bool,
    width: int,
) -> MoveSet:
    """Random moves in one block of all positions, inversions first; the table has `width` columns.

    `words` are one, and three per child. Tours of two cities have no moves.

    >>> words = np.arange(31, dtype=np.uint64) << np.uint64(59)
    >>> moves = tour_moves(words, cities=6, children=10, inversions=5, symmetric=True, width=7)
    >>> moves.blocks, moves.children, moves.plus.shape
    (1, 11, (11, 3))
    """
    high = (words >> np.uint64(32)).astype(np.int64)
    positions = (np.arange(cities) + ((high[0] * cities) >> 32)) % cities
    if cities < 3:
        children = inversions = 0
    drawn = high[1 : 1 + 3 * children].reshape(3, children)
    stretch = _draw(drawn, cities, inversions)
    sources = _sources(stretch, cities)
    if symmetric:
        plus, minus = _changed_ways(stretch, positions, cities, width)
    else:
        plus, minus = _all_ways(sources, positions, width)
    child, to = np.nonzero(sources != np.arange(cities))
    return MoveSet(
        positions=positions[None],
        children=children + 1,
        plus=plus,
        minus=minus,
        moved_child=child,
        moved_to=to,
        moved_from=sources[child, to],
    )


def _draw(drawn: NDArray[np.int64], cities: int, inversions: int) -> _Stretch:
    """Stretches of 1..cities-1; an inversion is one that comes back turned to where it was."""
    inner = cities - 1
    a = (drawn[0] * inner) >> 32
    b = (drawn[1] * (inner - 1)) >> 32
    b += b >= a
    low, high = np.minimum(a, b) + 1, np.maximum(a, b) + 1
    # The first bits of the third word are the length and the turn, the others the new place.
    length = np.minimum(1 + ((drawn[2] >> 16) * LONGEST_SEGMENT >> 16), cities - 2)
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


def _sources(stretch: _Stretch, cities: int) -> Indices:
    """Per child and position what comes there; the first line is the parent."""
    x = np.arange(cities, dtype=np.int32)[None]
    i, e, m = (
        each.astype(np.int32)[:, None] for each in (stretch.first, stretch.last, stretch.after)
    )
    length = e - i + 1
    # Where the stretch begins afterwards: right behind m, or so far back that it ends at m.
    begin = np.where(m < i, m + 1, m - length + 1)
    inside = (x >= begin) & (x < begin + length)
    along = np.where(stretch.turned[:, None], e - (x - begin), i + (x - begin))
    back, forth = (x >= begin + length) & (x <= e), (x >= i) & (x < begin)
    rest = x - length * back + length * forth
    sources = np.where(inside, along, rest)
    return np.concatenate([x, sources]) if len(sources) else x


def _changed_ways(
    stretch: _Stretch, positions: Indices, cities: int, width: int
) -> tuple[Indices, Indices]:
    """The ways that come and those that go, where a way is worth the same in both directions."""
    i, e, m = stretch.first, stretch.last, stretch.after
    stays = m == i - 1
    head, tail = np.where(stretch.turned, e, i), np.where(stretch.turned, i, e)

    def cell(a: Indices, b: Indices) -> Indices:
        return positions[a % cities] * width + positions[b % cities]

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


def _all_ways(sources: Indices, positions: Indices, width: int) -> tuple[Indices, Indices]:
    """All ways of each child, and those of the parent."""
    at = positions[sources]
    ways = at * width + np.roll(at, -1, axis=1)
    return ways, ways[:1]
