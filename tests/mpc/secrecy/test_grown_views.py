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
from tests.mpc.secrecy.sealed_views import CHANCE, corrected_p
from tests.mpc.secrecy.test_forest_views import NODE, OBSERVER, opened_signs
from tests.mpc.secrecy.weakened import SURE, fixed_for, split_alike

SHAPE = TableShape("assignment", 2, 2, key_bits=20, total_bits=33)
CELLS = AllowedCells(np.ones((2, 2), dtype=bool), 9)
RUNS = 24
pytestmark = pytest.mark.slow


async def _views(
    which: int, masks: type[RememberedMasks], numbers: range, nodes: int
) -> NDArray[np.uint8]:
    """One line per run: all signs that are opened to the observer."""
    values = np.array([[9, 4], [7, 0]])[:, :: -1 if which else 1]
    shares = split_alike(values, OBSERVER, nodes=nodes)
    items = np.arange(2)

    async def node(s: Session) -> None:
        NODE.set(s.me)
        await grown_start(s, shares[s.me], SHAPE, CELLS, items, high=9, columns=items)

    lines = []
    for number in numbers:
        source = fixed_for(OBSERVER, number, masks, nodes=nodes)
        with opened_signs() as signs:
            await parties(node, nodes=nodes, masks=source)
        lines.append(signs[OBSERVER, "minimum"] + signs[OBSERVER, "order"])
    return np.array(lines, dtype=np.uint8)


def p_value(nodes: int, masks: type[RememberedMasks] = RememberedMasks) -> float:
    """Whether views are the same for two tables of costs."""

    async def two() -> float:
        first = await _views(0, masks, range(RUNS), nodes)
        return corrected_p(first, await _views(1, masks, range(RUNS, 2 * RUNS), nodes))

    return asyncio.run(two())


class NotMixed(RememberedMasks):
    """A weakened source: candidates for a distance stay where they are."""

    label = "sweep.0.paths.0.order.p"

    def words(self, label: str, component: int, count: int) -> Words:
        if label == self.label:
            return np.arange(count, dtype=np.uint64)
        return super().words(label, component, count)


class PricesNotMixed(NotMixed):
    """The same of candidates for a price."""

    label = "prices.order.p"


@three_and_four
def test_growing_a_start_shows_nothing(nodes: int) -> None:
    assert p_value(nodes) > CHANCE


@pytest.mark.parametrize("masks", [NotMixed, PricesNotMixed])
def test_weakened_starts_are_caught(masks: type[RememberedMasks]) -> None:
    assert p_value(3, masks) < SURE
