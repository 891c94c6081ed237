"""A sweep: paths from all free rows at once over allowed pairs, and all of them taken.

::

    D_j   = least over allowed rows i of  d_i + r_ij + 1,  and `far`          (some steps)
    d_i   = 0 of a free row, D_k of a row that is matched to column k

The row at which the least was found is the column's parent: D falls from each column to the one
before, by at least 1, so that there is no cycle, whatever r >= 0 is. Each root takes the first free
column of its tree, and all rows on the way move on. Prices stay as they are.

A minimum per step and one round between two; 1 round per product. Nobody learns anything, not how
many rows were free.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from tacit.mpc.cost import Cost
from tacit.mpc.forest import augment, trees
from tacit.mpc.forest.augment import first_of_each
from tacit.mpc.forest.shape import ForestShape
from tacit.mpc.forest.trees import ancestors_of
from tacit.mpc.handover import two_at_once
from tacit.mpc.protocols import b2a, bit_products, minimum, pairwise
from tacit.mpc.protocols.bit_products import both, matrix_product
from tacit.mpc.protocols.minimum import Found, find_least, with_ties
from tacit.mpc.sealed.grown.cells import AllowedCells, Numbers
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, BitShare

_ONE = np.ones(1, dtype=np.uint8)
SUBSTREAMS = 2


@dataclass(frozen=True, slots=True)
class Matched:
    """Which cells are matched, as bits and as numbers."""

    bits: BitShare
    numbers: ArithmeticShare


async def least_of_columns(
    session: Session, values: ArithmeticShare, most: int, cells: AllowedCells, *, label: str
) -> Found:
    """The least of each column's cells, and of a public number."""
    word = cells.word
    groups = values.map(cells.grouped).add_public(cells.ends.astype(word) * word.type(most))
    ties = cells.group_ties
    return await find_least(
        session,
        with_ties(groups, ties, tie_bits=cells.tie_bits),
        cells.group_sizes,
        bits=cells.key_bits,
        label=label,
        levels=cells.levels,
    )


async def _distances(
    session: Session,
    reduced: ArithmeticShare,
    held: Matched,
    cells: AllowedCells,
    steps: int,
    *,
    label: str,
) -> Found:
    """Those after the last step, and where they come from."""
    word = cells.word

    def inner(matching: Numbers, distances: Numbers) -> Numbers:
        return cells.sums_of_rows(matching * distances[cells.columns])

    # At first every column is far away.
    of_rows = held.numbers.map(lambda part: cells.sums_of_rows(part) * word.type(cells.far))
    step = 0
    while True:
        further = (of_rows[cells.rows] + reduced).add_public(np.ones(1, dtype=word))
        found = await least_of_columns(session, further, cells.far, cells, label=f"{label}.{step}")
        step += 1
        if step == steps:
            return found
        of_rows = await pairwise.product(
            session, held.numbers, found.lines[:, 1], inner, label=f"{label}.rows.{step}"
        )


async def sweep(
    session: Session,
    substreams: list[Session],
    reduced: ArithmeticShare,
    held: Matched,
    cells: AllowedCells,
    steps: int,
    *,
    label: str,
) -> Matched:
    """The matching after a sweep of so many steps."""
    found = await _distances(session, reduced, held, cells, steps, label=f"{label}.paths")
    matched, rows, columns = held.bits.map(cells.square), cells.rows, cells.columns
    marks = (await found.bit_marks(session, label=f"{label}.marks"))[cells.places]
    marks = marks.map(lambda part: part & np.uint8(1))
    parents = marks.map(cells.square)
    free_rows, free_columns = (
        held.bits.map(partial(cells.odd_lines, lines)).add_public(_ONE) for lines in (rows, columns)
    )
    edges, direct = await two_at_once(
        session,
        lambda t: matrix_product(
            t, parents, matched.map(lambda p: p.swapaxes(1, 2)), label=f"{label}.edges"
        ),
        lambda t: both(t, parents, free_rows[None, None], label=f"{label}.direct"),
        substreams=substreams,
    )
    # Deeper columns have no root, and so are not taken.
    ancestors = await ancestors_of(
        session, edges, label=f"{label}.ancestors", depth=cells.depth(steps)
    )
    roots = await matrix_product(session, ancestors, direct, label=f"{label}.roots")
    ways = await both(session, roots, free_columns[None, :, None], label=f"{label}.free")
    first = await first_of_each(session, ways, label=f"{label}.choose")
    ends = first.map(lambda part: np.bitwise_xor.reduce(part, axis=2)[:, None, :])
    on_path = await matrix_product(session, ends, ancestors, label=f"{label}.path")
    taken = await both(session, on_path[0, 0][columns], marks + held.bits, label=f"{label}.taken")
    made = held.bits + taken
    numbers = await b2a.bits_to_arithmetic(
        session, made, label=f"{label}.numbers", dtype=cells.word
    )
    return Matched(made, numbers)


def cost_of_least(nodes: int, sizes: tuple[int, ...], cells: AllowedCells) -> Cost:
    """The cost of the least of each group."""
    return minimum.cost(
        nodes, sizes, bits=cells.key_bits, dtype=cells.word, columns=2, levels=cells.levels
    )


def cost(nodes: int, cells: AllowedCells, steps: int) -> Cost:
    """The cost of a sweep."""
    size, count, word = cells.size, len(cells.columns), cells.word
    shape = ForestShape(size, spread=0)
    least = cost_of_least(nodes, cells.group_sizes, cells)
    between = pairwise.cost(nodes, size, itemsize=word.itemsize)
    total = least
    for _ in range(1, steps):
        total = total.then(between).then(least)
    one = bit_products.cost(nodes, size**2)
    marks = minimum.cost_of_marks(nodes, cells.group_sizes, np.dtype(np.uint8))
    total = (
        total.then(marks)
        .then(one.beside(one))
        .then(trees.cost_of_ancestors(nodes, shape, depth=cells.depth(steps)))
    )
    total = total.then(one).then(one).then(augment.cost_of_first(nodes, shape))
    total = total.then(bit_products.cost(nodes, size)).then(bit_products.cost(nodes, count))
    return total.then(b2a.cost(nodes, count, word))
