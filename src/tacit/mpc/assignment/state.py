"""The shares that nodes hold of an assignment between steps, and how they are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.mpc.assignment.shape import AssignmentShape
from tacit.mpc.protocols.loss import Size
from tacit.mpc.shares import ArithmeticShare, BitShare


@dataclass(frozen=True, slots=True)
class AssignmentState:
    """Shares of the matching, the prices and the parents; weightings are the first axis."""

    matched: BitShare
    """Columns x rows: which row each column has, one bit per byte."""
    matching: ArithmeticShare
    """The same bits as numbers of the ring."""
    prices: ArithmeticShare
    """One for each column. Only their differences count."""
    parents: BitShare
    """Columns x columns: the parent of each column, no bit where it has none.

    With lag 1 the cycles among them are not exchanged yet, with lag 0 there are none.
    """
    step: int
    """How many steps were made: generations of the descent, then iterations."""

    @property
    def kept(self) -> list[ArithmeticShare]:
        """What a node keeps on its disk; `read_state` restores the rest.

        Bits are kept as words of which the lowest bit counts. Handing a state over to a node that
        was away preserves sums, and the lowest bit of a sum is the sum of the lowest bits modulo 2.
        """
        return [self.matching, self.prices, ArithmeticShare(dict(self.parents.parts))]


def read_state(kept: Sequence[ArithmeticShare], /, *, step: int) -> AssignmentState:
    """Return the state that was kept after a step."""
    matching, prices, parents = kept
    return AssignmentState(lowest_bits(matching), matching, prices, lowest_bits(parents), step)


def lowest_bits(words: ArithmeticShare, /) -> BitShare:
    """Return shares of the lowest bit of each shared word, without a message.

    >>> from tacit.mpc.shares import deal, reconstruct
    >>> reconstruct([lowest_bits(share) for share in deal(np.array([6, 7], dtype=np.uint32))])
    array([0, 1], dtype=uint8)
    """
    return BitShare(
        {c: (part & part.dtype.type(1)).astype(np.uint8) for c, part in words.parts.items()}
    )


def kept_sizes(shape: AssignmentShape, /) -> list[Size]:
    """Return the sizes of what is kept of a state."""
    byte = np.dtype(np.uint8)
    line = shape.weightings, shape.size
    return [(shape.square, shape.word), (line, shape.word), (shape.square, byte)]
