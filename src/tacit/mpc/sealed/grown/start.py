"""The first parents of a search, from a plan that is grown on the allowed pairs.

All parents begin with it. Of two plans, it and one that is known to all, the cheaper is taken, in
shares: so there are no forbidden pairs, wherever the sweeps end. A minimum per line for the prices,
the sweeps, a choice, and a product that brings the items into their places.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.cost import Cost
from tacit.mpc.forest.minima import public
from tacit.mpc.planes import cut
from tacit.mpc.protocols import b2a, less_than, pairwise
from tacit.mpc.protocols.halves import known_part
from tacit.mpc.protocols.minimum import find_least, with_ties
from tacit.mpc.sealed.grown import sweep as sweeps
from tacit.mpc.sealed.grown.cells import AllowedCells, Indices, Numbers, numbers_in_groups
from tacit.mpc.sealed.grown.sweep import SUBSTREAMS, Matched, least_of_columns, sweep
from tacit.mpc.sealed.moves import TableShape
from tacit.mpc.sealed.state import SealedState, as_plans
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, BitShare, public_share


async def grown_start(
    session: Session,
    values: ArithmeticShare,
    shape: TableShape,
    cells: AllowedCells,
    known: Indices,
    *,
    high: int,
    columns: NDArray[np.integer[Any]],
) -> SealedState:
    """The first parents, from shares of the value of each item, items x rows, `high` at most.

    `known` is the item of each row in a plan of allowed pairs.

    >>> from tacit.mpc.local import deal_integers, reveal, run_parties
    >>> values = deal_integers([[6, 8], [0, 7]])  # costs 3 and 9 of the first row, 1 and 2
    >>> shape = TableShape("assignment", rows=2, columns=2, key_bits=9, total_bits=9)
    >>> cells = AllowedCells(np.ones((2, 2), dtype=bool), 9)
    >>> async def node(s):
    ...     here, items = values[s.me], np.arange(2)
    ...     return await grown_start(s, here, shape, cells, items[::-1], high=9, columns=items)
    >>> reveal([state.plan for state in run_parties(node).results])
    array([13,  0,  1])
    """
    word, wide = cells.word, shape.word
    of_cells = values.map(lambda part: part[cells.columns, cells.rows].astype(word))
    costs = of_cells.map(np.negative).add_public(public(high, word))
    reduced = await _reduced(session, costs, cells)
    nothing = np.zeros(len(cells.rows), dtype=word)
    held = Matched(
        BitShare(dict.fromkeys(session.held, nothing.astype(np.uint8))),
        ArithmeticShare(dict.fromkeys(session.held, nothing)),
    )
    substreams = session.substreams(SUBSTREAMS)
    for number, steps in enumerate(cells.sweeps):
        held = await sweep(
            session, substreams, reduced, held, cells, steps, label=f"sweep.{number}"
        )
    chosen = await _cheaper(session, held.numbers, costs, known, cells)
    # The lowest bit of a sum is that of all lowest bits together.
    bits = BitShare({c: _lowest_bits(part) for c, part in chosen.parts.items()})
    matching = await b2a.bits_to_arithmetic(session, bits, label="start.matching", dtype=wide)
    names = public_share(
        columns.astype(wide)[:, None], ArithmeticShare, me=session.me, nodes=session.nodes
    )
    lines = ArithmeticShare(
        {c: np.concatenate([p.astype(wide), names.parts[c]], 1) for c, p in values.parts.items()}
    )

    def placed(cell: Numbers, line: Numbers) -> Numbers:
        # Row by row: lines of all cells at once would be many tables.
        table = np.zeros((cells.size, line.shape[1]), dtype=line.dtype)
        ends = np.cumsum(cells.row_sizes)
        for row, here in enumerate(np.split(cells.by_row, ends[:-1])):
            table[row] = cell[here] @ line[cells.columns[here]]
        return table

    table = await pairwise.product(session, matching, lines, placed, label="start.lines")
    parents = table.map(lambda part: np.tile(part, (shape.parents, 1, 1)))
    plans = as_plans(parents, shape)
    return SealedState(parents, plans, plans[0])


def _lowest_bits(part: Numbers) -> NDArray[np.uint8]:
    bits: NDArray[np.uint8] = (part & part.dtype.type(1)).astype(np.uint8)
    return bits


async def _reduced(
    session: Session, costs: ArithmeticShare, cells: AllowedCells
) -> ArithmeticShare:
    """What costs exceed the prices of columns and then the profits of rows by."""
    prices = await least_of_columns(session, costs, cells.spread, cells, label="prices")
    left = costs - prices.lines[:, 1][cells.columns]
    profits = await find_least(
        session,
        with_ties(left[cells.by_row], numbers_in_groups(cells.row_sizes), tie_bits=cells.tie_bits),
        cells.row_sizes,
        bits=cells.key_bits,
        label="profits",
        levels=cells.levels,
    )
    return left - profits.lines[:, 1][cells.rows]


async def _cheaper(
    session: Session,
    matching: ArithmeticShare,
    costs: ArithmeticShare,
    known: Indices,
    cells: AllowedCells,
) -> ArithmeticShare:
    """The matching, or the known one where that costs less; a free row costs more than a plan."""
    word, bits = cells.word, cells.total_bits

    def inner(x: Numbers, y: Numbers) -> Numbers:
        made: Numbers = (x * y).sum(keepdims=True, dtype=word)
        return made

    total = await pairwise.product(session, matching, costs, inner, label="choice.total")
    other = (known[cells.rows] == cells.columns).astype(word)
    penalty = word.type(cells.penalty)
    matched = matching.map(lambda part: part.sum(keepdims=True, dtype=word) * penalty)
    less = costs.map(lambda part: inner(part, other)) - total + matched
    less = less.add_public(public(-cells.size * cells.penalty, word))
    sign = cut(known_part(session, less), bits=bits)
    signs = await less_than.compare_known(session, sign[:0], sign, bits=bits, label="choice.less")
    keep = await b2a.bits_to_arithmetic(session, signs.kept, label="choice.bit", dtype=word)
    change = matching.map(np.negative).add_public(other)
    chosen = await pairwise.product(session, keep, change, np.multiply, label="choice.chosen")
    return matching + chosen


def cost_of_growing(nodes: int, shape: TableShape, cells: AllowedCells) -> Cost:
    """The cost of the start."""
    item, count = cells.word.itemsize, len(cells.rows)
    total = sweeps.cost_of_least(nodes, cells.group_sizes, cells)
    total = total.then(sweeps.cost_of_least(nodes, cells.row_sizes, cells))
    for steps in cells.sweeps:
        total = total.then(sweeps.cost(nodes, cells, steps))
    total = total.then(pairwise.cost(nodes, 1, itemsize=item))
    total = total.then(less_than.cost(nodes, 0, 1, bits=cells.total_bits))
    total = total.then(b2a.cost(nodes, 1, cells.word))
    total = total.then(pairwise.cost(nodes, count, itemsize=item))
    total = total.then(b2a.cost(nodes, count, shape.word))
    entries = cells.size * (shape.rows + 1)
    return total.then(pairwise.cost(nodes, entries, itemsize=shape.word.itemsize))
