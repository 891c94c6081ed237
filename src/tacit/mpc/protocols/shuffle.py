"""Oblivious shuffle, and its inverse to the coordinator, in two rounds each [araki2021].

The secret order is made of three permutations, one per pair of nodes and unknown to the third, so
no node knows it. Going forward the passes are those of components 1, 0 and 2 (that is, of the
pairs 0-1, 2-0 and 1-2); going back they are undone in the opposite order. In each direction one
node (alpha) takes part in passes 1 and 2, one (beta) in 1 and 3, one (gamma) in 2 and 3:

::

    alpha -> beta    X = p2(p1(xa + xb + Z1) + Z2)     xa, xb: what alpha holds
    beta  -> gamma   Y = p1(xc - Z1)                   xc: what it does not
    beta  -> gamma   U = p3(X) - B
    gamma -> beta    V = p3(p2(Y - Z2)) - A

Z1, B come from the key of pass 1, Z2, A from that of pass 2. The result has the components B, A
and U + V, the last at beta and gamma. 2 rounds; beta sends 2n words, the others n. Nobody learns
anything: X is masked by Z2 and V by A, which beta does not have; Y by Z1 and U by B, which gamma
does not have; alpha receives nothing. The same works with XOR.

*Back to the coordinator alone*: in the second round beta sends p3(X) + z and gamma
p3(p2(Y - Z2)) - z to it instead, with z from the key of pass 3. It learns the values at their
original positions; z hides p3 from it and alpha together. 2 rounds, beta sends 2n, others n.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tacit.mpc.cost import Cost
from tacit.mpc.session import Session
from tacit.mpc.shares import COORDINATOR, BitShare, Share

FORWARD = (1, 0, 2)
"""The components whose holders make passes 1, 2 and 3."""
BACKWARD = (2, 0, 1)

S = TypeVar("S", bound=Share)


@dataclass(frozen=True, slots=True)
class SecretPermutation:
    """What one node knows of a secret order: the permutations of its two components."""

    known: Mapping[int, NDArray[np.intp]]

    def apply(self, component: int, rows: NDArray[Any], *, back: bool) -> NDArray[Any]:
        """Bring rows into the order of one component's permutation, or back out of it.

        >>> order = SecretPermutation({0: np.array([2, 0, 1])})
        >>> order.apply(0, np.array([7, 8, 9]), back=False)
        array([9, 7, 8])
        >>> order.apply(0, np.array([9, 7, 8]), back=True)
        array([7, 8, 9])
        """
        permutation = self.known[component]
        if not back:
            return rows[permutation]
        original = np.empty_like(rows)
        original[permutation] = rows
        return original


def draw_order(session: Session, n: int, *, label: str) -> SecretPermutation:
    """A secret order of n rows: each node draws the two permutations that it may know.

    >>> from tacit.mpc.local import run_parties
    >>> async def node(s):
    ...     return sorted(draw_order(s, 3, label="order").known)
    >>> run_parties(node).results
    [[0, 1], [1, 2], [0, 2]]
    """
    mine = (session.me, session.next)
    return SecretPermutation({c: session.permutation(f"{label}.p", c, n) for c in mine})


def draw_block_order(
    session: Session, blocks: int, children: int, *, label: str
) -> SecretPermutation:
    """A secret order of rows that permutes each block within itself, for one joint shuffle.

    >>> from tacit.mpc.local import run_parties
    >>> async def node(s):
    ...     return draw_block_order(s, 2, 3, label="o").known[s.me].tolist()
    >>> [sorted(order[:3]) for order in run_parties(node).results]
    [[0, 1, 2], [0, 1, 2], [0, 1, 2]]
    """
    first = np.arange(blocks)[:, None] * children
    known = {}
    for component in (session.me, session.next):
        # As for any permutation: the order of 64-bit words under their own label.
        words = session.words(f"{label}.p", component, (blocks, children))
        known[component] = (first + np.argsort(words, axis=1, kind="stable")).reshape(-1)
    return SecretPermutation(known)


@dataclass(frozen=True, slots=True)
class _Passes:
    """The three passes in one direction, and the group operation (addition or XOR)."""

    session: Session
    order: SecretPermutation
    path: tuple[int, int, int]
    label: str
    xor: bool

    def node(self, first: int, second: int) -> int:
        """The node that takes part in both passes."""
        a, b = self.path[first], self.path[second]
        return a if (a + 1) % 3 == b else b

    def mask(self, name: str, step: int, like: NDArray[Any]) -> NDArray[Any]:
        return self.session.words(f"{self.label}.{name}", self.path[step], like.shape, like.dtype)

    def plus(self, x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        result: NDArray[Any] = x ^ y if self.xor else x + y
        return result

    def minus(self, x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        result: NDArray[Any] = x ^ y if self.xor else x - y
        return result

    def turn(self, step: int, rows: NDArray[Any]) -> NDArray[Any]:
        return self.order.apply(self.path[step], rows, back=self.path == BACKWARD)

    async def first_round(self, x: Share) -> NDArray[Any]:
        """Passes 1 and 2: afterwards beta and gamma hold additive parts; alpha holds nothing."""
        me, beta, gamma = self.session.me, self.node(0, 2), self.node(1, 2)
        if me == self.node(0, 1):
            rows = self.plus(self.plus(x.mine, x.next), self.mask("Z", 0, x.mine))
            rows = self.turn(0, rows)
            rows = self.turn(1, self.plus(rows, self.mask("Z", 1, rows)))
            await self.session.send(beta, rows)
            return rows[:0]
        if me == beta:
            common = x.component(self.path[2], me=me)
            rows = self.turn(0, self.minus(common, self.mask("Z", 0, common)))
            await self.session.send(gamma, rows)
            rows = await self.session.receive(self.node(0, 1), x.shape, x.mine.dtype)
        else:
            rows = await self.session.receive(beta, x.shape, x.mine.dtype)
            rows = self.turn(1, self.minus(rows, self.mask("Z", 1, rows)))
        return self.turn(2, rows)

    async def second_round(self, rows: NDArray[Any], x: S) -> S:
        """Pass 3, with fresh components for all nodes."""
        me, beta, gamma = self.session.me, self.node(0, 2), self.node(1, 2)
        a, b, c = self.path
        if me == self.node(0, 1):
            fresh = {a: self.mask("B", 0, x.mine), b: self.mask("A", 1, x.mine)}
            return type(x).of(fresh, me=me)
        step, name, other = (0, "B", gamma) if me == beta else (1, "A", beta)
        fresh_part = self.mask(name, step, rows)
        ours = self.minus(rows, fresh_part)
        await self.session.send(other, ours)
        theirs = await self.session.receive(other, ours.shape, ours.dtype)
        return type(x).of({self.path[step]: fresh_part, c: self.plus(ours, theirs)}, me=me)

    async def to_coordinator(self, rows: NDArray[Any], x: Share) -> None:
        me = self.session.me
        if me == self.node(0, 1):
            return
        z = self.mask("z", 2, x.mine)
        part = self.plus(rows, z) if me == self.node(0, 2) else self.minus(rows, z)
        await self.session.send(COORDINATOR, part)


def _passes(
    session: Session, x: Share, order: SecretPermutation, path: tuple[int, int, int], label: str
) -> _Passes:
    return _Passes(session, order, path, label, isinstance(x, BitShare))


async def shuffle(session: Session, x: S, order: SecretPermutation, *, label: str) -> S:
    """Shares of the rows in the secret order, with fresh components; columns go along.

    >>> from tacit.mpc.local import deal_integers, reveal, run_parties
    >>> x = deal_integers([[1, 10], [2, 20]])
    >>> async def node(s):
    ...     return await shuffle(s, x[s.me], draw_order(s, 2, label="o"), label="shuffle")
    >>> sorted(reveal(run_parties(node).results).tolist())
    [[1, 10], [2, 20]]
    """
    passes = _passes(session, x, order, FORWARD, label)
    return await passes.second_round(await passes.first_round(x), x)


def cost(n: int, *, row_bytes: int = 8) -> Cost:
    """The cost of a shuffle of n rows."""
    size = n * row_bytes
    return Cost.of(2, [size], [size, size], [size])


async def unshuffle_to_coordinator(
    session: Session, x: Share, order: SecretPermutation, *, label: str
) -> None:
    """A node's side of opening the rows at their original positions to the coordinator alone.

    >>> from tacit.mpc.local import deal_integers, run_parties
    >>> x = deal_integers([4])
    >>> async def node(s):
    ...     order = draw_order(s, 1, label="o")
    ...     await unshuffle_to_coordinator(s, x[s.me], order, label="out")
    >>> run_parties(node, lambda s: receive_unshuffled(s, 1)).coordinator
    array([4], dtype=uint64)
    """
    passes = _passes(session, x, order, BACKWARD, label)
    await passes.to_coordinator(await passes.first_round(x), x)


async def receive_unshuffled(
    session: Session,
    shape: int | tuple[int, ...],
    *,
    dtype: DTypeLike = np.uint64,
    xor: bool = False,
) -> NDArray[Any]:
    """The coordinator's side: the rows at their original positions.

    >>> from tacit.mpc.local import run_parties
    >>> from tacit.mpc.shares import deal_bits
    >>> x = deal_bits(np.array([[1, 2]], dtype=np.uint8))
    >>> async def node(s):
    ...     order = draw_order(s, 1, label="o")
    ...     await unshuffle_to_coordinator(s, x[s.me], order, label="out")
    >>> run_parties(
    ...     node, lambda s: receive_unshuffled(s, (1, 2), dtype=np.uint8, xor=True)
    ... ).coordinator
    array([[1, 2]], dtype=uint8)
    """
    first = await session.receive(1, shape, dtype)
    second = await session.receive(0, shape, dtype)
    rows: NDArray[Any] = first ^ second if xor else first + second
    return rows


def cost_to_coordinator(n: int, *, row_bytes: int = 8) -> Cost:
    """The cost of opening n rows at their original positions to the coordinator."""
    size = n * row_bytes
    return Cost.of(2, [size], [size, size], [size])
