"""Of two matchings the cheaper one, in shares: the forest's, unless that of before costs less.

An unfinished forest may be worse than the plan it began with. A product, a comparison whose sign
stays a share, and the choice. Nobody learns anything, not which one it was.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.cost import Cost
from tacit.mpc.forest.first_duals import transposed
from tacit.mpc.forest.shape import ForestShape
from tacit.mpc.planes import cut
from tacit.mpc.protocols import b2a, less_than, pairwise
from tacit.mpc.protocols.halves import known_part
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare

Words = NDArray[np.unsignedinteger]


def _total_bits(shape: ForestShape) -> int:
    """Of the difference of two totals; the ring holds it wherever it holds keys."""
    return 1 + (shape.size * shape.bound).bit_length()


def _sum_over(difference: Words, table: Words) -> Words:
    made: Words = (difference * table).sum(axis=(1, 2), dtype=table.dtype)
    return made


async def cheaper(
    session: Session,
    now: ArithmeticShare,
    first: ArithmeticShare,
    costs: ArithmeticShare,
    shape: ForestShape,
    *,
    label: str = "better",
) -> ArithmeticShare:
    """The matching that costs less, `now` where both cost the same."""
    difference, word, bits = first - now, shape.word, _total_bits(shape)
    more = await pairwise.product(
        session, difference, transposed(costs), _sum_over, label=f"{label}.totals"
    )
    known = cut(known_part(session, more), bits=bits)
    signs = await less_than.compare_known(
        session, known[:0], known, bits=bits, label=f"{label}.less"
    )
    keep = await b2a.bits_to_arithmetic(session, signs.kept, label=f"{label}.bit", dtype=word)
    chosen = await pairwise.product(
        session, keep.map(lambda part: part[:, None, None]), difference, np.multiply,
        label=f"{label}.chosen",
    )  # fmt: skip
    return now + chosen


def cost(nodes: int, shape: ForestShape) -> Cost:
    """The cost of the choice."""
    k, word = shape.weightings, shape.word
    total = pairwise.cost(nodes, k, itemsize=word.itemsize)
    total = total.then(less_than.cost(nodes, 0, k, bits=_total_bits(shape)))
    total = total.then(b2a.cost(nodes, k, word))
    return total.then(pairwise.cost(nodes, k * shape.size**2, itemsize=word.itemsize))
