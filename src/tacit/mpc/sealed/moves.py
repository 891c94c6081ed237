"""The children of a generation, their keys, and how the parents become the winners among them.

The public part of a generation is `Step`; the search schedule provides it. With s the indicators of
the winners and P_j the public permutations of a block, A = sum of s_j P_j is linear in s. The
block's lines of the table become A times themselves; of a tour so do its columns. What is sent is
the change of everything that any child could move, never of what the winner moved.

1 round and one word per cell of the blocks' lines; for a tour 2 rounds and twice that. Nobody
learns anything [araki2016, Section 2].
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.cost import Cost
from tacit.mpc.protocols import pairwise
from tacit.mpc.ring import public_word
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare

Indices = NDArray[np.integer[Any]]


class Runs(Protocol):
    """Runs of neighbouring positions of a block, filled with what was in others; one per entry."""

    @property
    def child(self) -> Indices:
        """The child that moves them."""
        ...

    @property
    def to(self) -> Indices:
        """The first position, counted inside the block."""
        ...

    @property
    def source(self) -> Indices:
        """Where what is there comes from."""
        ...

    @property
    def length(self) -> Indices:
        """How many positions."""
        ...

    @property
    def step(self) -> Indices:
        """1, or -1 where they are filled from a run that is read backwards."""
        ...


class Moves(Protocol):
    """The children of all blocks: which positions they permute, and which cells give their gain.

    A child is numbered block * children + its number in the block, and its number 0 is the parent.
    """

    @property
    def positions(self) -> Indices:
        """Blocks x positions, all different."""
        ...

    @property
    def children(self) -> int:
        """Per block, the parent among them."""
        ...

    @property
    def plus(self) -> Indices:
        """Cells of the table, counted row by row, that a child's gain adds; a line per child."""
        ...

    @property
    def minus(self) -> Indices:
        """Cells that it subtracts."""
        ...

    @property
    def turns(self) -> Indices:
        """Pairs of cells whose differences, added up, make more cells behind those of the table."""
        ...

    @property
    def runs(self) -> Runs:
        """What moves where."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One generation: the children and the public part of their keys.

    A child's key is its gain times `factor` plus its offset; no two of a block are equal, and
    they differ by less than 2^(bits - 1).
    """

    moves: Moves
    offsets: NDArray[np.int64]
    factor: int
    bits: int
    parent_pairs: Indices = field(default_factory=lambda: np.zeros((0, 2), dtype=np.intp))
    """Pairs of parents; both continue from the one that was better before this generation."""


@dataclass(frozen=True, slots=True)
class TableShape:
    """The public shape of the secret tables, one per parent.

    Each has a line and a column for each place, and a column of ids. `total_bits` hold a signed
    difference of two plans' values, `key_bits` one of two keys of a step. Winners are found in
    `levels`.

    >>> TableShape(places=5, key_bits=20, total_bits=17).word
    dtype('uint32')
    """

    places: int
    key_bits: int
    total_bits: int
    parents: int = 1
    levels: int = 1

    @property
    def tie_bits(self) -> int:
        """The bits that break ties among the plans of which the best is opened: two per parent."""
        return (2 * self.parents - 1).bit_length()

    @property
    def settle_bits(self) -> int:
        """The bits of a signed difference of two values with their tie-breaks."""
        return self.total_bits + self.tie_bits

    @property
    def word(self) -> np.dtype[Any]:
        """The word of the table's ring: 32 bits where they hold everything that is compared."""
        needed = max(self.key_bits, self.settle_bits, self.places.bit_length())
        return np.dtype(np.uint64 if needed > 32 else np.uint32)


def child_keys(table: ArithmeticShare, step: Step) -> ArithmeticShare:
    """Shares of all children's keys: sums of cells and public numbers, without communication."""
    moves, word = step.moves, table.dtype
    factor = public_word(step.factor).astype(word)
    public = step.offsets.astype(np.uint64).astype(word)

    def gains(component: NDArray[Any]) -> NDArray[Any]:
        flat = component.reshape(-1)
        if len(moves.turns):
            legs, back = moves.turns.T
            sums = np.cumsum(flat[back] - flat[legs], dtype=word)
            flat = np.concatenate([flat, np.zeros(1, dtype=word), sums])
        gain = flat.take(moves.plus).sum(axis=1, dtype=word)
        made: NDArray[Any] = (gain - flat.take(moves.minus).sum(axis=1, dtype=word)) * factor
        return made

    return table.map(gains).add_public(public)


def _changes(marks: ArithmeticShare, moves: Moves, word: np.dtype[Any]) -> ArithmeticShare:
    """A - I of every block.

    A run adds its mark along a diagonal of A, down and right, or down and left if it is read
    backwards, and subtracts it along the main diagonal.
    """
    blocks, size = moves.positions.shape
    runs = moves.runs
    # A line and two columns more, for what is behind the ends.
    width = size + 2
    first = runs.child // moves.children * (size + 1) * width + 1
    total = blocks * (size + 1) * width
    begin, stays = first + runs.to * width + runs.source, first + runs.to * (width + 1)
    right = runs.step > 0
    is_long = bool((runs.length > 1).any())
    behind = begin + runs.length * np.where(right, width + 1, width - 1)
    stays_behind = stays + runs.length * (width + 1)

    def filled(component: NDArray[Any]) -> NDArray[Any]:
        s = component.astype(word)[runs.child]
        if not is_long:
            change = _added(total, [(begin, s)], [(stays, s)])
        else:
            ahead = _added(
                total,
                [(begin[right], s[right]), (stays_behind, s)],
                [(behind[right], s[right]), (stays, s)],
            )
            back = _added(total, [(begin[~right], s[~right])], [(behind[~right], s[~right])])
            change = _sums_along(ahead, width + 1) + _sums_along(back, width - 1)
        return change.reshape(blocks, size + 1, width)[:, :-1, 1:-1]

    return marks.map(filled)


Entries = list[tuple[NDArray[Any], NDArray[Any]]]


def _added(total: int, added: Entries, taken: Entries) -> NDArray[Any]:
    """So many cells with these numbers added and those subtracted."""
    cells = np.zeros(total, dtype=added[0][1].dtype)
    for at, value in added:
        np.add.at(cells, at, value)
    for at, value in taken:
        np.subtract.at(cells, at, value)
    return cells


def _sums_along(cells: NDArray[Any], step: int) -> NDArray[Any]:
    """Running sums over every `step`-th cell: with lines of so many, a diagonal is a column.

    What is added where a run begins and taken behind its end fills all that lies between.
    """
    total = len(cells)
    whole = np.zeros(-(-total // step) * step, dtype=cells.dtype)
    whole[:total] = cells
    sums: NDArray[Any] = np.cumsum(whole.reshape(-1, step), axis=0, dtype=cells.dtype)
    return sums.reshape(-1)[:total]


def _products(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """Matrix products, block by block: of small words three times as fast as `np.matmul`."""
    return np.asarray(np.einsum("bij,bjk->bik", a, b))


async def permute_lines(
    session: Session,
    table: ArithmeticShare,
    marks: ArithmeticShare,
    moves: Moves,
    *,
    label: str,
) -> ArithmeticShare:
    """Return shares of tables whose lines are those of the winning children, by their indicators.

    >>> from types import SimpleNamespace
    >>> from tacit.mpc.local import deal_integers, reveal, run_parties
    >>> table, marks = deal_integers([[[5, 1, 0], [2, 7, 1]]]), deal_integers([0, 1])
    >>> swap = SimpleNamespace(positions=np.array([[0, 1]]), children=2,
    ...                        runs=SimpleNamespace(child=np.array([1, 1]), to=np.array([0, 1]),
    ...                                             source=np.array([1, 0]),
    ...                                             length=np.array([1, 1]),
    ...                                             step=np.array([1, 1])))
    >>> reveal(run_parties(lambda s: permute_lines(s, table[s.me], marks[s.me], swap,
    ...                                            label="u")).results)
    array([[[2, 7, 1],
            [5, 1, 0]]])
    """
    changes = _changes(marks, moves, table.dtype)
    parent, at = np.divmod(moves.positions, table.shape[1])
    return await _changed(session, table, changes, (parent, at), label=label)


async def take_winners(
    session: Session,
    table: ArithmeticShare,
    marks: ArithmeticShare,
    moves: Moves,
    *,
    label: str,
) -> ArithmeticShare:
    """Return shares of the next parents' tables of a tour: lines and columns change places.

    See tests/mpc/sealed/searches.py for an example.
    """
    changes = _changes(marks, moves, table.dtype)
    parent, at = np.divmod(moves.positions, table.shape[1])
    lines = await _changed(session, table, changes, (parent, at), label=f"{label}.lines")
    return await _changed(
        session, lines, changes, (parent, slice(None), at), label=f"{label}.columns"
    )


async def _changed(
    session: Session,
    table: ArithmeticShare,
    changes: ArithmeticShare,
    cells: tuple[Any, ...],
    *,
    label: str,
) -> ArithmeticShare:
    """Return the table with these cells changed: blocks x positions of the block x the rest."""
    made = table.map(np.copy)
    changed = await pairwise.product(session, changes, made[cells], _products, label=label)
    for c, part in made.parts.items():
        part[cells] += changed.parts[c]
    return made


def cost_of_lines(nodes: int, moves: Moves, width: int, word: np.dtype[Any]) -> Cost:
    """Return the cost of `permute_lines` in tables with lines of so many words."""
    return pairwise.cost(nodes, moves.positions.size * width, itemsize=word.itemsize)


def cost_of_winners(nodes: int, moves: Moves, shape: TableShape) -> Cost:
    """Return the cost of `take_winners`."""
    lines = cost_of_lines(nodes, moves, shape.places + 1, shape.word)
    return lines.then(cost_of_lines(nodes, moves, shape.places, shape.word))
