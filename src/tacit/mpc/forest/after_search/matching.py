"""A plan's shared ids as a matching of the forest.

Ids are compared with all columns. [id < c] for c in their order changes once, so that neighbours
differ in one place, which is the column of the row. Of a column that stands several times, rows
take one place after the other: the first row with it the first place, and so on. Added rows take
what is left, by rank.

A comparison whose signs stay shares, and bits to numbers; with capacities one more of each. Nobody
learns anything.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.cost import Cost
from tacit.mpc.forest import completion
from tacit.mpc.forest.layout import Layout
from tacit.mpc.forest.shape import ForestShape
from tacit.mpc.planes import cut
from tacit.mpc.protocols import b2a, bit_products, less_than
from tacit.mpc.protocols.bit_products import both
from tacit.mpc.protocols.halves import known_part
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, BitShare


def places_of(layout: Layout, /) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Of each place: its column among those there are, and how many places of it come before.

    >>> places_of(Layout(rows=2, columns=(4, 7, 7), spread=1))
    (array([0, 1, 1]), array([0, 0, 1]))
    """
    _, column = np.unique(np.array(layout.columns), return_inverse=True)
    before = np.array([(column[:at] == each).sum() for at, each in enumerate(column)])
    return column.astype(np.intp), before.astype(np.intp)


def _names(layout: Layout) -> NDArray[np.intp]:
    return np.unique(np.array(layout.columns)).astype(np.intp)


def _steps(bits: NDArray[Any], *, whole: bool) -> NDArray[Any]:
    """Where lines of 0 ... 0 1 ... 1 change, with a 0 before; `whole` also adds a 1 behind."""
    edges = np.zeros((*bits.shape[:-1], 1), dtype=bits.dtype)
    first = np.concatenate([edges, bits], axis=-1)
    last = np.concatenate([bits, edges + bits.dtype.type(whole)], axis=-1)
    changed: NDArray[Any] = first ^ last
    return changed


async def _less(
    session: Session, values: ArithmeticShare, edges: NDArray[np.intp], *, bits: int, label: str
) -> BitShare:
    """Whether each value is less than each edge, edges as the last axis; values repeat there."""
    word = values.dtype
    off = values.add_public((-edges).astype(word))
    known = known_part(session, off)
    signs = await less_than.compare_known(
        session,
        cut(known.reshape(-1)[:0], bits=bits),
        cut(known.reshape(-1), bits=bits),
        bits=bits,
        label=label,
    )
    return signs.kept.map(lambda part: part.reshape(known.shape))


def _id_bits(layout: Layout) -> int:
    return 1 + int(max(layout.columns)).bit_length()


def _rank_bits(layout: Layout) -> int:
    return 1 + layout.rows.bit_length()


async def _columns_of(session: Session, ids: ArithmeticShare, layout: Layout) -> BitShare:
    """Weightings x rows x columns: one bit is 1 in each row."""
    edges = _names(layout)[1:]
    if not len(edges):
        one = np.ones((*ids.shape, 1), dtype=np.uint8)
        nothing = BitShare(dict.fromkeys(session.held, np.zeros_like(one)))
        return nothing.add_public(one)
    values = ids.map(lambda part: np.repeat(part[..., None], len(edges), axis=-1))
    less = await _less(session, values, edges, bits=_id_bits(layout), label="plan.less")
    bits = less.map(lambda part: _steps(part, whole=False))
    last = np.zeros(len(edges) + 1, dtype=np.uint8)
    last[-1] = 1
    return bits.add_public(last)


async def _with_copies(
    session: Session, columns: BitShare, layout: Layout, shape: ForestShape
) -> BitShare:
    """Weightings x rows x places, from rows x columns, of which some have several places."""
    column, before = places_of(layout)
    numbers = await b2a.bits_to_arithmetic(session, columns, label="plan.columns", dtype=shape.word)
    # How many rows above have the same column.
    ranks = numbers.map(lambda part: np.cumsum(part, axis=1, dtype=part.dtype) - part)
    further = np.flatnonzero(before)
    less = await _less(
        session,
        ranks.map(lambda part: part[:, :, column[further]]),
        before[further],
        bits=_rank_bits(layout),
        label="plan.ranks",
    )
    following = np.full(len(column), -1)
    for k, place in enumerate(further):
        same = np.flatnonzero((column == column[place]) & (before == before[place] - 1))
        following[same] = k
    here = np.full(len(column), -1)
    here[further] = np.arange(len(further))

    def rank_is(part: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """[rank < before + 1] and not [rank < before]: the first is 1 at the last place."""
        nothing = np.zeros((*part.shape[:-1], 1), dtype=part.dtype)
        wide = np.concatenate([part, nothing], axis=-1)  # the index -1 is the last
        bits: NDArray[np.uint8] = wide[..., following] ^ wide[..., here]
        return bits

    fits = less.map(rank_is).add_public((following == -1).astype(np.uint8))
    taken = columns.map(lambda part: np.ascontiguousarray(part[:, :, column]))
    return await both(session, taken, fits, label="plan.places")


async def matching_of_ids(
    session: Session, ids: ArithmeticShare, layout: Layout, shape: ForestShape
) -> ArithmeticShare:
    """Shares of the matching, weightings x columns x rows of the forest, as numbers of the ring.

    >>> from tacit.mpc.local import deal_integers, reveal, run_parties
    >>> ids, layout = deal_integers([[1, 0]]), Layout(rows=2, columns=(0, 1), spread=9)
    >>> run = run_parties(lambda s: matching_of_ids(s, ids[s.me], layout, layout.shape()))
    >>> reveal(run.results)[0]
    array([[0, 1],
           [1, 0]])
    """
    bits = await _columns_of(session, ids, layout)
    if places_of(layout)[1].any():
        bits = await _with_copies(session, bits, layout, shape)
    matched = bits.map(lambda part: _in_square(part, layout))
    matching = await b2a.bits_to_arithmetic(
        session, matched, label="plan.matching", dtype=shape.word
    )
    if not layout.columns_are_roots:
        return matching
    return await completion.complete_matching(
        session, matched, matching, shape, label="plan.complete"
    )


def _in_square(part: NDArray[np.uint8], layout: Layout) -> NDArray[np.uint8]:
    """Bits of rows x places as columns x rows of the forest, 0 for added rows."""
    square = np.zeros((len(part), layout.size, layout.size), dtype=part.dtype)
    square[:, : layout.rows] = part
    return square if layout.columns_are_roots else np.ascontiguousarray(square.swapaxes(1, 2))


def cost(nodes: int, layout: Layout, shape: ForestShape) -> Cost:
    """The cost of the matching of a plan's ids."""
    k, rows, columns = shape.weightings, layout.rows, len(_names(layout))
    total = Cost.free(nodes)
    if columns > 1:
        compared = k * rows * (columns - 1)
        total = total.then(less_than.cost(nodes, 0, compared, bits=_id_bits(layout)))
    before = places_of(layout)[1]
    if before.any():
        total = total.then(b2a.cost(nodes, k * rows * columns, shape.word))
        compared = k * rows * int((before > 0).sum())
        total = total.then(less_than.cost(nodes, 0, compared, bits=_rank_bits(layout)))
        total = total.then(bit_products.cost(nodes, k * rows * layout.size))
    total = total.then(b2a.cost(nodes, k * shape.size**2, shape.word))
    return total.then(completion.cost(nodes, shape)) if layout.columns_are_roots else total
