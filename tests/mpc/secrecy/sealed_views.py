"""Record a node's view of a sealed search, and test whether two views differ by chance alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from numpy.typing import NDArray

from tacit.mpc.protocols.minimum import Level
from tacit.mpc.sealed.moves import TableShape
from tacit.mpc.shares import ArithmeticShare
from tests.mpc.secrecy.letters_seen import Arrived
from tests.mpc.secrecy.weakened import least_p, split_alike

WEIGHTS = (
    np.array([[9, 0, 0, 0], [0, 9, 0, 0], [0, 0, 9, 0], [0, 0, 0, 9]]),
    np.array([[0, 9, 1, 4], [9, 0, 7, 2], [1, 7, 0, 9], [4, 2, 9, 0]]),
)


CHANCE = 1e-4
"""A p-value above this is what chance gives."""


def seen_alike(
    table: NDArray[np.int64], observer: int, shape: TableShape, *, nodes: int
) -> list[ArithmeticShare]:
    """Shares of which the observer's own components are always the same."""
    shares = split_alike(table, observer, nodes=nodes)
    return [share.map(lambda part: part.astype(shape.word)) for share in shares]


def arrived_bits(arrived: Arrived, observer: int) -> list[int]:
    """A few bits of every letter that arrives at the observer."""
    letters = [each.tobytes() for each in arrived[observer]]
    return [bit for p in letters for bit in ((p[0] & 1), p[-1] & 1)]


def corrected_p(first: NDArray[np.uint8], second: NDArray[np.uint8]) -> float:
    """The smallest p-value, times how many bits and pairs of bits were looked at."""
    bits = first.shape[1]
    return float(least_p(first, second) * (bits * (bits + 1) // 2))


@contextmanager
def opened_signs(nodes: int) -> Iterator[Callable[[], list[int]]]:
    """What gives the signs that were opened since it was called last."""
    seen: list[list[int]] = []
    found = Level.winners

    def noted(level: Level, less: NDArray[np.uint8], *, largest: bool) -> NDArray[np.intp]:
        seen.append([int(bit) for bit in less.reshape(-1)])
        return found(level, less, largest=largest)

    def opened() -> list[int]:
        bits = [bit for signs in seen[::nodes] for bit in signs]  # every node saw them
        seen.clear()
        return bits

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Level, "winners", noted)
        yield opened
