"""A book moves to other nodes: whoever holds a component splits it into those of a new sharing.

::

    x = x_0 + x_1 + ...        the earlier nodes' components, each with all of them but one
    x_c = y_c0 + y_c1 + ...    split by all holders of x_c alike, with masks from their seed
    y_j = y_0j + y_1j + ...    component j at the later nodes, which lack one each

No message is sent between earlier and later nodes but these: each holder of x_c gives each later
node i the pieces y_cj with j != i, sealed. So an earlier and a later node together lack y_cj for
the c and the j that they lack, which is uniform and on which nobody else's pieces depend.

The masks are from a seed that the holders of a component drew from their common key when the last
run was counted. It must not follow from the component: a node knows all others, so that it could
try which balances fit the pieces that it gets. The later nodes get seeds of their own in the same
way, and may give the book away again.

Only steps of those who signed that the book moves go along. Who left has chosen none of the later
nodes, which may all be of those who stay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tacit.errors import AbortError, ParameterError
from tacit.mpc.equity.book import StepBook
from tacit.mpc.equity.rule import MEMORY
from tacit.mpc.masks import KeyedMasks, MaskSource, expand
from tacit.mpc.ring import Words
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, held_by

SEED_WORDS = 4
"""Words of 64 bits in a seed."""
Piece = tuple[int, int]
"""A component at the earlier nodes, and one at the later nodes."""


@dataclass(frozen=True, slots=True)
class BookPart:
    """What an earlier node gives a later one."""

    public: StepBook
    """The book without any share."""
    pieces: Mapping[Piece, Words]
    """Of each component that the earlier node has, those pieces that the later one is to have."""


def draw_seeds(session: Session) -> ArithmeticShare:
    """A seed for the holders of each component: all together add up to nothing that matters."""
    return ArithmeticShare({c: session.words("moving.seed", c, SEED_WORDS) for c in session.held})


def parts_given(
    book: StepBook, /, *, participants: Collection[str], nodes: int, bound: bytes
) -> list[BookPart]:
    """What a node gives each of so many later nodes; the same whenever it is asked.

    `participants` signed that it moves; nothing of anybody else is given. `bound` is a hash of whom
    the book goes to, and what was counted: masks serve for that alone.
    """
    book = _cut(book, participants)
    public, count = public_part(book), _count(book)
    if not count:
        return [BookPart(public, {}) for _ in range(nodes)]
    if book.seeds is None:
        raise ParameterError(
            "the last run was counted by an earlier version of tacit, which drew no seeds to share "
            "balances anew with; count one more run before they move"
        )
    split: dict[Piece, Words] = {}
    for c, seed in book.seeds.parts.items():
        words = np.concatenate([book.steps[name].parts[c] for name in sorted(book.steps)])
        split |= split_component(words, _masks(seed, c, bound), c, nodes)
    return [
        BookPart(public, {at: piece for at, piece in split.items() if at[1] != node})
        for node in range(nodes)
    ]


def _cut(book: StepBook, participants: Collection[str]) -> StepBook:
    """The book as if nobody else had ever been in it: who comes back later is a newcomer."""
    return replace(
        book,
        founders=tuple(name for name in book.founders if name in participants),
        taken={name: often for name, often in book.taken.items() if name in participants},
        steps={name: steps for name, steps in book.steps.items() if name in participants},
    )


def _masks(seed: Words, component: int, bound: bytes) -> KeyedMasks:
    key = expand(seed.astype("<u8").tobytes(), b"tacit moved book|" + bound)
    return KeyedMasks({component: key})


def split_component(
    words: Words, masks: MaskSource, component: int, nodes: int, /
) -> dict[Piece, Words]:
    """The pieces of one component, each with a part of a later seed behind.

    >>> pieces = split_component(np.arange(2), KeyedMasks({1: bytes(32)}), 1, 3)
    >>> sum(pieces.values())[:2]
    array([0, 1], dtype=uint64)
    """
    count = len(words)
    drawn = [masks.words(f"piece.{j}", component, count + SEED_WORDS).copy() for j in range(nodes)]
    drawn[-1][:count] = words
    for each in drawn[:-1]:
        drawn[-1][:count] -= each[:count]
    return {(component, j): piece for j, piece in enumerate(drawn)}


def public_part(book: StepBook, /) -> StepBook:
    """All of a book that is no share, as far as the chain of counted runs determines it."""
    latest = book.latest
    if latest is not None:
        latest = replace(latest, steps=None, told=None, for_all=None, seeds=None)
    return StepBook(
        (),
        book.founders,
        latest=latest,
        head=book.head,
        frozen=book.last,
        taken=dict(sorted(book.taken.items())),
        runs=book.runs,
    )


def _lengths(book: StepBook) -> dict[str, int]:
    return {name: min(book.taken[name], MEMORY) for name in sorted(book.taken)}


def _count(book: StepBook) -> int:
    return sum(_lengths(book).values())


def book_taken(parts: Mapping[int, BookPart], me: int, /, *, before: int, nodes: int) -> StepBook:
    """The book of a later node, from what the earlier ones gave it.

    Of a component what two of its holders say counts: of three nodes these are all, of four one
    that lies is outvoted. With one of four missing two are left, and a difference is refused.
    """
    public = _agreed_public([part.public for part in parts.values()])
    told = {node: part for node, part in parts.items() if part.public == public}
    count = _count(public)
    book = replace(public, components=held_by(me, nodes))
    if not count:
        return book
    sums = {j: np.zeros(count + SEED_WORDS, dtype=np.uint64) for j in book.components}
    for c in range(before):
        for j, total in sums.items():
            total += _agreed_piece(told, (c, j), count, before)
    steps, at = {}, 0
    for name, length in _lengths(public).items():
        one = {j: total[at : at + length].copy() for j, total in sums.items()}
        steps[name], at = ArithmeticShare(one), at + length
    seeds = ArithmeticShare({j: total[count:].copy() for j, total in sums.items()})
    return replace(book, steps=steps, seeds=seeds)


def _agreed_public(said: Sequence[StepBook]) -> StepBook:
    """What three say: of three nodes all, of four one that lies is outvoted."""
    for each in said:
        if said.count(each) > 2:
            return each
    raise AbortError(
        "the earlier nodes", "have counted different runs, or fewer than three gave their books"
    )


def _agreed_piece(told: Mapping[int, BookPart], piece: Piece, count: int, before: int) -> Words:
    """What two holders of a component say of a piece of it."""
    holders = [node for node in range(before) if node != piece[0]]
    said = [told[node].pieces.get(piece) for node in holders if node in told]
    words = [each.tobytes() for each in said if each is not None]
    word, often = Counter(words).most_common(1)[0] if words else (b"", 0)
    if often < 2 or len(word) != 8 * (count + SEED_WORDS):
        missing = [str(node) for node in holders if node not in told]
        why = f"; node {' and node '.join(missing)} gave nothing that fits" if missing else ""
        what = f"no two gave the same of component {piece[0]} of the balances{why}"
        raise AbortError("the earlier nodes", what)
    return np.frombuffer(word, dtype=np.uint64)


def cost(before: int, nodes: int, steps: int) -> int:
    """Bytes of pieces that each earlier node gives each later one, for so many steps in a book."""
    return (before - 1) * (nodes - 1) * 8 * (steps + SEED_WORDS) if steps else 0
