"""The final reveal: which candidates no other one dominates, and their values if that was agreed.

::

    a secret order; rank by (F_1, sum of the others, index), signs opened
      beside it, who is smaller in the others of whom, as shares         as in the score
    dominators counted, modulo 2^16                                      2 rounds
    are they fewer than 1? one comparison each, kept                     2 + log2 (bits / 2)
    values: each F_k where the bit is 1, otherwise 0                     2, if they are agreed
    back to the original positions, to the coordinator                   2 (four nodes: 3)

The coordinator learns a bit per candidate at its original position; with values also all F_k of
those whose bit is 1, and of the others zeros. Of exact duplicates the lower index counts. The
nodes learn a uniformly random order, which nothing else is opened in, and no bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.errors import AbortError
from tacit.mpc.cost import Cost
from tacit.mpc.disclose import dominance
from tacit.mpc.disclose.dominance import ParetoWidths
from tacit.mpc.disclose.pareto_score import first_key
from tacit.mpc.disclose.spec import index_bits
from tacit.mpc.letters import WORD
from tacit.mpc.protocols import halves, less_than, shuffle
from tacit.mpc.protocols.ranking import cost_of_all_pairs
from tacit.mpc.protocols.shuffle import SecretPermutation, draw_order
from tacit.mpc.ring import from_ring
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, Array, BitShare, as_columns

BYTE = np.dtype(np.uint8)


@dataclass(frozen=True, slots=True)
class Front:
    """What a final reveal discloses."""

    nondominated: NDArray[np.intp]
    """Which candidates no other one dominates, in their order."""
    values: NDArray[np.int64] | None
    """A line for each of them with its fitness in all objectives, if that was agreed."""


def _count_bits(widths: ParetoWidths) -> int:
    """The bits of dominators minus 1, with its sign."""
    return index_bits(widths.candidates) + 1


async def reveal_front(
    session: Session, fitness: Sequence[ArithmeticShare], widths: ParetoWidths, *, values: bool
) -> None:
    """A node's side of the final reveal; the coordinator runs `collect_front`.

    >>> from tacit.mpc.disclose.spec import FitnessBound
    >>> from tacit.mpc.local import deal_integers, run_parties
    >>> f, g = deal_integers([9, 4, 0, 3]), deal_integers([1, 2, 5, 2])
    >>> widths = ParetoWidths([FitnessBound(0, 9)] * 2, 4)
    >>> run = run_parties(
    ...     lambda s: reveal_front(s, [f[s.me], g[s.me]], widths, values=True),
    ...     lambda s: collect_front(s, widths, values=True),
    ... )
    >>> run.coordinator.nondominated, run.coordinator.values.tolist()
    (array([0, 1, 2]), [[9, 1], [4, 2], [0, 5]])
    """
    order = draw_order(session, widths.candidates, label="front.order")
    rows = as_columns([first_key(fitness, widths), *fitness])
    mixed = await shuffle.shuffle(session, rows, order, label="front.shuffle")
    lines = session.substreams(2)
    is_first = await _nondominated(session, mixed, widths, lines)
    # Values are multiplied by the secret bit before they leave: of dominated candidates zeros
    # arrive.
    chosen = None
    if values:
        flat = mixed[:, 1:].map(np.ravel)
        repeated = is_first.map(lambda part: np.repeat(part, widths.objectives))
        kept = await halves.choose(session, repeated, flat, label="front.values")
        chosen = kept.map(lambda part: part.reshape(-1, widths.objectives))
    await _deliver(session, is_first, chosen, order)


async def _nondominated(
    session: Session, mixed: ArithmeticShare, widths: ParetoWidths, lines: Sequence[Session]
) -> BitShare:
    """Whether nobody dominates each candidate, in the secret order."""
    others = [mixed[:, 1 + k] for k in range(1, widths.objectives)]
    ranks, smaller = await dominance.rank_and_compare(
        session,
        [(mixed[:, 0], widths.first_bits)],
        others,
        bits=widths.dominance_bits,
        label="front",
        substreams=lines,
    )
    counted = await dominance.count_dominators(session, smaller, ranks[0], label="front.dominators")
    # The count itself stays secret: only whether it is 0 is found, one kept comparison each.
    none_left = counted.add_public(np.full(len(counted), -1).astype(dominance.COUNT))
    signs = await less_than.compare_batch(
        session, none_left[:0], none_left, bits=_count_bits(widths), label="front.none"
    )
    return signs.kept


async def _deliver(
    session: Session, bits: BitShare, chosen: ArithmeticShare | None, order: SecretPermutation
) -> None:
    async def to_bits(substream: Session) -> None:
        await shuffle.unshuffle_to_coordinator(substream, bits, order, label="front.bits")

    async def to_values(substream: Session) -> None:
        assert chosen is not None, "it is only called with values"
        await shuffle.unshuffle_to_coordinator(substream, chosen, order, label="front.chosen")

    await session.in_parallel(*([to_bits] if chosen is None else [to_bits, to_values]))


async def collect_front(session: Session, widths: ParetoWidths, *, values: bool) -> Front:
    """The coordinator's side; see `reveal_front` for an example."""
    n, m = widths.candidates, widths.objectives
    # Substreams are numbered in the order in which they are made, at all parties alike: these two
    # are the nodes' own, before the answer.
    session.substreams(2)

    async def bits(substream: Session) -> Array:
        return await shuffle.receive_unshuffled(substream, (n,), dtype=BYTE, xor=True)

    async def chosen(substream: Session) -> Array:
        return await shuffle.receive_unshuffled(substream, (n, m))

    arrived = await session.in_parallel(*([bits, chosen] if values else [bits]))
    return read_front(arrived[0], arrived[1] if values else None, widths)


def read_front(bits: Array, chosen: Array | None, widths: ParetoWidths) -> Front:
    """What the opened bits and values say; noise, which nodes with other states open, is refused.

    >>> from tacit.mpc.disclose.spec import FitnessBound
    >>> two = ParetoWidths([FitnessBound(0, 9)] * 2, 2)
    >>> read_front(np.zeros(2, np.uint8), None, two)
    Traceback (most recent call last):
    tacit.errors.AbortError: the nodes: sent bits of no front; the answer is noise, ask again
    """
    if bits.max() > 1 or not bits.any():
        raise AbortError("the nodes", "sent bits of no front; the answer is noise, ask again")
    nondominated = np.flatnonzero(bits)
    if chosen is None:
        return Front(nondominated, None)
    values = from_ring(chosen)
    low = np.array([bound.low for bound in widths.bounds])
    high = np.array([bound.high for bound in widths.bounds])
    found = values[nondominated]
    # Nodes whose states differ open noise, which must not pass for a front.
    if values[bits == 0].any() or (found < low).any() or (found > high).any():
        raise AbortError("the nodes", "sent values of no front; the answer is noise, ask again")
    return Front(nondominated, found)


def cost(nodes: int, widths: ParetoWidths, *, values: bool) -> Cost:
    """The cost of the final reveal, the delivery to the coordinator included.

    >>> from tacit.mpc.disclose.spec import FitnessBound
    >>> widths = ParetoWidths([FitnessBound(-100000, 0)] * 2, 60)
    >>> [cost(nodes, widths, values=True).rounds for nodes in (3, 4)]
    [17, 21]
    """
    n, m = widths.candidates, widths.objectives
    compared = dominance.cost_of_signs(nodes, n, m, bits=widths.dominance_bits)
    compared = compared.beside(cost_of_all_pairs(nodes, n, 0, bits=widths.first_bits))
    total = (
        shuffle.cost(nodes, (n, 1 + m)).then(compared).then(dominance.cost_of_counting(nodes, n, m))
    )
    total = total.then(less_than.cost(nodes, 0, n, bits=_count_bits(widths)))
    last = shuffle.cost_to_coordinator(nodes, (n,), BYTE, public=False, told=False)
    if values:
        total = total.then(halves.cost_of_choice(nodes, n * m))
        told = shuffle.cost_to_coordinator(nodes, (n, m), WORD, public=False, told=False)
        last = last.beside(told)
    return total.then(last)
