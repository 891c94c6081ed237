"""Settling which plan may be opened shows no node whether anything improved, or by whom."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from numpy.typing import NDArray

from tacit.mpc.local import parties
from tacit.mpc.ring import Words
from tacit.mpc.sealed.generations import settle
from tacit.mpc.sealed.moves import TableShape
from tacit.mpc.session import Session
from tests.mpc.mask_checks import RememberedMasks
from tests.mpc.secrecy.letters_seen import letters_seen
from tests.mpc.secrecy.sealed_views import (
    CHANCE,
    arrived_bits,
    corrected_p,
    opened_signs,
    seen_alike,
)
from tests.mpc.secrecy.weakened import SURE, fixed_for

pytestmark = pytest.mark.slow


class PlansNotMixed(RememberedMasks):
    """A weakened source: the plans stay where they are."""

    def words(self, label: str, component: int, count: int) -> Words:
        if label == "end.order.p":
            return np.arange(count, dtype=np.uint64)
        return super().words(label, component, count)


class SameEveryTime(RememberedMasks):
    """A weakened source: what mixes the plans is the same in every run."""

    def words(self, label: str, component: int, count: int) -> Words:
        if label == "end.order.p":
            return RememberedMasks({component: bytes(32)}).words(label, component, count)
        return super().words(label, component, count)


def p_value(
    parents: int, nodes: int, observer: int, masks: type[RememberedMasks], *, runs: int
) -> float:
    """The p-value for improvements and none, by another parent each, giving the same view."""
    about = TableShape(2, key_bits=9, total_bits=9, parents=parents)
    old = np.array([[9, 0, 1], [8, 1, 0]])[:parents]
    new = np.array([[7, 1, 0], [5, 0, 1]])[:parents]

    async def lines(
        best: NDArray[np.int64], plans: NDArray[np.int64], numbers: range
    ) -> NDArray[np.uint8]:
        a, b = (seen_alike(each, observer, about, nodes=nodes) for each in (best, plans))

        async def node(session: Session) -> object:
            return await settle(session, a[session.me], b[session.me], about, label="end")

        seen = []
        with opened_signs(nodes) as opened:
            for number in numbers:
                with letters_seen() as arrived:
                    source = fixed_for(observer, number, masks, nodes=nodes)
                    await parties(node, nodes=nodes, masks=source)
                seen.append(arrived_bits(arrived, observer) + opened())
        return np.array(seen, dtype=np.uint8)

    async def both() -> float:
        first = await lines(old, new, range(runs))
        return corrected_p(first, await lines(new[::-1], old[::-1], range(runs, 2 * runs)))

    return asyncio.run(both())


CASES = [(1, 3, 0), (2, 3, 1), (2, 4, 3)]


@pytest.mark.parametrize(("parents", "nodes", "observer"), CASES)
def test_settling_shows_a_node_nothing(parents: int, nodes: int, observer: int) -> None:
    assert p_value(parents, nodes, observer, RememberedMasks, runs=30) > CHANCE


@pytest.mark.parametrize(("parents", "nodes", "observer"), CASES)
@pytest.mark.parametrize("masks", [PlansNotMixed, SameEveryTime])
def test_weakened_settling_is_caught(
    masks: type[RememberedMasks], parents: int, nodes: int, observer: int
) -> None:
    assert p_value(parents, nodes, observer, masks, runs=30) < SURE
