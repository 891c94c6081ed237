"""Replicated three-party secret shares [araki2016, Section 2].

A secret x is split into three random components with x = x0 + x1 + x2 (or x0 ^ x1 ^ x2). Node i
holds the components i and i+1 (indices modulo 3) as `mine` and `next`; one node alone knows nothing
of x, any two know x.

::

    component   0        1        2
    held by     2 and 0  0 and 1  1 and 2
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from tacit.errors import AbortError
from tacit.mpc.ring import Words

NODES = (0, 1, 2)
COORDINATOR = 3
"""The index of the platform's coordinator, which holds no shares and receives results."""


S = TypeVar("S", bound="Share")


def party_name(index: int) -> str:
    """The name of a party in errors.

    >>> party_name(1), party_name(COORDINATOR)
    ('node 1', 'the coordinator')
    """
    return "the coordinator" if index == COORDINATOR else f"node {index}"


@dataclass(frozen=True, slots=True)
class Share:
    """One node's two components; the subclass says how the three add up."""

    mine: NDArray[Any]
    next: NDArray[Any]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the shared array."""
        return self.mine.shape

    def __len__(self) -> int:
        return len(self.mine)

    def __getitem__(self, index: Any) -> Self:  # noqa: ANN401 - whatever NumPy indexes with
        return type(self)(self.mine[index], self.next[index])

    def component(self, number: int, *, me: int) -> NDArray[Any]:
        """The component with this number, which node `me` must hold."""
        return self.mine if number == me else self.next

    @classmethod
    def of(cls, components: Mapping[int, NDArray[Any]], *, me: int) -> Self:
        """The share of node `me` from the components it holds, by their numbers."""
        return cls(components[me], components[(me + 1) % 3])


class ArithmeticShare(Share):
    """x = x0 + x1 + x2 in the ring Z_2^64.

    >>> shares = deal(np.array([41, 1], dtype=np.uint64))
    >>> reconstruct(shares)
    array([41,  1], dtype=uint64)
    """

    __slots__ = ()


class BitShare(Share):
    """x = x0 ^ x1 ^ x2, bitwise on unsigned words of any width."""

    __slots__ = ()


def _random(shape: tuple[int, ...], dtype: np.dtype[Any], source: Callable[[int], bytes]) -> Words:
    size = int(np.prod(shape)) * dtype.itemsize
    words: Words = np.frombuffer(source(size), dtype=dtype).reshape(shape)
    return words


def deal(values: Words, *, source: Callable[[int], bytes] = os.urandom) -> list[ArithmeticShare]:
    """Split secrets into the shares of nodes 0, 1 and 2, as a participant does.

    `source` gives random bytes; anything but the operating system's is for tests only.
    """
    first = _random(values.shape, values.dtype, source)
    second = _random(values.shape, values.dtype, source)
    parts = [first, second, values - first - second]
    return [ArithmeticShare(parts[i], parts[(i + 1) % 3]) for i in NODES]


def deal_bits(
    values: NDArray[Any], *, source: Callable[[int], bytes] = os.urandom
) -> list[BitShare]:
    """Split bits, packed in unsigned words of any width, into the shares of the nodes."""
    first = _random(values.shape, values.dtype, source)
    second = _random(values.shape, values.dtype, source)
    parts = [first, second, values ^ first ^ second]
    return [BitShare(parts[i], parts[(i + 1) % 3]) for i in NODES]


def reconstruct(shares: Sequence[Share]) -> NDArray[Any]:
    """The secret from the shares of all three nodes, in their order, which must fit together."""
    a, b, c = (share.mine for share in shares)
    for component, held_before in zip((b, c, a), shares, strict=True):
        if not np.array_equal(component, held_before.next):
            raise AbortError("the nodes", "the two holders of a component hold different ones")
    secret: NDArray[Any] = a ^ b ^ c if isinstance(shares[0], BitShare) else a + b + c
    return secret


def public_share(values: NDArray[Any], kind: type[S], *, me: int) -> S:
    """A public value in the form of a share: component 0 is the value, the others are zero."""
    zero = np.zeros_like(values)
    return kind(values if me == 0 else zero, values if me == 2 else zero)
