"""What a forest that begins with a plan shows to a node: neither the plan nor the costs.

Minima open signs; the plan's matching, its cycles and the choice at the end only send letters.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from tacit.mpc.forest import Coins, Layout, warm_start
from tacit.mpc.forest.after_search.better import cheaper
from tacit.mpc.forest.after_search.cycles import cancel_cycles
from tacit.mpc.forest.after_search.matching import matching_of_ids
from tacit.mpc.local import parties
from tacit.mpc.ring import Words
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, BitShare
from tests.mpc.both import three_and_four
from tests.mpc.remembered_masks import RememberedMasks
from tests.mpc.secrecy.letters_seen import letters_seen
from tests.mpc.secrecy.sealed_views import CHANCE, corrected_p
from tests.mpc.secrecy.test_forest_views import NODE, OBSERVER, opened_signs
from tests.mpc.secrecy.weakened import SURE, fixed_for, split_alike

LAYOUT = Layout(rows=2, columns=(0, 1), spread=9)
SHAPE = LAYOUT.shape()
Work = Callable[[Session, ArithmeticShare, ArithmeticShare, ArithmeticShare], Awaitable[object]]


def _secrets(which: int, nodes: int) -> list[list[ArithmeticShare]]:
    """Costs, the ids of a plan and a matching; in the second case with columns exchanged."""
    way = slice(None, None, -1 if which else 1)
    costs = SHAPE.scale * np.array([[[0, 5], [2, 9]]])[:, :, way]
    numbers = (costs, np.array([[0, 1]])[:, way], np.eye(2, dtype=np.int64)[None, way])
    shared = [split_alike(each, OBSERVER, nodes=nodes) for each in numbers]
    word = SHAPE.word
    return [[share.map(lambda part: part.astype(word)) for share in each] for each in shared]


async def _views(
    work: Work, which: int, masks: type[RememberedMasks], numbers: range, nodes: int
) -> NDArray[np.uint8]:
    """One line per run: opened signs, or the bits of all letters where nothing is opened."""
    shared = _secrets(which, nodes)

    async def node(s: Session) -> None:
        NODE.set(s.me)
        await work(s, *(each[s.me] for each in shared))

    lines = []
    for number in numbers:
        source = fixed_for(OBSERVER, number, masks, nodes=nodes)
        with opened_signs() as signs, letters_seen() as arrived:
            await parties(node, nodes=nodes, masks=source)
        letters = b"".join(each.tobytes() for each in arrived[OBSERVER])
        bits = np.unpackbits(np.frombuffer(letters, dtype=np.uint8))
        shown = signs[OBSERVER, "minimum"]
        lines.append(np.array(shown, dtype=np.uint8) if shown else bits)
    return np.array(lines, dtype=np.uint8)


def p_value(work: Work, nodes: int, masks: type[RememberedMasks] = RememberedMasks) -> float:
    """Whether views are the same for two problems and plans."""

    async def two() -> float:
        runs = RUNS[work]
        first = await _views(work, 0, masks, range(runs), nodes)
        return corrected_p(first, await _views(work, 1, masks, range(runs, 2 * runs), nodes))

    return asyncio.run(two())


async def _warm(
    s: Session, costs: ArithmeticShare, ids: ArithmeticShare, _: ArithmeticShare
) -> None:
    await warm_start(s, ids, costs, LAYOUT, SHAPE, Coins(1), steps=1)


async def _matching(
    s: Session, _: ArithmeticShare, ids: ArithmeticShare, __: ArithmeticShare
) -> None:
    await matching_of_ids(s, ids, LAYOUT, SHAPE)


async def _cycles(
    s: Session, _: ArithmeticShare, __: ArithmeticShare, first: ArithmeticShare
) -> None:
    # Columns are on a cycle in the one case, and their own parents in the other.
    lowest = {c: (part & part.dtype.type(1)).astype(np.uint8) for c, part in first.parts.items()}
    await cancel_cycles(s, BitShare(lowest), BitShare(lowest), SHAPE, label="cycles")


async def _choice(
    s: Session, costs: ArithmeticShare, _: ArithmeticShare, first: ArithmeticShare
) -> None:
    other = first.map(lambda part: np.ascontiguousarray(part[:, ::-1]))
    await cheaper(s, first, other, costs, SHAPE)


RUNS: dict[Work, int] = {_warm: 20, _matching: 32, _cycles: 32, _choice: 32}
"""Letters have many more bits than there are signs, and among more of them chance finds more."""


class Unmasked(RememberedMasks):
    """A weakened source without masks."""

    def words(self, label: str, component: int, count: int) -> Words:
        return super().words(label, component, count) * np.uint64(0)


class NotMixed(RememberedMasks):
    """A weakened source: candidates for a profit stay where they are."""

    def words(self, label: str, component: int, count: int) -> Words:
        if label == "warm.profits.order.p":
            return np.arange(count, dtype=np.uint64)
        return super().words(label, component, count)


@three_and_four
@pytest.mark.parametrize("work", RUNS)
def test_going_on_from_a_plan_shows_nothing(work: Work, nodes: int) -> None:
    assert p_value(work, nodes) > CHANCE


@pytest.mark.parametrize(
    ("work", "masks"),
    [(_warm, NotMixed), (_matching, Unmasked), (_cycles, Unmasked), (_choice, Unmasked)],
)
def test_what_is_not_hidden_is_noticed(work: Work, masks: type[RememberedMasks]) -> None:
    assert p_value(work, 3, masks) < SURE
