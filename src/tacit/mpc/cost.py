"""The cost of a protocol: rounds on the critical path and bytes that each node sends.

It follows from the letters of the protocol's rounds, and a test compares it with measured traffic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tacit.mpc.letters import Letter, frame_bytes
from tacit.mpc.transport.frame import HEADER_BYTES

_NEVER = -(1 << 30)
Chains = tuple[tuple[int, ...], ...]
"""Line by line for each party, the coordinator last: the longest chain of messages that began at
each party and has reached it."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The longest chains of messages, and bytes sent by each node with all frame headers.

    >>> step = Cost.of(3, [Letter((0,), 1, (4,))])
    >>> step.rounds, step.sent
    (1, (84, 0, 0))
    >>> back = Cost.of(3, [Letter((1,), 0, (4,))])
    >>> step.then(back).rounds, step.then(step).rounds, step.beside(back).rounds
    (2, 1, 1)
    >>> step.then(step).sent == step.beside(step).sent
    True
    """

    chains: Chains
    sent: tuple[int, ...]

    @classmethod
    def of(cls, nodes: int, *rounds: Sequence[Letter]) -> Cost:
        """The cost of these letters, round by round.

        >>> Cost.of(3, [Letter((0, 1), 2, (2,))]).sent  # a word and a hash from each
        (92, 92, 0)
        """
        total = cls.free(nodes)
        for letters in rounds:
            chains = [[*line] for line in cls.free(nodes).chains]
            sent = [0] * nodes
            # One frame for all letters of a round from one party to another, as `Session` sends
            # them.
            for sender, to in {(s, e.to) for e in letters for s in e.senders}:
                chains[to][sender] = 1
                sent[sender] += HEADER_BYTES + frame_bytes(letters, sender, to)
            total = total.then(cls(tuple(map(tuple, chains)), tuple(sent)))
        return total

    @classmethod
    def free(cls, nodes: int) -> Cost:
        parties = range(nodes + 1)
        chains = tuple(tuple(0 if i == j else _NEVER for j in parties) for i in parties)
        return cls(chains, (0,) * nodes)

    @property
    def rounds(self) -> int:
        """Messages on the longest chain."""
        return max(map(max, self.chains))

    @property
    def bytes_per_node(self) -> int:
        return max(self.sent)

    def _sum(self, other: Cost) -> tuple[int, ...]:
        return tuple(a + b for a, b in zip(self.sent, other.sent, strict=True))

    def then(self, other: Cost) -> Cost:
        """The cost of this, then the other: chains of the second follow those of the first."""
        # A chain of both ends where the second one begins: the longest path in max-plus algebra.
        columns = tuple(zip(*self.chains, strict=True))
        chains = tuple(
            tuple(max(a + b for a, b in zip(line, column, strict=True)) for column in columns)
            for line in other.chains
        )
        return Cost(chains, self._sum(other))

    def beside(self, other: Cost) -> Cost:
        """The cost of both at the same time."""
        chains = tuple(
            tuple(map(max, ours, theirs))
            for ours, theirs in zip(self.chains, other.chains, strict=True)
        )
        return Cost(chains, self._sum(other))
