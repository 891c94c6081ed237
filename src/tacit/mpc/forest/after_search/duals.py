"""Prices for a matching: as much of it as possible becomes tight, and the rest goes free.

::

    v_j = least C_ij of column j
    v_j = least over columns k of  v_k + C_ij - C_ik,  row i matched to k      (some steps)
          after every other step: cycles along which the matching gets cheaper are taken
    b_i = least over columns of    C_ij - v_j
    rows with C_ij - v_j - b_i above epsilon at their column j go free

With enough steps the matching is an optimum (`cycles`) and nothing goes free. A step is v = least
over rows of C_ij - a_i, a_i = C_ik - v_k being what row i pays now, and b >= a. So prices differ by
at most the bound, and every column has a row with r_ij = 0, as the forest's bounds ask for.

A minimum per step and two more, cycles, products, and the filter. Nobody learns anything.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.cost import Cost
from tacit.mpc.forest import filtering, minima
from tacit.mpc.forest.after_search import better, cycles, matching
from tacit.mpc.forest.coins import FIRST_STEP, PROFITS, ROOTS, START, Coins
from tacit.mpc.forest.first_duals import transposed
from tacit.mpc.forest.layout import Layout
from tacit.mpc.forest.minima import line_minima
from tacit.mpc.forest.schedule import Phase
from tacit.mpc.forest.shape import ForestShape
from tacit.mpc.forest.state import ForestState
from tacit.mpc.protocols import pairwise
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, BitShare

STEPS = 48
"""After these most plans of up to 100 rows are optimal and proved; after half as many few are."""
BETWEEN_CYCLES = 2
"""Steps from one search for cycles to the next: more find fewer, and fewer cost rounds."""
NO_STEPS = 0
"""Where few pairs are allowed the search's plan is poor, and prices that follow it are worse."""
FREEING = Phase(0, 1, 1, falls=True)
"""What the filter needs to know: phases after it are numbered from 1."""


def steps_for(layout: Layout, /) -> int:
    """How many steps prices take; follows from the mask, which is public."""
    return NO_STEPS if layout.is_sparse else STEPS


def takes_cycles(step: int, /) -> bool:
    """Whether cycles are taken after this step of the prices.

    >>> [takes_cycles(step) for step in range(4)]
    [False, True, False, True]
    """
    return step % BETWEEN_CYCLES == BETWEEN_CYCLES - 1


async def warm_start(
    session: Session,
    ids: ArithmeticShare,
    costs: ArithmeticShare,
    layout: Layout,
    shape: ForestShape,
    coins: Coins,
    *,
    steps: int | None = None,
    fallback: ArithmeticShare | None = None,
) -> ForestState:
    """The forest's state with which it goes on from a plan; `ids` are weightings x rows.

    Where a matching is known to `fallback` on, the plan is the cheaper of both.

    Ids may have a narrower word than the forest, since they are compared and never added up.

    >>> from tacit.mpc.local import deal_integers, reveal, run_parties
    >>> weights, ids = deal_integers([[[7, 1], [2, 3]]]), deal_integers([[1, 0]])
    >>> layout = Layout(rows=2, columns=(0, 1), spread=9)
    >>> shape, coins = layout.shape(), Coins(1)
    >>> async def node(s):
    ...     costs = layout.costs(weights[s.me], [(0, 9)], shape)
    ...     return (await warm_start(s, ids[s.me], costs, layout, shape, coins)).matching
    >>> reveal(run_parties(node).results)[0]
    array([[0, 1],
           [1, 0]])
    """
    size = shape.size
    first = await matching.matching_of_ids(session, ids, layout, shape)
    if fallback is not None:
        first = await better.cheaper(session, first, fallback, costs, shape, label="plan.better")
    found = await line_minima(
        session, transposed(costs), coins.ties(START, ROOTS, size, size), shape, label="warm.prices"
    )
    # The lowest bit of a sum is that of all lowest bits together.
    bits = BitShare({c: _lowest_bits(part) for c, part in first.parts.items()})
    prices, between = found.values, await _between(session, first, costs, label="warm.table")
    for step in range(steps_for(layout) if steps is None else steps):
        name = f"warm.{step}"
        ties = cycles.itself_last(coins.ties(START, FIRST_STEP + step, size, size))
        found = await line_minima(session, between + prices[:, None, :], ties, shape, label=name)
        prices = found.values
        if takes_cycles(step):
            parents = await found.marks(session, label=f"{name}.parents")
            bits, first = await cycles.cancel_cycles(session, parents, bits, shape, label=name)
            between = await _between(session, first, costs, label=f"{name}.table")
    found = await line_minima(
        session,
        costs - prices[:, None, :],
        coins.ties(START, PROFITS, size, size),
        shape,
        label="warm.profits",
    )
    nothing = np.zeros(shape.square[:2], dtype=shape.word)
    kept = ArithmeticShare(dict.fromkeys(session.held, nothing))
    whole = ForestState(bits, first, prices, found.values, kept, first)
    return await filtering.filter_rows(session, costs, whole, FREEING, shape)


async def _between(
    session: Session, matching: ArithmeticShare, costs: ArithmeticShare, *, label: str
) -> ArithmeticShare:
    """C_ij - C_ik for columns j and k, row i being matched to k."""
    table = await pairwise.product(session, matching, costs, np.matmul, label=label)
    own = table.map(lambda part: np.diagonal(part, axis1=1, axis2=2))
    return transposed(table - own[:, :, None])


def _lowest_bits(part: NDArray[Any]) -> NDArray[np.uint8]:
    bits: NDArray[np.uint8] = (part & part.dtype.type(1)).astype(np.uint8)
    return bits


def cost_of_warm_start(
    nodes: int,
    layout: Layout,
    shape: ForestShape,
    *,
    steps: int | None = None,
    has_fallback: bool = False,
) -> Cost:
    """The cost of going on from a plan."""
    total, one = matching.cost(nodes, layout, shape), minima.cost(nodes, shape, shape.size)
    if has_fallback:
        total = total.then(better.cost(nodes, shape))
    entries = shape.weightings * shape.size**2
    table = pairwise.cost(nodes, entries, itemsize=shape.word.itemsize)
    total = total.then(one).then(table)
    for step in range(steps_for(layout) if steps is None else steps):
        total = total.then(one)
        if takes_cycles(step):
            marks = minima.cost_of_marks(nodes, shape, shape.size)
            total = total.then(marks).then(cycles.cost(nodes, shape)).then(table)
    return total.then(one).then(filtering.cost(nodes, shape))
