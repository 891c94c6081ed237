"""The least, or the largest, key of every group: its line as shares, and marks of where it was.

Keys are distinct within a group. The lines of each group are shuffled within it, and the orders
inside small subgroups are opened, then those of their winners (see `tournament`). So the place of
the least is public in the shuffled order, and its line is the share there. Marks of it go back to
the original order as shares.

The rounds of a shuffle, of one comparison per level, and for the marks of a way back. The nodes
learn the opened orders. Given all permutations but one, the ranking of a group's shuffled keys is
uniform whatever the keys are, and the orders are a public function of it: a simulator draws a
uniform ranking for each group and opens the same pairs. So the nodes learn nothing, as in
[hamada2012]. Were two keys equal, their order would show it.

What is found is a function of the keys alone, never of the shuffle: `least_in_the_clear`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.cost import Cost
from tacit.mpc.planes import cut
from tacit.mpc.protocols import less_than, shuffle
from tacit.mpc.protocols.halves import known_part
from tacit.mpc.protocols.order import SecretPermutation, draw_group_order
from tacit.mpc.protocols.tournament import Level, levels_for, tournament
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, BitShare


def with_ties(
    values: ArithmeticShare, ties: NDArray[np.integer[Any]], *, tie_bits: int
) -> ArithmeticShare:
    """Lines of key and value: the key is the value, and among equal values a public number.

    >>> from tacit.mpc.local import deal_integers, reveal
    >>> reveal([with_ties(v, np.array([1, 0]), tie_bits=1) for v in deal_integers([5, 5])])
    array([[11,  5],
           [10,  5]])
    """
    word = values.dtype
    keys = values.map(lambda part: part << word.type(tie_bits)).add_public(ties.astype(word))
    return ArithmeticShare({c: np.stack([k, values.parts[c]], -1) for c, k in keys.parts.items()})


@dataclass(frozen=True, slots=True)
class Found:
    """What was found in each group, in the order of the groups."""

    lines: ArithmeticShare
    """Shares of the lines that were found."""
    places: NDArray[np.intp]
    """Where they are among all shuffled lines: public, and uniform within a group."""
    kept: BitShare
    """The signs that were kept secret."""
    order: SecretPermutation
    count: int
    """How many lines there were."""

    def _public(self, dtype: np.dtype[Any]) -> NDArray[Any]:
        marks = np.zeros(self.count, dtype=dtype)
        marks[self.places] = 1
        return marks

    async def marks(self, session: Session, dtype: np.dtype[Any], *, label: str) -> ArithmeticShare:
        """Shares of 1 where a line was found and 0 elsewhere, in the original order."""
        public = self._public(dtype)
        return await shuffle.labels_to_shares(session, public, self.order, label=label)

    async def bit_marks(self, session: Session, *, label: str) -> BitShare:
        """The same as bits, one per byte."""
        public = self._public(np.dtype(np.uint8))
        return await shuffle.labels_to_bit_shares(session, public, self.order, label=label)


async def find_least(
    session: Session,
    lines: ArithmeticShare,
    sizes: Sequence[int],
    *,
    bits: int,
    label: str,
    kept: ArithmeticShare | None = None,
    levels: int | None = None,
    largest: bool = False,
) -> Found:
    """Find the line with the least key of every group; with `largest`, the largest key.

    Groups of these sizes follow each other. Lines are keys, or begin with the key. The keys of a
    group are distinct and differ by less than 2^(bits - 1). Signs of the differences `kept`, for
    which `bits` suffice too, are found in the same messages and stay shares.

    >>> from tacit.mpc.local import deal_integers, reveal, run_parties
    >>> keys = deal_integers([10, 30, 20, 9, 8])
    >>> async def node(s):
    ...     found = await find_least(s, keys[s.me], [3, 2], bits=6, label="m")
    ...     word = np.dtype(np.uint64)
    ...     return found.lines, await found.marks(s, word, label="back")
    >>> results = run_parties(node).results
    >>> reveal([lines for lines, _ in results]), reveal([marks for _, marks in results])
    (array([10,  8]), array([1, 0, 0, 0, 1]))
    """
    order = draw_group_order(session, sizes, label=f"{label}.order")
    mixed = await shuffle.shuffle(session, lines, order, label=f"{label}.shuffle")
    keys = mixed if mixed.any.ndim == 1 else mixed[:, 0]
    known = cut(known_part(session, keys), bits=bits)
    places = np.arange(len(lines))
    secret = known[:0] if kept is None else known_part(session, kept)
    signs = []
    for number, level in enumerate(_levels(sizes, levels)):
        batch = await less_than.compare_known(
            session,
            level.differences(known[places]),
            secret if number == 0 else secret[:0],
            bits=bits,
            label=f"{label}.{number}",
        )
        signs.append(batch.kept)
        places = places[level.winners(batch.opened, largest=largest)]
    return Found(mixed[places], places, signs[0], order, len(lines))


def _levels(sizes: Sequence[int], levels: int | None) -> tuple[Level, ...]:
    """At least one level, in which the kept signs are found too."""
    return tournament(tuple(sizes), levels or levels_for(max(sizes)))


def least_in_the_clear(
    keys: NDArray[np.integer[Any]], sizes: Sequence[int], *, largest: bool = False
) -> NDArray[np.intp]:
    """What `find_least` finds: the place of the least key of each group, in the original order.

    >>> least_in_the_clear(np.array([10, 30, 20, 9, 8]), [3, 2])
    array([0, 4])
    """
    ends = np.cumsum(sizes)
    best = np.argmax if largest else np.argmin
    starts = [int(end) - size for end, size in zip(ends, sizes, strict=True)]
    places = [at + best(keys[at : at + size]) for at, size in zip(starts, sizes, strict=True)]
    return np.array(places, dtype=np.intp)


def cost(
    nodes: int,
    sizes: Sequence[int],
    *,
    bits: int,
    dtype: np.dtype[Any],
    columns: int | None = None,
    kept: int = 0,
    levels: int | None = None,
) -> Cost:
    """The cost of finding; lines have so many columns of this type, or are keys alone."""
    shape = (sum(sizes),) if columns is None else (sum(sizes), columns)
    total = shuffle.cost(nodes, shape, dtype)
    for number, level in enumerate(_levels(sizes, levels)):
        signs = 0 if number else kept
        total = total.then(less_than.cost(nodes, level.pairs, signs, bits=bits))
    return total


def cost_of_marks(nodes: int, sizes: Sequence[int], dtype: np.dtype[Any]) -> Cost:
    """The cost of bringing marks back."""
    return shuffle.cost_to_shares(nodes, sum(sizes), dtype)
