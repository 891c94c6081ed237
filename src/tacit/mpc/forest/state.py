"""What the nodes hold of a forest between phases."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.mpc.shares import ArithmeticShare, BitShare


@dataclass(frozen=True, slots=True)
class ForestState:
    """Shares of the matching and of the duals; weightings come first in all of them."""

    matched: BitShare
    """Columns x rows: whether they are matched, one bit per byte."""
    matching: ArithmeticShare
    """The same as numbers of the ring."""
    prices: ArithmeticShare
    """One for each column. They drift together; only their differences count."""
    profits: ArithmeticShare
    """One for each row: its least cost minus price."""
    kept: ArithmeticShare
    """Whether a column is in the tree of a root that was not served; it stays there."""
    first: ArithmeticShare | None = None
    """The matching of the plan with which the forest began, if it did, as numbers of the ring."""
