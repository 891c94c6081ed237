"""The least of each line of a table of shares, with public tie-breaks.

The rounds of `find_least`. The nodes learn the orders of uniform rankings, that is, nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.assignment.shape import AssignmentShape
from tacit.mpc.cost import Cost
from tacit.mpc.letters import Letter
from tacit.mpc.protocols import minimum, shuffle
from tacit.mpc.protocols.minimum import Found, find_least, levels_for, tournament, with_ties
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, BitShare


@dataclass(frozen=True, slots=True)
class LineMinima:
    """The least values, and how to learn in shares where they stood."""

    values: ArithmeticShare
    """Weightings x lines."""
    found: Found
    shape: tuple[int, ...]

    async def marks(self, session: Session, *, label: str) -> BitShare:
        """Bits that are 1 where the least value of a line stood."""
        marks = await self.found.bit_marks(session, label=label)
        return marks.map(lambda part: (part & np.uint8(1)).reshape(self.shape))


def public(value: int, word: np.dtype[Any]) -> NDArray[Any]:
    """A public number of any sign as a word of the ring."""
    return np.array([value % (1 << 8 * word.itemsize)], dtype=word)


async def line_minima(
    session: Session,
    values: ArithmeticShare,
    ties: NDArray[np.intp],
    shape: AssignmentShape,
    *,
    label: str,
) -> LineMinima:
    """The least value of each line (the last axis) of each weighting.

    >>> from tacit.mpc.local import deal_integers, reveal, run_parties
    >>> table = deal_integers([[[7, 4], [2, 9]]])
    >>> shape = AssignmentShape(2, spread=10)
    >>> async def node(s):
    ...     ties = np.array([[[0, 1], [0, 1]]])
    ...     return (await line_minima(s, table[s.me], ties, shape, label="m")).values
    >>> reveal(run_parties(node).results)
    array([[4, 2]])
    """
    weightings, lines, candidates = values.shape
    keyed = with_ties(values, ties, tie_bits=shape.tie_bits)
    found = await find_least(
        session,
        keyed.map(lambda part: part.reshape(-1, 2)),
        (candidates,) * (weightings * lines),
        bits=shape.key_bits,
        label=label,
    )
    least = found.lines[:, 1].map(lambda part: part.reshape(weightings, lines))
    return LineMinima(least, found, values.shape)


def cost(nodes: int, shape: AssignmentShape, candidates: int) -> Cost:
    """The cost of the least of each line with this many candidates."""
    return minimum.cost(
        nodes, shape.sizes(candidates), bits=shape.key_bits, dtype=shape.word, columns=2
    )


def first_letters(nodes: int, shape: AssignmentShape, candidates: int) -> list[Letter]:
    """The letters of the first round."""
    lines = sum(shape.sizes(candidates))
    return shuffle.first_letters(nodes, (lines, 2), shape.word)


def cost_of_marks(nodes: int, shape: AssignmentShape, candidates: int) -> Cost:
    """The cost of marks of where they stood."""
    return minimum.cost_of_marks(nodes, shape.sizes(candidates), np.dtype(np.uint8))


def most_compared(shape: AssignmentShape) -> int:
    """The most comparisons that any round has.

    >>> most_compared(AssignmentShape(100, spread=1000))
    24500
    """
    candidates = shape.size
    levels = tournament((candidates,), levels_for(candidates))
    return max(level.pairs for level in levels) * shape.weightings * shape.size
