"""Products of shared values: parts for each pair of components, then shares or the value itself.

The product of x and y is a sum over pairs {i, j} of components of

::

    v_ij = op(x_i, y_j) + op(x_j, y_i)      (and op(x_i, y_i), in the pair of i and i + 1)

and v_ij is known to all nodes but i and j. `op` is any bilinear operation: products, matrix
products, the AND of bits.

*To shares*: for each pair, r from the key of j goes into component j and v_ij - r into i. A letter
brings v_ij - r to node j; the others that hold component i know it.

*To the nodes at once*: node i gets v + m for each pair that it lacks, with masks m from the key of
i that add up to zero.

Learns   to shares: nobody anything, since what j receives is masked by a key that it does not
         have. To the nodes: each learns the sum and nothing else; with what it knows itself, the
         masked parts are uniform but for their sum
Rounds   1
Bytes    to shares 8 (four nodes: 12), to the nodes 16 (24)
Paper    [araki2016, Section 2] with three nodes, [dalskov2021] with four
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from tacit.mpc.cost import Cost
from tacit.mpc.letters import WORD, Letter, outside
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, Array, BitShare, Share, concatenate, total

Pair = tuple[int, int]
Parts = Mapping[Pair, Array]
"""A value as the sum of parts, one per pair of components, as far as this node knows them."""
Shape = tuple[int, ...]
S = TypeVar("S", bound=Share)

PAIRS: dict[int, tuple[Pair, ...]] = {
    3: ((0, 1), (1, 2), (2, 0)),
    4: ((0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (1, 3)),
}
"""The pairs of components: of each, the mask comes from the key of the second."""


def known_pairs(pairs: Sequence[Pair], me: int) -> list[Pair]:
    """The pairs whose parts this node knows."""
    return [pair for pair in pairs if me not in pair]


def product_parts(
    session: Session, x: Share, y: Share, op: Callable[[Array, Array], Array]
) -> dict[Pair, Array]:
    """The parts of op(x, y); no message, and not yet masked."""
    made = {}
    plus, nodes, a, b = x.plus, session.nodes, x.parts, y.parts
    for i, j in known_pairs(PAIRS[nodes], session.me):
        # op(x_i, y_i) is known to all who hold component i: it counts once, in this one pair.
        right = plus(b[i], b[j]) if j == (i + 1) % nodes else b[j]
        part = op(a[i], right)
        made[i, j] = plus(part, op(a[j], b[i]), out=part)
    return made


def add_share(session: Session, parts: dict[Pair, Array], x: Share) -> None:
    """Add a share to parts, in place: component i goes into the pair of i and i + 1."""
    for (i, j), part in parts.items():
        if j == (i + 1) % session.nodes:
            x.plus(part, x.parts[i], out=part)


def reshare_letters(
    nodes: int, shape: Shape, dtype: np.dtype[Any] = WORD, pairs: Sequence[Pair] | None = None
) -> list[Letter]:
    return [
        Letter(outside(nodes, i, j), j, shape, dtype)
        for i, j in (PAIRS[nodes] if pairs is None else pairs)
    ]


async def reshare(
    session: Session,
    parts: Parts,
    kind: type[S],
    shape: Shape,
    *,
    label: str,
    dtype: np.dtype[Any] = WORD,
    pairs: Sequence[Pair] | None = None,
) -> S:
    """Replicated shares of the sum of parts. 1 round.

    >>> from tacit.mpc.local import reveal, run_parties
    >>> one = np.ones(1, dtype=np.uint64)
    >>> async def node(s):
    ...     parts = {pair: one for pair in known_pairs(PAIRS[3], s.me)}
    ...     return await reshare(s, parts, ArithmeticShare, (1,), label="sum")
    >>> reveal(run_parties(node).results)
    array([3])
    """
    step = Reshare(session, parts, kind, shape, label=label, dtype=dtype, pairs=pairs)
    return step.share(await session.exchange(step.letters, step.contents))


class Reshare(Generic[S]):
    """`reshare` in two steps, for letters that go in one round with others."""

    def __init__(
        self,
        session: Session,
        parts: Parts,
        kind: type[S],
        shape: Shape,
        *,
        label: str,
        dtype: np.dtype[Any] = WORD,
        pairs: Sequence[Pair] | None = None,
    ) -> None:
        me = session.me
        self._kind, self._me = kind, me
        self._pairs = PAIRS[session.nodes] if pairs is None else pairs
        self.letters = reshare_letters(session.nodes, shape, dtype, self._pairs)
        self.contents: dict[int, Array] = {}
        self._sums: dict[int, list[Array]] = {c: [] for c in session.held}
        for number, (i, j) in enumerate(self._pairs):
            if me == j:
                continue
            # From the key that the letter's receiver j lacks: to j the masked part is uniform. The
            # mask goes into component j, which j does not hold, so it never cancels there.
            mask = session.words(f"{label}.{i}{j}", j, shape, dtype)
            self._sums[j].append(mask)
            if me != i:
                masked = kind.minus(parts[i, j], mask)
                self.contents[number] = masked
                self._sums[i].append(masked)

    def share(self, arrived: Mapping[int, Array], *, first: int = 0) -> S:
        """The share, from the letters that arrived; its own begin with number `first`."""
        for number, (i, j) in enumerate(self._pairs):
            if self._me == j:
                self._sums[i].append(arrived[first + number])
        return self._kind({c: total(sums, self._kind.plus) for c, sums in self._sums.items()})


def _lacking(nodes: int, node: int) -> list[Pair]:
    return [pair for pair in PAIRS[nodes] if node in pair]


def open_letters(nodes: int, shape: Shape, dtype: np.dtype[Any] = WORD) -> list[Letter]:
    return [
        Letter(outside(nodes, *pair), node, shape, dtype)
        for node in range(nodes)
        for pair in _lacking(nodes, node)
    ]


def open_contents(
    session: Session,
    parts: Parts,
    kind: type[Share],
    shape: Shape,
    *,
    label: str,
    dtype: np.dtype[Any] = WORD,
) -> dict[int, Array]:
    """What this node knows of `open_letters`: masked parts, for each node those it lacks."""
    contents: dict[int, Array] = {}
    number = 0
    for node in range(session.nodes):
        lacking = _lacking(session.nodes, node)
        if node == session.me:
            number += len(lacking)
            continue
        # Masks add up to zero over the parts that a node lacks: it learns their sum, the opened
        # value, and not the parts, which are products of single components.
        masks = [
            session.words(f"{label}.{node}.{k}", node, shape, dtype)
            for k in range(len(lacking) - 1)
        ]
        for k, pair in enumerate(lacking):
            if pair in parts:
                last = k == len(lacking) - 1
                contents[number] = (
                    kind.minus(parts[pair], total(masks, kind.plus))
                    if last
                    else kind.plus(parts[pair], masks[k])
                )
            number += 1
    return contents


def opened_value(
    parts: Parts, kind: type[Share], arrived: Mapping[int, Array], count: int, *, first: int = 0
) -> Array:
    """The value, from our own parts and those that arrived as letters `first` and on."""
    got = [arrived[number] for number in range(first, first + count) if number in arrived]
    return total([*parts.values(), *got], kind.plus)


async def multiply(
    session: Session, x: ArithmeticShare, y: ArithmeticShare, *, label: str
) -> ArithmeticShare:
    """Shares of x * y, entry by entry. 1 round.

    >>> from tacit.mpc.local import deal_integers, reveal, run_parties
    >>> x = deal_integers([3, -4])
    >>> reveal(run_parties(lambda s: multiply(s, x[s.me], x[s.me], label="square")).results)
    array([ 9, 16])
    """
    return await product(session, x, y, np.multiply, label=label)


async def and_bits(session: Session, x: BitShare, y: BitShare, *, label: str) -> BitShare:
    """Shares of x & y, 64 gates per word. 1 round.

    >>> from tacit.mpc.local import run_parties
    >>> from tacit.mpc.shares import deal_bits, reconstruct
    >>> x, y = (deal_bits(np.array([v], dtype=np.uint64)) for v in (6, 3))
    >>> reconstruct(run_parties(lambda s: and_bits(s, x[s.me], y[s.me], label="and")).results)
    array([2], dtype=uint64)
    """
    return await product(session, x, y, np.bitwise_and, label=label)


async def and_all(session: Session, lines: BitShare, *, label: str) -> BitShare:
    """Shares of the AND of all lines, by a tree: ceil(log2 lines) rounds.

    >>> from tacit.mpc.local import run_parties
    >>> from tacit.mpc.shares import deal_bits, reconstruct
    >>> x = deal_bits(np.array([[7], [6], [3]], dtype=np.uint64))
    >>> reconstruct(run_parties(lambda s: and_all(s, x[s.me], label="all")).results)
    array([2], dtype=uint64)
    """
    level = 0
    while len(lines) > 1:
        half = len(lines) // 2
        joined = await and_bits(
            session, lines[:half], lines[half : 2 * half], label=f"{label}.{level}"
        )
        # An odd line waits for the next level.
        lines, level = concatenate([joined, lines[2 * half :]]), level + 1
    return lines[0]


def cost_of_and_all(nodes: int, lines: int, words: int) -> Cost:
    total = Cost.free(nodes)
    while lines > 1:
        total = total.then(cost(nodes, lines // 2 * words))
        lines -= lines // 2
    return total


async def product(
    session: Session, x: S, y: S, op: Callable[[Array, Array], Array], *, label: str
) -> S:
    """Shares of op(x, y) for a bilinear operation. 1 round.

    >>> from tacit.mpc.local import deal_integers, reveal, run_parties
    >>> x = deal_integers([[1, 2], [0, 1]])
    >>> run = run_parties(lambda s: product(s, x[s.me], x[s.me], np.matmul, label="square"))
    >>> reveal(run.results)
    array([[1, 4],
           [0, 1]])
    """
    parts = product_parts(session, x, y, op)
    some = next(iter(parts.values()))
    return await reshare(session, parts, type(x), some.shape, label=label, dtype=some.dtype)


def cost(nodes: int, entries: int, *, itemsize: int = 8) -> Cost:
    """The cost of any product with this many entries in the result."""
    return Cost.of(nodes, reshare_letters(nodes, (entries,), np.dtype(f"u{itemsize}")))
