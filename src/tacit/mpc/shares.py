"""Replicated secret shares among three or four nodes, and what is linear in them.

A secret x is the sum (or the XOR) of as many random components as there are nodes, and node i has
all of them but number i. So one node alone knows nothing of x, and any two know x.

::

    nodes       0        1        2        3
    lacks       x0       x1       x2       x3      x = x0 + x1 + x2 (+ x3)

Linear operations are local to each node: 0 rounds, 0 bytes, nobody learns anything [araki2016,
Section 2; with four nodes dalskov2021].
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from tacit.errors import AbortError
from tacit.mpc.ring import Words, public_word

Array = NDArray[Any]
CLUSTER_SIZES = (3, 4)
"""How many nodes there may be."""
COORDINATOR = -1
"""The platform's coordinator, which holds no shares and receives results."""

S = TypeVar("S", bound="Share")


def party_name(index: int) -> str:
    """The name of a party in errors.

    >>> party_name(1), party_name(COORDINATOR)
    ('node 1', 'the coordinator')
    """
    return "the coordinator" if index == COORDINATOR else f"node {index}"


def held_by(node: int, nodes: int) -> tuple[int, ...]:
    """The numbers of the components that a node has, in the order in which they are stored.

    >>> held_by(1, 3), held_by(3, 4)
    ((2, 0), (0, 1, 2))
    """
    return tuple((node + step) % nodes for step in range(1, nodes))


@dataclass(frozen=True, slots=True)
class Share:
    """One node's components by their numbers; the subclass says how all of them add up."""

    parts: Mapping[int, Array]
    plus: ClassVar[np.ufunc]
    minus: ClassVar[np.ufunc]

    @property
    def any(self) -> Array:
        """One of the components, for what they have in common."""
        return next(iter(self.parts.values()))

    @property
    def shape(self) -> tuple[int, ...]:
        return self.any.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.any.dtype

    def __len__(self) -> int:
        return len(self.any)

    def __getitem__(self, index: Any) -> Self:  # noqa: ANN401 - whatever NumPy indexes with
        return self.map(lambda part: part[index])

    def map(self, function: Callable[[Array], Array], /) -> Self:
        """The share with a linear function applied to each component."""
        return type(self)({c: function(part) for c, part in self.parts.items()})

    def __add__(self, other: Self) -> Self:
        return type(self)({c: self.plus(p, other.parts[c]) for c, p in self.parts.items()})

    def __sub__(self, other: Self) -> Self:
        return type(self)({c: self.minus(p, other.parts[c]) for c, p in self.parts.items()})

    def add_public(self, values: Array) -> Self:
        """The share with a public value added, which goes into component 0."""
        # All holders of component 0 add it, so they still agree on every component.
        parts = dict(self.parts)
        if 0 in parts:
            parts[0] = self.plus(parts[0], values)
        return type(self)(parts)


class ArithmeticShare(Share):
    """x is the sum of its components in the ring Z_2^64, or in a smaller one.

    >>> shares = deal(np.array([41, 1], dtype=np.uint64))
    >>> reconstruct(shares)
    array([41,  1], dtype=uint64)
    """

    __slots__ = ()
    plus = np.add
    minus = np.subtract


class BitShare(Share):
    """x is the XOR of its components, bitwise on unsigned words of any width."""

    __slots__ = ()
    plus = np.bitwise_xor
    minus = np.bitwise_xor


def concatenate(shares: Sequence[S], /) -> S:
    first = shares[0]
    return type(first)({c: np.concatenate([s.parts[c] for s in shares]) for c in first.parts})


def as_columns(shares: Sequence[S], /) -> S:
    """Several shared arrays of one shape as the columns of one."""
    first = shares[0]
    return type(first)({c: np.stack([s.parts[c] for s in shares], -1) for c in first.parts})


def total(arrays: Iterable[Array], plus: np.ufunc, /) -> Array:
    return reduce(plus, arrays)


def _random(shape: tuple[int, ...], dtype: np.dtype[Any], source: Callable[[int], bytes]) -> Words:
    size = int(np.prod(shape)) * dtype.itemsize
    words: Words = np.frombuffer(source(size), dtype=dtype).reshape(shape)
    return words


def _dealt(values: Array, kind: type[S], nodes: int, source: Callable[[int], bytes]) -> list[S]:
    # All but one component are fresh; the last makes up the difference. Were one left out or used
    # twice, whoever holds the last and another could subtract them.
    parts = [_random(values.shape, values.dtype, source) for _ in range(nodes - 1)]
    parts.append(reduce(kind.minus, parts, values))
    return [kind({c: parts[c] for c in held_by(i, nodes)}) for i in range(nodes)]


def deal(
    values: Words, *, nodes: int = 3, source: Callable[[int], bytes] = os.urandom
) -> list[ArithmeticShare]:
    """Split secrets into the shares of all nodes, as a participant does.

    `source` gives random bytes; anything but the operating system's is for tests only.
    """
    return _dealt(values, ArithmeticShare, nodes, source)


def deal_bits(
    values: Array, *, nodes: int = 3, source: Callable[[int], bytes] = os.urandom
) -> list[BitShare]:
    """Split bits, packed in unsigned words of any width, into the shares of the nodes."""
    return _dealt(values, BitShare, nodes, source)


def reconstruct(shares: Sequence[Share]) -> Array:
    """The secret from the shares of all nodes, in their order, which must fit together."""
    parts: dict[int, Array] = {}
    for share in shares:
        for number, part in share.parts.items():
            # Holders of a component have the same words; a difference shows that one of them lies.
            if not np.array_equal(parts.setdefault(number, part), part):
                raise AbortError("the nodes", "the holders of a component hold different ones")
    return total(parts.values(), shares[0].plus)


def public_share(values: Array, kind: type[S], *, me: int, nodes: int) -> S:
    """A public value in the form of a share: component 0 is the value, the others are zero."""
    zero = np.zeros_like(values)
    return kind({c: values if c == 0 else zero for c in held_by(me, nodes)})


def scale(x: ArithmeticShare, factor: int | Words) -> ArithmeticShare:
    """Shares of x times a public integer, or times public ring elements one by one."""
    by = public_word(factor) if isinstance(factor, int) else factor
    return x.map(lambda part: part * by)


def gather_sum(
    weights: ArithmeticShare,
    rows: NDArray[np.integer[Any]],
    columns: NDArray[np.integer[Any]],
    factors: NDArray[np.integer[Any]] | None = None,
    *,
    negate: bool = False,
) -> ArithmeticShare:
    """Shares of the fitness of public candidates: sums of cells of the shared weight matrix.

    `rows` and `columns` have one line per candidate (or broadcast to that): candidate j has the
    fitness sum over t of weights[rows[j, t], columns[j, t]], or its negative for costs. Public
    `factors` multiply the cells where they are given.

    >>> from tacit.mpc.local import deal_integers, reveal
    >>> plans = np.array([[0, 1], [1, 0]])
    >>> weights = deal_integers([[1, 2], [3, 40]])
    >>> reveal([gather_sum(w, np.arange(2)[None, :], plans) for w in weights])
    array([41,  5])
    """
    # One flat index serves all components, and `take` is the fastest gather NumPy has.
    # Large temporaries dominate the time here, so narrow indices are widened only once.
    flat = np.multiply(rows, weights.shape[1], dtype=np.intp) + columns
    sums = weights.map(lambda part: _summed(part, flat, factors))
    return sums.map(np.negative) if negate else sums


def _summed(part: Words, flat: NDArray[np.intp], factors: NDArray[np.integer[Any]] | None) -> Words:
    picked = part.reshape(-1).take(flat)
    if factors is not None:
        picked *= factors.astype(np.uint64)
    total: Words = picked.sum(axis=1, dtype=np.uint64)
    return total
