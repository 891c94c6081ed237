"""A node's view of sealed generations does not depend on the weights; weakened ones are caught."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tacit.mpc.local import parties
from tacit.mpc.masks import MaskSource
from tacit.mpc.ring import Words
from tacit.mpc.sealed.generations import advance, select_parents
from tacit.mpc.sealed.moves import permute_lines
from tacit.mpc.sealed.state import SealedState, as_plans
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare
from tacit.search.moves.move_set import PositionRuns
from tests.mpc.both import three_and_four
from tests.mpc.mask_checks import RememberedMasks
from tests.mpc.sealed.searches import Search
from tests.mpc.secrecy.enumeration import Protocol, Setting, check_masks, spread
from tests.mpc.secrecy.enumeration import seen_alike as alike
from tests.mpc.secrecy.letters_seen import letters_seen
from tests.mpc.secrecy.sealed_views import (
    CHANCE,
    WEIGHTS,
    arrived_bits,
    corrected_p,
    opened_signs,
    seen_alike,
)
from tests.mpc.secrecy.weakened import SURE, fixed_for

pytestmark = pytest.mark.slow

CHILDREN = re.compile(r"\d+\.order\.p")
"""The label under which the children of a generation are mixed; the start has another."""


class NotMixed(RememberedMasks):
    """A weakened source: the children of a block stay where they are."""

    def words(self, label: str, component: int, count: int) -> Words:
        if CHILDREN.fullmatch(label):
            return np.arange(count, dtype=np.uint64)
        return super().words(label, component, count)


class SameSeed(RememberedMasks):
    """A weakened source: what mixes the children is the same in every run."""

    def words(self, label: str, component: int, count: int) -> Words:
        if CHILDREN.fullmatch(label):
            return RememberedMasks({component: bytes(32)}).words(label, component, count)
        return super().words(label, component, count)


async def observed(
    search: Search,
    observer: int,
    source: Callable[[int], Callable[[int], MaskSource]],
    numbers: range,
    nodes: int,
) -> NDArray[np.uint8]:
    """One line per run: bits of all that arrives, and of what the opened signs say.

    The parents are the same in every run. Behind a secret start the keys would be random, and so
    would be their order, mixed or not.
    """
    about, values = search.about, search.values
    first = np.column_stack([values, np.arange(len(values))])
    parents = np.array([first, first[::-1]])[: about.parents]
    tables = seen_alike(parents, observer, about, nodes=nodes)

    async def node(session: Session) -> SealedState:
        table = tables[session.me]
        plans = as_plans(table, about)
        state = SealedState(table, plans, plans[0])
        return await advance(session, state, search.steps(0, 5 - nodes, 2), about)

    lines = []
    with opened_signs(nodes) as opened:
        for number in numbers:
            with letters_seen() as arrived:
                await parties(node, nodes=nodes, masks=source(number))
            lines.append(arrived_bits(arrived, observer) + opened())
    return np.array(lines, dtype=np.uint8)


def p_value(name: str, nodes: int, observer: int, masks: type[RememberedMasks], runs: int) -> float:
    """The p-value for two different matrices giving the same view, whichever bits one looks at."""
    schedule = Search.random(4, spread=9, **SETTINGS[name]).schedule
    pair = [Search(weights, schedule) for weights in WEIGHTS]

    def source(number: int) -> Callable[[int], MaskSource]:
        return fixed_for(observer, number, masks, nodes=nodes)

    async def both() -> float:
        first = await observed(pair[0], observer, source, range(runs), nodes)
        second = await observed(pair[1], observer, source, range(runs, 2 * runs), nodes)
        return corrected_p(first, second)

    return asyncio.run(both())


SETTINGS: dict[str, dict[str, Any]] = {
    "tour": {"children": 3},
    "two parents": {"children": 3, "parents": 2, "meet_every": 1},
}


@pytest.mark.parametrize(
    ("name", "nodes", "observer"),
    [
        ("tour", 3, 0),
        ("tour", 4, 3),
        ("two parents", 3, 2),
    ],
)
def test_generations_show_a_node_nothing(name: str, nodes: int, observer: int) -> None:
    assert p_value(name, nodes, observer, RememberedMasks, runs=25) > CHANCE


@pytest.mark.parametrize(
    ("masks", "name", "nodes", "observer"),
    [
        (NotMixed, "tour", 4, 1),
        (SameSeed, "tour", 3, 1),
    ],
)
def test_weakened_generations_are_caught(
    masks: type[RememberedMasks], name: str, nodes: int, observer: int
) -> None:
    assert p_value(name, nodes, observer, masks, runs=25) < SURE


class Swap:
    """Two positions of a block that one child swaps."""

    positions = np.array([[0, 1]])
    children = 2
    plus = minus = np.zeros((2, 1), dtype=np.intp)
    turns = np.zeros((0, 2), dtype=np.intp)
    runs = PositionRuns.single([1, 1], [0, 1], [1, 0])


def in_ring(secret: list[int]) -> NDArray[np.uint64]:
    return np.array(secret, dtype=np.uint64)


def built(
    node: Callable[[Session, ArithmeticShare], object], observer: int, nodes: int
) -> Callable[[NDArray[np.uint64], int], Callable[[int], Protocol]]:
    """The protocol on shares of a secret of which the observer's own part is always the same."""

    def build(secret: NDArray[np.uint64], seed: int) -> Callable[[int], Protocol]:
        shares = alike(secret, observer, ArithmeticShare, nodes=nodes, ring=1, seed=seed)

        def make(instances: int) -> Protocol:
            wide = spread(shares, instances)
            return (lambda s: node(s, wide[s.me])), None  # type: ignore[return-value]

        return make

    return build


@three_and_four
def test_the_update_by_enumeration(nodes: int) -> None:
    """The instances are the columns of one table, all with the same winner."""

    async def node(s: Session, x: ArithmeticShare) -> ArithmeticShare:
        table = x[:2].map(lambda part: part[None])
        marks = x[2:, 0]
        return await permute_lines(s, table, marks, Swap(), label="u")

    secrets = [in_ring(each) for each in ([0, 0, 1, 0], [1, 0, 0, 1], [1, 1, 0, 1])]
    for observer in range(nodes):
        build = built(node, observer, nodes)
        assert not check_masks(build, secrets, Setting(nodes), observer, seeds=12)


@three_and_four
def test_parent_selection_by_enumeration(nodes: int) -> None:
    async def node(s: Session, x: ArithmeticShare) -> ArithmeticShare:
        is_second = x[2, :1]
        return await select_parents(s, x[:2], np.array([[0, 1]]), is_second, label="meet")

    secrets = [in_ring(each) for each in ([0, 0, 1], [1, 0, 0], [1, 1, 1])]
    for observer in range(nodes):
        build = built(node, observer, nodes)
        assert not check_masks(build, secrets, Setting(nodes), observer, seeds=12)
