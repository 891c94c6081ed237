"""Augmentation: each root takes the nearest free column of its tree, and all paths at once.

In the order of distances, with R the roots of the columns and F the free columns: Z = R & F, and a
prefix OR down the order finds the first of each root. It is chosen if it is reached. The columns on
the chosen paths are f = chosen B, and each of them takes its new row. Trees are disjoint and each
root has one chosen column, so the paths are, too.

Reached columns of roots that were not served stay in their trees (`kept`). A root is not served if
it is a free row and no column was chosen for it.

1 round per product; the columns' bits go to the sorted order and `kept` goes back. Nobody learns
anything, not how many paths there were.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.cost import Cost
from tacit.mpc.forest.ordering import Sorted
from tacit.mpc.forest.schedule import Phase
from tacit.mpc.forest.shape import ForestShape
from tacit.mpc.forest.state import ForestState
from tacit.mpc.forest.trees import Trees
from tacit.mpc.handover import two_at_once
from tacit.mpc.protocols import b2a, bit_products, shuffle
from tacit.mpc.protocols.bit_products import both, matrix_product
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, BitShare

Bits = NDArray[np.uint8]
_ONE = np.ones(1, dtype=np.uint8)


@dataclass(frozen=True, slots=True)
class Candidates:
    """In sorted order: the first free column of each root, the roots, and the ancestors."""

    first: BitShare
    roots: BitShare
    ancestors: BitShare


def _odd(share: BitShare, axis: int, /) -> BitShare:
    """The XOR along an axis: of bits of which at most one is 1, whether one is."""
    return share.map(lambda part: np.bitwise_xor.reduce(part, axis=axis))


def _packed(roots: Bits, ancestors: Bits, free: Bits) -> Bits:
    bits = np.concatenate([roots, ancestors, free[:, :, None]], axis=2) & 1
    return np.packbits(bits.reshape(-1, bits.shape[2]), axis=1)


def _packed_bytes(shape: ForestShape) -> int:
    return -(-(2 * shape.size + 1) // 8)


async def first_free_columns(
    session: Session,
    order: Sorted,
    trees: Trees,
    state: ForestState,
    phase: Phase,
    shape: ForestShape,
) -> Candidates:
    """The nearest free column of each root."""
    name, size = f"{phase.number}.choose", shape.size
    free = _odd(state.matched, 2).add_public(_ONE)
    lines = BitShare(
        {
            c: _packed(trees.roots.parts[c], trees.ancestors.parts[c], part)
            for c, part in free.parts.items()
        }
    )
    mixed = (await order.forward(session, lines, label=f"{name}.lines")).map(
        lambda part: np.unpackbits(part, axis=1).reshape(shape.weightings, size, -1)
    )
    roots, ancestors = mixed[:, :, :size], mixed[:, :, size : 2 * size]
    found = await both(session, roots, mixed[:, :, 2 * size, None], label=f"{name}.free")
    return Candidates(await first_of_each(session, found, label=name), roots, ancestors)


async def first_of_each(session: Session, found: BitShare, *, label: str) -> BitShare:
    """Of the bits below each other in a column of a matrix, the first that is 1."""
    some, step = found, 1
    while step < found.shape[1]:  # whether there is one here or before
        before = some[:, :-step]
        meet = await both(session, some[:, step:], before, label=f"{label}.{step}")
        more = before + meet
        some = BitShare({c: _added(p, more.parts[c], step) for c, p in some.parts.items()})
        step *= 2
    none_before = some.map(_moved_down).add_public(_ONE)
    return await both(session, found, none_before, label=f"{label}.first")


def _added(some: Bits, more: Bits, step: int) -> Bits:
    made = some.copy()
    made[:, step:] ^= more
    return made


def _moved_down(some: Bits) -> Bits:
    return np.concatenate([np.zeros_like(some[:, :1]), some[:, :-1]], axis=1)


async def augment(
    session: Session,
    substreams: list[Session],
    candidates: Candidates,
    reached: BitShare,
    order: Sorted,
    trees: Trees,
    state: ForestState,
    phase: Phase,
    shape: ForestShape,
) -> tuple[tuple[BitShare, ArithmeticShare], ArithmeticShare]:
    """The next matching, as bits and as numbers, and which columns are kept in their trees."""
    name, word = f"{phase.number}.augment", shape.word
    chosen = await both(session, candidates.first, reached[:, :, None], label=f"{name}.chosen")
    matched = state.matched

    async def match(t: Session) -> tuple[BitShare, ArithmeticShare]:
        ends = _odd(chosen, 2)[:, None, :]
        on_path = await matrix_product(t, ends, candidates.ancestors, label=f"{name}.path")
        changes = trees.new_rows + matched
        taken = await both(t, on_path[:, 0, :, None], changes, label=f"{name}.rows")
        made = matched + taken
        return made, await b2a.bits_to_arithmetic(t, made, label=f"{name}.matching", dtype=word)

    async def keep(t: Session) -> ArithmeticShare:
        free_rows = _odd(matched, 1).add_public(_ONE)
        unserved = free_rows + _odd(chosen, 1)
        waiting = await matrix_product(
            t, candidates.roots, unserved[:, :, None], label=f"{name}.waiting"
        )
        kept = await both(t, waiting[:, :, 0], reached, label=f"{name}.kept")
        numbers = await b2a.bits_to_arithmetic(t, kept, label=f"{name}.numbers", dtype=word)
        flat = numbers.map(lambda part: part.reshape(-1))
        back = await order.back(t, flat, label=f"{name}.back")
        return back.map(lambda part: part.reshape(kept.shape))

    return await two_at_once(session, match, keep, substreams=substreams)


def cost_of_choosing(nodes: int, shape: ForestShape) -> Cost:
    """The cost of the nearest free columns."""
    k, size = shape.weightings, shape.size
    one = bit_products.cost(nodes, k * size**2)
    total = shuffle.cost(nodes, (k * size, _packed_bytes(shape)), np.dtype(np.uint8)).then(one)
    return total.then(cost_of_first(nodes, shape))


def cost_of_first(nodes: int, shape: ForestShape) -> Cost:
    """The cost of the first 1 of each column of a square."""
    k, size = shape.weightings, shape.size
    total, step = Cost.free(nodes), 1
    while step < size:
        total = total.then(bit_products.cost(nodes, k * (size - step) * size))
        step *= 2
    return total.then(bit_products.cost(nodes, k * size**2))


def cost(nodes: int, shape: ForestShape) -> Cost:
    """The cost of augmentation, after what it needs."""
    k, size, word = shape.weightings, shape.size, shape.word
    one, line = bit_products.cost(nodes, k * size**2), bit_products.cost(nodes, k * size)
    match = line.then(one).then(b2a.cost(nodes, k * size**2, word))
    keep = line.then(line).then(b2a.cost(nodes, k * size, word))
    keep = keep.then(shuffle.cost_back(nodes, (k * size,), word))
    return one.then(match.beside(keep))
