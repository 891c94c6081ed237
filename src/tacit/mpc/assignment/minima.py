"""Minima of the columns: the least of what its rows offer and of its own price.

Row i on column k pays a_i = C_ik - v_k. The candidates of column j are C_ij - a_i for its allowed
rows, so a public mask makes groups small, and its own price. One round finds what rows pay; the
minimum takes the rounds of `find_least`. The nodes learn the orders of uniform rankings, that is,
nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.assignment.layout import AssignmentShape, Indices
from tacit.mpc.cost import Cost
from tacit.mpc.letters import Letter
from tacit.mpc.protocols import minimum, pairwise, shuffle
from tacit.mpc.protocols.minimum import Found, find_least, levels_for, tournament, with_ties
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, BitShare

FIRST_PRICES = 0
"""The number of the minimum before the first iteration; iterations count from 1."""
PROOF = -1
"""The number of the minimum of the proof."""


@dataclass(frozen=True, slots=True)
class Ties:
    """Public tie-breaks of some weightings, each with its own: which of equal candidates wins.

    They are a function of the seed, the weighting and the iteration, never of the attempt: an
    iteration that is repeated after a crash leads to the same state again. Its shuffles are new,
    so the orders that it opens are, too. The seed is drawn after the costs are frozen.

    >>> Ties(7).drawn(FIRST_PRICES, AssignmentShape(3, spread=9)).shape
    (1, 9)
    """

    seed: int
    weightings: Sequence[int] = (0,)

    def drawn(self, iteration: int, shape: AssignmentShape) -> Indices:
        """Return 0, 1, ... in some order for the allowed rows of each column; a line each."""
        lines = []
        for weighting in self.weightings:
            # Raw words of PCG64 are the same in every version of NumPy.
            words = np.random.PCG64([self.seed, weighting, iteration + 1]).random_raw(shape.pairs)
            if shape.allowed is None:
                order = np.argsort(words.reshape(shape.size, shape.size), axis=1).reshape(-1)
            else:
                columns = np.repeat(np.arange(shape.size), shape.rows_of)
                order = np.lexsort((words, columns)) - shape.starts[columns]
            lines.append(order)
        return np.stack(lines)


async def paid_by_rows(
    session: Session,
    matching: ArithmeticShare,
    costs: ArithmeticShare,
    prices: ArithmeticShare | None = None,
    *,
    label: str,
) -> ArithmeticShare:
    """Return the cost of each row's column, less the price of that column. 1 round.

    >>> from tacit.mpc.local import deal_integers, reveal, run_parties
    >>> matching, costs = deal_integers([[[0, 1], [1, 0]]]), deal_integers([[[7, 4], [2, 9]]])
    >>> prices = deal_integers([[2, 3]])
    >>> run = run_parties(
    ...     lambda s: paid_by_rows(s, matching[s.me], costs[s.me], prices[s.me], label="paid"))
    >>> reveal(run.results)
    array([[1, 0]])
    """
    less = costs if prices is None else costs - prices[:, None, :]
    return await pairwise.product(session, matching, less, _by_rows, label=label)


def _by_rows(matching: NDArray[Any], costs: NDArray[Any]) -> NDArray[Any]:
    return np.asarray((matching.swapaxes(1, 2) * costs).sum(axis=2, dtype=costs.dtype))


def cost_of_paid(nodes: int, shape: AssignmentShape) -> Cost:
    """Return the cost of what rows pay."""
    return pairwise.cost(nodes, shape.weightings * shape.size, itemsize=shape.word.itemsize)


def letters_of_paid(nodes: int, shape: AssignmentShape) -> list[Letter]:
    """Return the letters of what rows pay, with which greetings go."""
    return pairwise.reshare_letters(nodes, (shape.weightings, shape.size), shape.word)


def offers(
    costs: ArithmeticShare, shape: AssignmentShape, paid: ArithmeticShare | None = None
) -> ArithmeticShare:
    """Return what each allowed row costs on each column, less what it pays: a line each."""
    if paid is not None:
        costs = costs - paid[:, :, None]
    return costs.map(lambda part: shape.taken(part.swapaxes(1, 2)))


@dataclass(frozen=True, slots=True)
class ColumnMinima:
    """The least candidate of each column, and how to learn in shares which one it was."""

    values: ArithmeticShare
    """Weightings x columns."""
    found: Found
    shape: AssignmentShape

    async def marks(self, session: Session, *, label: str) -> tuple[BitShare, BitShare]:
        """Return bits: whether each column's own price was the least, and which row's offer was."""
        bits = await self.found.bit_marks(session, label=label)
        marks = bits.map(lambda part: (part & np.uint8(1)).reshape(self.shape.weightings, -1))
        own = self.shape.starts + np.arange(self.shape.size)
        rows = marks.map(lambda part: self.shape.placed(np.delete(part, own, axis=1)))
        return marks[:, own], rows


async def column_minima(
    session: Session,
    offered: ArithmeticShare,
    own: ArithmeticShare | None,
    ties: Indices,
    shape: AssignmentShape,
    *,
    label: str,
) -> ColumnMinima:
    """Return the least of what rows offer each column and, if given, of its own price.

    A column prefers its own price among equals. So a row's offer is the least only if the price
    falls, and then alone the parent changes.

    >>> from tacit.mpc.local import deal_integers, reveal, run_parties
    >>> offered, own = deal_integers([[7, 4, 2, 9]]), deal_integers([[5, 1]])
    >>> shape = AssignmentShape(2, spread=10)
    >>> async def node(s):
    ...     ties = Ties(1).drawn(1, shape)
    ...     return (await column_minima(s, offered[s.me], own[s.me], ties, shape, label="m")).values
    >>> reveal(run_parties(node).results)
    array([[4, 1]])
    """
    if own is not None:
        # Each column's own price stands before the offers of its rows.
        offered = ArithmeticShare(
            {
                c: np.insert(part, shape.starts, own.parts[c], axis=1)
                for c, part in offered.parts.items()
            }
        )
        # Number 0 is its own, so no two keys of a group are equal: equal ones would show in the
        # opened order.
        ties = np.insert(ties + 1, shape.starts, 0, axis=1)
    # Values go along with their keys: the tie-break must not enter the prices.
    keyed = with_ties(offered, ties, tie_bits=shape.tie_bits)
    found = await find_least(
        session,
        keyed.map(lambda part: part.reshape(-1, 2)),
        shape.groups(own=own is not None),
        bits=shape.key_bits,
        label=label,
    )
    least = found.lines[:, 1].map(lambda part: part.reshape(shape.weightings, shape.size))
    return ColumnMinima(least, found, shape)


def cost(nodes: int, shape: AssignmentShape, *, own: bool) -> Cost:
    """Return the cost of a minimum for each column, of its own price too or of rows alone."""
    groups = shape.groups(own=own)
    return minimum.cost(nodes, groups, bits=shape.key_bits, dtype=shape.word, columns=2)


def first_letters(nodes: int, shape: AssignmentShape) -> list[Letter]:
    """Return the letters of the first round of a minimum of rows alone."""
    return shuffle.first_letters(nodes, (sum(shape.groups(own=False)), 2), shape.word)


def cost_of_marks(nodes: int, shape: AssignmentShape) -> Cost:
    """Return the cost of the marks of a minimum of own prices and rows."""
    return minimum.cost_of_marks(nodes, shape.groups(own=True), np.dtype(np.uint8))


def most_compared(shape: AssignmentShape) -> int:
    """Return the most comparisons that any round has.

    >>> most_compared(AssignmentShape(100, spread=1000))
    25000
    """
    groups = shape.groups(own=True)
    return max(level.pairs for level in tournament(groups, levels_for(max(groups))))
