"""The secret state of a search at one node, and its start: an order of places that nobody knows.

Line a of a table belongs to the place that is now at position a of the tour: the values of the legs
from it to the places at all positions, and last its id. A plan is its value followed by its ids.
Everything is shared.

With a public start, the final plan and the public moves would decode to the path of selections. So
the lines [values | ids] are shuffled obliviously, and the columns are brought into the same order
by a second shuffle of the transposed tables under the same permutations and fresh masks. The rounds
and bytes of two shuffles. Nobody learns anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.cost import Cost
from tacit.mpc.protocols import shuffle
from tacit.mpc.protocols.loss import Size
from tacit.mpc.protocols.shuffle import draw_block_order
from tacit.mpc.sealed.moves import TableShape
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, public_share


@dataclass(frozen=True, slots=True)
class SealedState:
    """What a node carries from one generation to the next."""

    table: ArithmeticShare
    """Parents x positions x (positions and the id)."""
    best: ArithmeticShare
    """The best plan of each parent, as it was before the last generation."""
    plan: ArithmeticShare
    """The best of all, which may be opened."""

    @property
    def shares(self) -> list[ArithmeticShare]:
        """All of it, in the order of `state_sizes`."""
        return [self.table, self.best, self.plan]


def state_sizes(shape: TableShape, /) -> list[Size]:
    """The sizes of what a state is made of.

    >>> shape = TableShape(places=5, key_bits=9, total_bits=9, parents=2)
    >>> [size for size, _ in state_sizes(shape)]
    [(2, 5, 6), (2, 6), (6,)]
    """
    line, parents = shape.places + 1, shape.parents
    sizes = [(parents, shape.places, line), (parents, line), (line,)]
    return [(size, shape.word) for size in sizes]


def as_plans(table: ArithmeticShare, shape: TableShape, /) -> ArithmeticShare:
    """Shares of each parent's value and ids: sums of cells, without communication."""
    return table.map(lambda part: _plans(part, shape))


def _plans(component: NDArray[Any], shape: TableShape) -> NDArray[Any]:
    at = np.arange(shape.places)
    cells = component[:, at, (at + 1) % shape.places]
    totals = cells.sum(axis=1, keepdims=True, dtype=component.dtype)
    return np.concatenate([totals, component[:, :, -1]], axis=1)


async def secret_start(
    session: Session,
    values: ArithmeticShare,
    shape: TableShape,
    *,
    label: str,
) -> SealedState:
    """The first parents, from shares of the value of each leg, places x places.

    >>> from tacit.mpc.local import deal_integers, reveal, run_parties
    >>> values = deal_integers([[0, 1], [2, 0]])
    >>> shape = TableShape(places=2, key_bits=9, total_bits=9)
    >>> run = run_parties(lambda s: secret_start(s, values[s.me], shape, label="start"))
    >>> sorted(reveal([state.plan for state in run.results]).tolist())
    [0, 1, 3]
    """
    word = shape.word
    ids = public_share(
        np.arange(shape.places, dtype=word)[:, None],
        ArithmeticShare,
        me=session.me,
        nodes=session.nodes,
    )

    def copies(value: NDArray[Any], id_: NDArray[Any]) -> NDArray[Any]:
        return np.tile(np.concatenate([value.astype(word), id_], axis=1), (shape.parents, 1))

    lines = ArithmeticShare({c: copies(part, ids.parts[c]) for c, part in values.parts.items()})
    order = draw_block_order(session, shape.parents, shape.places, label=f"{label}.order")
    mixed = await shuffle.shuffle(session, lines, order, label=f"{label}.lines")
    size = (shape.parents, shape.places, shape.places + 1)
    table = mixed.map(lambda part: part.reshape(size))
    across = table.map(_transposed)
    mixed = await shuffle.shuffle(session, across, order, label=f"{label}.columns")
    table = ArithmeticShare(
        {c: _transposed_back(mixed.parts[c], part) for c, part in table.parts.items()}
    )
    plans = as_plans(table, shape)
    return SealedState(table, plans, plans[0])


def _transposed(table: NDArray[Any]) -> NDArray[Any]:
    """The columns of each parent's values as lines, one parent below the other."""
    values = table[..., :-1].transpose(0, 2, 1)
    return np.ascontiguousarray(values).reshape(-1, values.shape[-1])


def _transposed_back(lines: NDArray[Any], table: NDArray[Any]) -> NDArray[Any]:
    """A table with these columns and its ids."""
    parents, columns, _ = table.shape
    values = lines.reshape(parents, columns, columns).transpose(0, 2, 1)
    return np.concatenate([values, table[..., -1:]], axis=2)


def cost_of_start(nodes: int, shape: TableShape) -> Cost:
    """The cost of the start."""
    lines = shape.parents * shape.places
    total = shuffle.cost(nodes, (lines, shape.places + 1), shape.word)
    return total.then(shuffle.cost(nodes, (lines, shape.places), shape.word))
