"""The cost of a protocol: rounds on the critical path and bytes that each node sends.

Every protocol declares its cost as a function, and a test compares it with measured traffic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tacit.mpc.transport.frame import HEADER_BYTES


@dataclass(frozen=True, slots=True)
class Cost:
    """Rounds, and bytes sent by nodes 0, 1 and 2 with all frame headers.

    >>> step = Cost.of(1, [100], [100], [])
    >>> step.then(step).rounds, step.beside(step).rounds
    (2, 1)
    >>> step.then(step).sent == step.beside(step).sent
    True
    """

    rounds: int
    sent: tuple[int, int, int]

    @classmethod
    def of(
        cls, rounds: int, node0: Sequence[int], node1: Sequence[int], node2: Sequence[int]
    ) -> Cost:
        """The cost of frames with these payload sizes, per sending node.

        >>> Cost.of(1, [8], [], []).sent
        (60, 0, 0)
        """
        a, b, c = (sum(size + HEADER_BYTES for size in node) for node in (node0, node1, node2))
        return cls(rounds, (a, b, c))

    @classmethod
    def free(cls) -> Cost:
        """Nothing is sent."""
        return cls(0, (0, 0, 0))

    @property
    def bytes_per_node(self) -> int:
        """Bytes of the node that sends most."""
        return max(self.sent)

    def _sum(self, other: Cost) -> tuple[int, int, int]:
        a, b = self.sent, other.sent
        return a[0] + b[0], a[1] + b[1], a[2] + b[2]

    def then(self, other: Cost) -> Cost:
        """The cost of this, then the other (sequential composition).

        >>> Cost.of(1, [], [], []).then(Cost.of(2, [], [], [])).rounds
        3
        """
        return Cost(self.rounds + other.rounds, self._sum(other))

    def beside(self, other: Cost) -> Cost:
        """The cost of both at the same time (parallel composition).

        >>> Cost.of(1, [], [], []).beside(Cost.of(2, [], [], [])).rounds
        2
        """
        return Cost(max(self.rounds, other.rounds), self._sum(other))
