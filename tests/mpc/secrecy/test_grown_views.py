"""What a start that is grown shows to a node: not the costs; weakened ones are caught."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from numpy.typing import NDArray

from tacit.mpc.local import parties
from tacit.mpc.ring import Words
from tacit.mpc.sealed import AllowedCells, grown_start
from tacit.mpc.sealed.moves import TableShape
from tacit.mpc.session import Session
from tests.mpc.both import three_and_four
from tests.mpc.remembered_masks import RememberedMasks
from tests.mpc.secrecy.letters_seen import letters_seen
from tests.mpc.secrecy.sealed_views import CHANCE, corrected_p
from tests.mpc.secrecy.test_forest_views import NODE, OBSERVER, opened_signs
from tests.mpc.secrecy.weakened import SURE, fixed_for, split_alike

SHAPE = TableShape("assignment", 2, 2, key_bits=20, total_bits=33)
CELLS = AllowedCells(np.ones((2, 2), dtype=bool), 9)
SIGNS, LETTERS = 16, 32
"""Runs of each table: of letters, many more bits are compared."""
pytestmark = pytest.mark.slow


async def _views(
    which: int, masks: type[RememberedMasks], numbers: range, nodes: int, *, letters: bool
) -> NDArray[np.uint8]:
    """One line per run: all signs that are opened to the observer, or all bits that arrive."""
    values = np.array([[9, 4], [7, 0]])[:, :: -1 if which else 1]
    shares = split_alike(values, OBSERVER, nodes=nodes)
    items = np.arange(2)

    async def node(s: Session) -> None:
        NODE.set(s.me)
        await grown_start(s, shares[s.me], SHAPE, CELLS, items, high=9, columns=items)

    lines = []
    for number in numbers:
        source = fixed_for(OBSERVER, number, masks, nodes=nodes)
        with opened_signs() as signs, letters_seen() as arrived:
            await parties(node, nodes=nodes, masks=source)
        got = np.frombuffer(b"".join(each.tobytes() for each in arrived[OBSERVER]), dtype=np.uint8)
        opened = signs[OBSERVER, "minimum"] + signs[OBSERVER, "order"]
        lines.append(np.unpackbits(got) if letters else np.array(opened, dtype=np.uint8))
    return np.array(lines, dtype=np.uint8)


def p_value(
    nodes: int, masks: type[RememberedMasks] = RememberedMasks, *, letters: bool = False
) -> float:
    """Whether views are the same for two tables of costs."""

    async def two() -> float:
        runs = LETTERS if letters else SIGNS
        first = await _views(0, masks, range(runs), nodes, letters=letters)
        second = await _views(1, masks, range(runs, 2 * runs), nodes, letters=letters)
        return corrected_p(first, second)

    return asyncio.run(two())


class NotMixed(RememberedMasks):
    """A weakened source: candidates for a distance stay where they are."""

    def words(self, label: str, component: int, count: int) -> Words:
        if label == "sweep.0.paths.0.order.p":
            return np.arange(count, dtype=np.uint64)
        return super().words(label, component, count)


class Unmasked(RememberedMasks):
    """A weakened source: what is on a path goes without masks."""

    def words(self, label: str, component: int, count: int) -> Words:
        drawn = super().words(label, component, count)
        return drawn * np.uint64(0) if label.startswith("start.lines") else drawn


@three_and_four
def test_growing_a_start_shows_nothing(nodes: int) -> None:
    assert p_value(nodes) > CHANCE


def test_letters_of_a_grown_start_show_nothing() -> None:
    assert p_value(3, letters=True) > CHANCE


@pytest.mark.parametrize(("masks", "letters"), [(NotMixed, False), (Unmasked, True)])
def test_weakened_starts_are_caught(masks: type[RememberedMasks], letters: bool) -> None:
    assert p_value(3, masks, letters=letters) < SURE
