"""Rows that are further than the next epsilon from their best column go free.

A product, a comparison whose signs stay shares, and the matching without those rows. No column is
kept in a tree of before. Nobody learns anything.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.cost import Cost
from tacit.mpc.forest.first_duals import transposed
from tacit.mpc.forest.minima import public
from tacit.mpc.forest.schedule import Phase
from tacit.mpc.forest.shape import ForestShape
from tacit.mpc.forest.state import ForestState
from tacit.mpc.planes import cut
from tacit.mpc.protocols import b2a, bit_products, less_than, pairwise
from tacit.mpc.protocols.bit_products import both
from tacit.mpc.protocols.halves import known_part
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare


def _of_rows(
    matching: NDArray[np.unsignedinteger], table: NDArray[np.unsignedinteger]
) -> NDArray[np.unsignedinteger]:
    """The entry of each row's column; 0 for a free row."""
    made: NDArray[np.unsignedinteger] = (matching * table).sum(axis=1, dtype=table.dtype)
    return made


async def filter_rows(
    session: Session,
    costs: ArithmeticShare,
    state: ForestState,
    phase: Phase,
    shape: ForestShape,
) -> ForestState:
    """The state with which a phase with a smaller epsilon begins."""
    name, word, bits = f"{phase.number}.filter", shape.word, shape.key_bits
    left = transposed(costs - state.prices[:, None, :])
    own = await pairwise.product(session, state.matching, left, _of_rows, label=f"{name}.own")
    # Negative where the slack is at most epsilon; of free rows it does not matter.
    slack = (own - state.profits).add_public(public(-1 - phase.epsilon, word))
    known = cut(known_part(session, slack).reshape(-1), bits=bits)
    signs = await less_than.compare_known(session, known[:0], known, bits=bits, label=f"{name}.ok")
    stay = signs.kept.map(lambda part: part.reshape(shape.weightings, 1, shape.size))
    matched = await both(session, state.matched, stay, label=f"{name}.rows")
    matching = await b2a.bits_to_arithmetic(session, matched, label=f"{name}.matching", dtype=word)
    kept = state.kept.map(np.zeros_like)
    return ForestState(matched, matching, state.prices, state.profits, kept, state.first)


def cost(nodes: int, shape: ForestShape) -> Cost:
    """The cost of filtering."""
    rows, table = shape.weightings * shape.size, shape.weightings * shape.size**2
    total = pairwise.cost(nodes, rows, itemsize=shape.word.itemsize)
    total = total.then(less_than.cost(nodes, 0, rows, bits=shape.key_bits))
    total = total.then(bit_products.cost(nodes, table))
    return total.then(b2a.cost(nodes, table, shape.word))
