"""Settling which plan may be opened shows no node whether anything improved, or by whom."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tacit.mpc.local import PartiesRun, parties
from tacit.mpc.masks import KeyedMasks
from tacit.mpc.ring import Words
from tacit.mpc.sealed.best import settle
from tacit.mpc.sealed.moves import TableShape
from tacit.mpc.session import Session
from tacit.mpc.shares import NODES
from tests.mpc.secrecy.sealed_views import (
    CHANCE,
    arrived_bits,
    corrected_p,
    opened_signs,
    seen_alike,
)
from tests.mpc.secrecy.weakened import SURE, fixed_for

pytestmark = pytest.mark.slow


class PlansNotMixed(KeyedMasks):
    """A weakened source: the plans stay where they are."""

    def words(self, label: str, component: int, count: int) -> Words:
        if label == "end.order.p":
            return np.arange(count, dtype=np.uint64)
        return super().words(label, component, count)


class SameEveryTime(KeyedMasks):
    """A weakened source: what mixes the plans is the same in every run."""

    def words(self, label: str, component: int, count: int) -> Words:
        if label == "end.order.p":
            return KeyedMasks({component: bytes(32)}).words(label, component, count)
        return super().words(label, component, count)


def p_value(parents: int, observer: int, masks: type[KeyedMasks], *, runs: int) -> float:
    """The p-value for improvements and none, by another parent each, giving the same view."""
    about = TableShape("assignment", 2, 2, key_bits=9, total_bits=9, parents=parents)
    old = np.array([[9, 0, 1], [8, 1, 0]])[:parents]
    new = np.array([[7, 1, 0], [5, 0, 1]])[:parents]

    async def lines(
        best: NDArray[np.int64], plans: NDArray[np.int64], numbers: range
    ) -> NDArray[np.uint8]:
        a, b = (seen_alike(each, observer, about) for each in (best, plans))

        async def node(session: Session) -> object:
            return await settle(session, a[session.me], b[session.me], about, label="end")

        seen = []
        with opened_signs() as opened:
            for number in numbers:
                run: PartiesRun[Any] = await parties(
                    node, masks=fixed_for(observer, number, masks), record=True
                )
                seen.append(arrived_bits(run, observer) + opened())
        return np.array(seen, dtype=np.uint8)

    async def both() -> float:
        first = await lines(old, new, range(runs))
        return corrected_p(first, await lines(new[::-1], old[::-1], range(runs, 2 * runs)))

    return asyncio.run(both())


@pytest.mark.parametrize("observer", NODES)
@pytest.mark.parametrize("parents", [1, 2])
def test_settling_shows_a_node_nothing(parents: int, observer: int) -> None:
    assert p_value(parents, observer, KeyedMasks, runs=60) > CHANCE


@pytest.mark.parametrize("observer", NODES)
@pytest.mark.parametrize("parents", [1, 2])
@pytest.mark.parametrize("masks", [PlansNotMixed, SameEveryTime])
def test_weakened_settling_is_caught(masks: type[KeyedMasks], parents: int, observer: int) -> None:
    assert p_value(parents, observer, masks, runs=30) < SURE
