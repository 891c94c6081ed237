"""The shares that nodes hold of an assignment between iterations."""

from __future__ import annotations

from dataclasses import dataclass

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
    iterations: int
    """How many iterations were made."""
