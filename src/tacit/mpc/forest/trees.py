"""The trees of the forest: which root each column hangs from, and by which columns.

A, columns x columns, marks each column's parent and R0, columns x rows, the root of those that hang
from one directly. B = I + A + A^2 + ... by doubling, modulo 2: entry (j, k) says whether k is j or
an ancestor of it, for every column that is reached, since reached columns form no cycle. B R0 is
the root of each. As many doublings as the deepest tree of n columns can need.

1 round per product, and marks on their way back. Nobody learns anything.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.mpc.cost import Cost
from tacit.mpc.forest import minima
from tacit.mpc.forest.paths import Paths
from tacit.mpc.forest.schedule import Phase
from tacit.mpc.forest.shape import ForestShape
from tacit.mpc.forest.state import ForestState
from tacit.mpc.handover import two_at_once
from tacit.mpc.protocols import bit_products
from tacit.mpc.protocols.bit_products import both, matrix_product
from tacit.mpc.session import Session
from tacit.mpc.shares import BitShare, public_share


@dataclass(frozen=True, slots=True)
class Trees:
    """Bits for each weighting: columns x columns, and columns x rows."""

    ancestors: BitShare
    roots: BitShare
    new_rows: BitShare
    """The row that each column gets if the path through it is taken."""


def _beside(first: BitShare, second: BitShare, /) -> BitShare:
    return BitShare({c: np.concatenate([p, second.parts[c]], -1) for c, p in first.parts.items()})


def closure_rounds(size: int) -> int:
    """How many products cover size - 1 edges, as deep as a tree of columns can be.

    The first gives A^2. Each further one covers twice as much, beginning with I + A.

    >>> [closure_rounds(size) for size in (1, 2, 3, 4, 5, 100, 129, 300)]
    [0, 0, 2, 2, 3, 7, 8, 9]
    """
    doublings = (size - 1).bit_length()
    return doublings if doublings > 1 else 0


async def ancestors_of(
    session: Session, edges: BitShare, *, label: str, depth: int | None = None
) -> BitShare:
    """Each column's ancestors and itself, from its parent: weightings x columns x columns.

    With a `depth`, of columns that are deeper not all.
    """
    size = edges.shape[-1]
    rounds = closure_rounds(size if depth is None else depth)
    covered, power = edges.add_public(np.eye(size, dtype=np.uint8)), edges
    for number in range(1, rounds + 1):
        right = power if number == 1 else covered if number == rounds else None
        product = await matrix_product(
            session,
            power,
            _beside(power, covered) if right is None else right,
            label=f"{label}.{number}",
        )
        if number > 1:
            covered = covered + product[:, :, -size:]
        power = product[:, :, :size]
    return covered


async def grow_trees(
    session: Session,
    substreams: list[Session],
    paths: Paths,
    state: ForestState,
    phase: Phase,
    shape: ForestShape,
) -> Trees:
    """The trees of all roots."""
    name, size = f"{phase.number}.trees", shape.size
    if paths.parents is None:
        roots = await paths.roots.marks(session, label=f"{name}.roots")
        identity = np.broadcast_to(np.eye(size, dtype=np.uint8), shape.square)
        itself = public_share(identity, BitShare, me=session.me, nodes=session.nodes)
        return Trees(itself, roots, roots)
    parents = paths.parents
    by_roots, by_parents = await two_at_once(
        session,
        lambda t: paths.roots.marks(t, label=f"{name}.roots"),
        lambda t: parents.marks(t, label=f"{name}.parents"),
        substreams=substreams,
    )
    edges = by_parents[:, :, :size]

    async def closure(t: Session) -> BitShare:
        return await ancestors_of(t, edges, label=name)

    async def rows(t: Session) -> tuple[BitShare, BitShare]:
        direct = await both(t, by_parents[:, :, size:], by_roots, label=f"{name}.direct")
        moved = await matrix_product(t, edges, state.matched, label=f"{name}.moved")
        return direct, moved + direct

    ancestors, (direct, new_rows) = await two_at_once(session, closure, rows, substreams=substreams)
    roots = await matrix_product(session, ancestors, direct, label=f"{name}.root")
    return Trees(ancestors, roots, new_rows)


def cost(nodes: int, phase: Phase, shape: ForestShape) -> Cost:
    """The cost of the trees."""
    size, table = shape.size, shape.weightings * shape.size**2
    marks = minima.cost_of_marks(nodes, shape, size)
    if phase.steps == 1:
        return marks
    marks = marks.beside(minima.cost_of_marks(nodes, shape, size + 1))
    one = bit_products.cost(nodes, table)
    return marks.then(cost_of_ancestors(nodes, shape).beside(one.then(one))).then(one)


def cost_of_ancestors(nodes: int, shape: ForestShape, *, depth: int | None = None) -> Cost:
    """The cost of all ancestors, from parents."""
    rounds = closure_rounds(shape.size if depth is None else depth)
    table = shape.weightings * shape.size**2
    total = Cost.free(nodes)
    for number in range(1, rounds + 1):
        entries = table if number in (1, rounds) else 2 * table
        total = total.then(bit_products.cost(nodes, entries))
    return total
