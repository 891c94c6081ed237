"""A node's view of sealed generations does not depend on the weights; weakened ones are caught."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tacit.mpc.local import PartiesRun, parties
from tacit.mpc.masks import KeyedMasks
from tacit.mpc.ring import Words
from tacit.mpc.sealed.best import select_parents
from tacit.mpc.sealed.generations import advance
from tacit.mpc.sealed.moves import TableShape
from tacit.mpc.sealed.state import SealedState, as_plans
from tacit.mpc.sealed.update import take_winners
from tacit.mpc.session import Session
from tacit.mpc.shares import NODES, ArithmeticShare
from tests.mpc.sealed.searches import Search
from tests.mpc.secrecy.leaks import leaks
from tests.mpc.secrecy.sealed_views import (
    CHANCE,
    WEIGHTS,
    arrived_bits,
    corrected_p,
    opened_signs,
    seen_alike,
)
from tests.mpc.secrecy.views import Protocol, Setting, Weaken, dropped, honest
from tests.mpc.secrecy.weakened import SURE, Reused, fixed_for

pytestmark = pytest.mark.slow

CHILDREN = re.compile(r"\d+\.order\.p")
"""The label under which the children of a generation are mixed; the start has another."""


class NotMixed(KeyedMasks):
    """A weakened source: the children of a block stay where they are."""

    def words(self, label: str, component: int, count: int) -> Words:
        if CHILDREN.fullmatch(label):
            return np.arange(count, dtype=np.uint64)
        return super().words(label, component, count)


class SameSeed(KeyedMasks):
    """A weakened source: what mixes the children is the same in every run."""

    def words(self, label: str, component: int, count: int) -> Words:
        if CHILDREN.fullmatch(label):
            return KeyedMasks({component: bytes(32)}).words(label, component, count)
        return super().words(label, component, count)


async def observed(
    search: Search,
    observer: int,
    kind: type[KeyedMasks],
    numbers: range,
    opened: Callable[[], list[int]],
) -> NDArray[np.uint8]:
    """One line per run: bits of all that arrives, and of what the opened signs say.

    The parents are the same in every run. Behind a secret start the keys would be random, and so
    would be their order, mixed or not.
    """
    about = search.about
    values = search.values if about.is_tour else search.values.T
    first = np.column_stack([values, np.arange(len(values))])
    tables = seen_alike(np.array([first, first[::-1]])[: about.parents], observer, about)

    async def node(session: Session) -> SealedState:
        table = tables[session.me]
        plans = as_plans(table, about)
        state = SealedState(table, plans, plans[0])
        return await advance(session, state, search.steps(0, 2, 2), about)

    lines = []
    for number in numbers:
        run: PartiesRun[Any] = await parties(
            node, masks=fixed_for(observer, number, kind), record=True
        )
        lines.append(arrived_bits(run, observer) + opened())
    return np.array(lines, dtype=np.uint8)


def p_value(name: str, observer: int, masks: type[KeyedMasks], runs: int) -> float:
    """The p-value for two different matrices giving the same view, whichever bits one looks at."""
    kind = "tour" if name == "tour" else "assignment"
    schedule = Search.random(kind, 4, 4, spread=9, **SETTINGS[name]).schedule
    pair = [Search(weights, schedule) for weights in WEIGHTS]

    async def both() -> float:
        with opened_signs() as opened:
            first = await observed(pair[0], observer, masks, range(runs), opened)
            second = await observed(pair[1], observer, masks, range(runs, 2 * runs), opened)
        return corrected_p(first, second)

    return asyncio.run(both())


SETTINGS: dict[str, dict[str, int]] = {
    "assignment": {"block": 2},
    "tour": {"children": 3},
    "two parents": {"block": 2, "parents": 2, "meet_every": 1},
}


@pytest.mark.parametrize("observer", NODES)
@pytest.mark.parametrize("name", SETTINGS)
def test_generations_show_a_node_nothing(name: str, observer: int) -> None:
    assert p_value(name, observer, KeyedMasks, runs=60) > CHANCE


@pytest.mark.parametrize("observer", NODES)
@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("masks", [NotMixed, SameSeed, Reused])
def test_weakened_generations_are_caught(masks: type[KeyedMasks], name: str, observer: int) -> None:
    assert p_value(name, observer, masks, runs=30) < SURE


@pytest.mark.parametrize("observer", NODES)
def test_the_update_by_enumeration(observer: int) -> None:
    class Swap:
        positions = np.array([[0, 1]])
        children = 2
        plus = minus = np.zeros((2, 1), dtype=np.intp)
        moved_child = np.array([1, 1])
        moved_to = np.array([0, 1])
        moved_from = np.array([1, 0])

    about = TableShape("assignment", rows=1, columns=2, key_bits=3, total_bits=3)

    def make(shares: list[Any]) -> Protocol:
        async def node(s: Session) -> ArithmeticShare:
            mine, following = shares[s.me].mine, shares[s.me].next
            table = ArithmeticShare(mine[:4].reshape(1, 2, 2), following[:4].reshape(1, 2, 2))
            marks = ArithmeticShare(mine[4:], following[4:])
            return await take_winners(s, table, marks, Swap(), about, label="u")

        return node, None

    def look(weaken: Weaken) -> bool:
        setting = Setting(bits=1, weaken=weaken)
        secrets = [[0, 0, 0, 0, 1, 0], [1, 0, 0, 1, 0, 1], [1, 1, 1, 0, 0, 1]]
        return leaks(
            make, secrets, [observer], ArithmeticShare, ring=1, setting=setting, reduce=True
        )

    assert not look(honest)
    assert look(dropped("lines.zero"))


@pytest.mark.parametrize("observer", NODES)
def test_parent_selection_by_enumeration(observer: int) -> None:
    def make(shares: list[Any]) -> Protocol:
        async def node(s: Session) -> ArithmeticShare:
            share = shares[s.me]
            tables = ArithmeticShare(share.mine[:4].reshape(2, 2), share.next[:4].reshape(2, 2))
            return await select_parents(s, tables, np.array([[0, 1]]), share[4:], label="meet")

        return node, None

    def look(weaken: Weaken) -> bool:
        setting = Setting(bits=1, weaken=weaken)
        secrets = [[0, 0, 0, 0, 1], [1, 0, 0, 1, 0], [1, 1, 1, 0, 1]]
        return leaks(
            make, secrets, [observer], ArithmeticShare, ring=1, setting=setting, reduce=True
        )

    assert not look(honest)
    assert look(dropped("meet.zero"))
