"""What an objective has where nobody has said what may be disclosed of it."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.disclosure.exact import Exact


@dataclass(frozen=True, eq=False)
class Unsaid(Exact):
    """As `none` where the weights are here anyway; `solve` takes what is usual in its place.

    >>> Unsaid() == Exact(), isinstance(Exact(), Unsaid)
    (True, False)
    """

    def __eq__(self, other: object) -> bool:
        """Whether it reveals the same."""
        return isinstance(other, Exact)

    def __hash__(self) -> int:
        """As `none` has it."""
        return hash(Exact())
