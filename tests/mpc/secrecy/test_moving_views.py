"""What an earlier and a later node see together of a book that moves: nothing of what they lack.

The earlier one knows every component but one, and its own masks; so of the one that it lacks all
masks are tried, on the tiny ring of two bits, and what the later one gets of it is counted.
"""

from __future__ import annotations

import hashlib
from collections import Counter

import numpy as np
import pytest

from tacit.mpc.equity import BookPart, RunEntry, StepBook, moving, parts_given
from tacit.mpc.local import deal_integers
from tacit.mpc.masks import KeyedMasks
from tacit.mpc.ring import Words
from tacit.mpc.shares import ArithmeticShare, held_by
from tests.mpc.both import three_and_four

RING = 4
LACKED = 1
"""The component that the earlier observer lacks."""


class AllMasks:
    """One instance for each value of all masks; those that are left out are zero."""

    def __init__(self, nodes: int, left_out: str = "") -> None:
        self.instances, self._left_out = RING**nodes, left_out

    def words(self, label: str, _component: int, count: int) -> Words:
        made = np.zeros(count, dtype=np.uint64)
        if label != self._left_out:
            digit = int(label.removeprefix("piece."))
            made[: self.instances] = np.arange(self.instances) // RING**digit % RING
        return made


def views(masks: AllMasks, nodes: int, secret: int, observer: int) -> Counter[tuple[int, ...]]:
    """What a later node gets of the lacked component, over all masks."""
    words = np.full(masks.instances, secret, dtype=np.uint64)
    pieces = moving.split_component(words, masks, LACKED, nodes)  # type: ignore[arg-type]
    seen = [pieces[LACKED, j][: masks.instances] % RING for j in range(nodes) if j != observer]
    return Counter(zip(*(each.tolist() for each in seen), strict=True))


@three_and_four
def test_pieces_of_a_component_tell_nothing_of_it(nodes: int) -> None:
    for observer in range(nodes):
        found = [views(AllMasks(nodes), nodes, secret, observer) for secret in range(RING)]
        assert found[0] == found[1] == found[2] == found[3]
        assert len(found[0]) == RING ** (nodes - 1)


@three_and_four
def test_each_mask_that_is_left_out_is_noticed(nodes: int) -> None:
    for observer in range(nodes - 1):
        masks = AllMasks(nodes, f"piece.{observer}")
        found = [views(masks, nodes, secret, observer) for secret in range(RING)]
        assert found[0] != found[1]


def books(steps: list[int]) -> list[StepBook]:
    """Of one run, with seeds that are drawn anew."""
    dealt, held = deal_integers(np.array(steps, dtype=np.int64)), []
    rng = np.random.default_rng()
    seeds = {c: rng.integers(0, 1 << 64, moving.SEED_WORDS, dtype=np.uint64) for c in range(3)}
    names = ("amber", "birch", "cobalt")
    for me in range(3):
        own = ArithmeticShare({c: seeds[c] for c in held_by(me, 3)})
        entry = RunEntry(1, "one", names, dealt[me], seeds=own)
        held.append(StepBook(held_by(me, 3), names).prepare(entry).count(1, "one"))
    return held


def guessed(held: list[StepBook], boxes: list[list[BookPart]]) -> list[int]:
    """Which steps of amber fit what earlier node 1, who is later node 0, knows and gets.

    It knows the other steps from their owners, and that they add up to zero.
    """
    fitting = []
    known = held[LACKED]
    for step in range(-8, 9):
        steps = {"amber": step, "birch": 3, "cobalt": -3 - step}
        words = np.array(list(steps.values()), dtype=np.int64).view(np.uint64)
        for c in known.components:
            words = words - np.concatenate([known.own_steps(name).parts[c] for name in steps])
        tried = moving.split_component(words, KeyedMasks({LACKED: _key(words)}), LACKED, 3)
        got = boxes[0][0].pieces
        if all((got[LACKED, j] == tried[LACKED, j]).all() for j in (1, 2)):
            fitting.append(step)
    return fitting


def test_masks_that_follow_from_the_component_would_tell_balances(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever knows all but one component tries what fits, since steps are small numbers."""
    held = books([5, 3, -8])
    honest = [parts_given(book, participants=book.taken, nodes=3, bound=b"") for book in held]
    assert guessed(held, honest) == []
    words = np.concatenate([held[0].own_steps(n).parts[LACKED] for n in sorted(held[0].steps)])
    monkeypatch.setattr(moving, "_masks", lambda _seed, c, _bound: KeyedMasks({c: _key(words)}))
    weakened = [parts_given(book, participants=book.taken, nodes=3, bound=b"") for book in held]
    assert guessed(held, weakened) == [5]


def _key(words: Words) -> bytes:
    return hashlib.sha256(words.tobytes()).digest()


def test_nobody_gets_the_pieces_that_it_must_lack() -> None:
    for old, book in enumerate(books([1, 2, -3])):
        parts = parts_given(book, participants=book.taken, nodes=4, bound=b"")
        for later, part in enumerate(parts):
            assert set(part.pieces) == {(c, j) for c in held_by(old, 3) for j in held_by(later, 4)}
