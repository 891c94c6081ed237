"""The next duals: prices rise by the distances, up to the first distance that was still falling.

Columns are sorted by distance. `changed` are those whose distance fell in the last step; the cap is
the least of their distances. What prices rise by, min(distance, cap), is a sum of increments in
sorted order, of which those behind a changed column count nothing. So the duals stay feasible
wherever the paths were cut short. Then each row's profit is its least cost minus price.

Nobody learns anything: the order of the columns is that of shuffled distinct keys.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.cost import Cost
from tacit.mpc.forest import minima, ordering
from tacit.mpc.forest.coins import ORDER, PROFITS, Coins
from tacit.mpc.forest.minima import line_minima, public
from tacit.mpc.forest.ordering import Sorted, sort_lines
from tacit.mpc.forest.paths import Paths
from tacit.mpc.forest.schedule import Phase
from tacit.mpc.forest.shape import ForestShape
from tacit.mpc.handover import Handover
from tacit.mpc.planes import cut
from tacit.mpc.protocols import b2a, less_than, pairwise, shuffle
from tacit.mpc.protocols.halves import known_part
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, BitShare, public_share


@dataclass(frozen=True, slots=True)
class SortedColumns:
    """The columns in the order of their distances; weightings x columns."""

    order: Sorted
    distances: ArithmeticShare
    changed: BitShare


async def sort_columns(
    session: Session, paths: Paths, phase: Phase, shape: ForestShape, coins: Coins
) -> SortedColumns:
    """Sort the columns by distance, among equal ones by a public number."""
    k, size, word = shape.weightings, shape.size, shape.word
    ties = coins.ties(phase.number, ORDER, 1, size)[:, 0]
    keys = paths.distances.map(lambda part: part << word.type(shape.tie_bits))
    keys = keys.add_public(ties.astype(word))
    columns = (keys, paths.distances, paths.before)
    lines = ArithmeticShare(
        {c: np.stack([x.parts[c].reshape(-1) for x in columns], 1) for c in session.held}
    )
    order, mixed, changed = await sort_lines(
        session, lines, k, bits=shape.key_bits, label=f"{phase.number}.columns", changed=(1, 2)
    )
    flat = (k, size)
    return SortedColumns(
        order,
        mixed[:, 1].map(lambda part: part.reshape(flat)),
        changed.map(lambda part: part.reshape(flat)),
    )


def _before(part: NDArray[np.unsignedinteger]) -> NDArray[np.unsignedinteger]:
    """How many of the entries before each, line by line."""
    sums = np.cumsum(part, axis=1, dtype=part.dtype)
    return np.concatenate([np.zeros_like(sums[:, :1]), sums[:, :-1]], axis=1)


def _count_bits(shape: ForestShape) -> int:
    """The bits of -1 up to the number of columns less one."""
    return 1 + (shape.size - 1).bit_length()


async def raise_prices(
    session: Session,
    columns: SortedColumns,
    prices: ArithmeticShare,
    shortfall: Handover[ArithmeticShare],
    phase: Phase,
    shape: ForestShape,
) -> ArithmeticShare:
    """The new prices; what each column's rise falls short of its distance is handed over."""
    name, word, d = f"{phase.number}.rise", shape.word, columns.distances
    numbers = await b2a.bits_to_arithmetic(
        session, columns.changed, label=f"{name}.changed", dtype=word
    )
    # Negative where no column before has changed.
    counts = numbers.map(_before).add_public(public(-1, word))
    bits = _count_bits(shape)
    known = cut(known_part(session, counts).reshape(-1), bits=bits)
    signs = await less_than.compare_known(session, known[:0], known, bits=bits, label=f"{name}.ok")
    counted = await b2a.bits_to_arithmetic(session, signs.kept, label=f"{name}.bits", dtype=word)
    steps = d.map(lambda part: np.diff(part, axis=1, prepend=part.dtype.type(0)))
    flags = counted.map(lambda part: part.reshape(steps.shape))
    rises = await pairwise.multiply(session, flags, steps, label=f"{name}.steps")
    sums = rises.map(lambda part: np.cumsum(part, axis=1, dtype=part.dtype))
    shortfall.give(session, sums - d)
    flat = sums.map(lambda part: part.reshape(-1))
    back = await columns.order.back(session, flat, label=f"{name}.back")
    return prices + back.map(lambda part: part.reshape(steps.shape))


async def reached_columns(
    session: Session, shortfall: Handover[ArithmeticShare], phase: Phase, shape: ForestShape
) -> BitShare:
    """Whether a column's distance is within the cap, in sorted order."""
    if phase.steps == 1:
        everyone = np.ones((shape.weightings, shape.size), dtype=np.uint8)
        return public_share(everyone, BitShare, me=session.me, nodes=session.nodes)
    short = await shortfall.take(session)
    known = cut(known_part(session, short).reshape(-1), bits=shape.key_bits)
    signs = await less_than.compare_known(
        session, known[:0], known, bits=shape.key_bits, label=f"{phase.number}.reached"
    )
    return signs.kept.map(lambda part: part.reshape(short.shape)).add_public(
        np.ones(1, dtype=np.uint8)
    )


async def next_profits(
    session: Session,
    costs: ArithmeticShare,
    prices: ArithmeticShare,
    phase: Phase,
    shape: ForestShape,
    coins: Coins,
) -> ArithmeticShare:
    """Each row's least cost minus price."""
    found = await line_minima(
        session,
        costs - prices[:, None, :],
        coins.ties(phase.number, PROFITS, shape.size, shape.size),
        shape,
        label=f"{phase.number}.profits",
    )
    return found.values


def cost_to_sort(nodes: int, shape: ForestShape) -> Cost:
    """The cost of sorting the columns."""
    return ordering.cost(
        nodes, shape.weightings, shape.size, 3, shape.word, bits=shape.key_bits, changed=True
    )


def cost_of_steps(nodes: int, shape: ForestShape) -> Cost:
    """The cost of what prices rise by, in sorted order."""
    count, word = shape.weightings * shape.size, shape.word
    numbers = b2a.cost(nodes, count, word)
    total = numbers.then(less_than.cost(nodes, 0, count, bits=_count_bits(shape))).then(numbers)
    return total.then(pairwise.cost(nodes, count, itemsize=word.itemsize))


def cost_of_profits(nodes: int, phase: Phase, shape: ForestShape) -> Cost:
    """The cost of new prices at their columns, and of the profits."""
    profits = minima.cost(nodes, shape, shape.size)
    if phase.steps == 1:
        return profits
    return shuffle.cost_back(nodes, (shape.weightings * shape.size,), shape.word).then(profits)


def cost_of_reached(nodes: int, shape: ForestShape) -> Cost:
    """The cost of which columns are reached."""
    return less_than.cost(nodes, 0, shape.weightings * shape.size, bits=shape.key_bits)
