"""An evaluation in several objectives shows the coordinator, also with one node, the labels alone.

A node by itself sees nothing: whatever the fitness is, its view is the same. The coordinator's is
the same for all fitness of which the same is disclosed. Protocols that are weakened on purpose are
noticed: one order for all objectives, ranks of the first order opened, masks used twice.
"""

from __future__ import annotations

import numpy as np
import pytest

from tacit.mpc import COORDINATOR, Session
from tacit.mpc.disclose import pareto_score
from tacit.mpc.protocols.shuffle import SecretPermutation, draw_block_order
from tacit.mpc.ring import Words
from tests.mpc.both import three_and_four
from tests.mpc.remembered_masks import RememberedMasks
from tests.mpc.secrecy.pareto_views import Asked, p_of_same_view
from tests.mpc.secrecy.sealed_views import CHANCE
from tests.mpc.secrecy.weakened import SURE

pytestmark = pytest.mark.slow

AGREEING, OPPOSED, REVERSED = [[7, 0], [6, 0]], [[7, 0], [0, 6]], [[0, 7], [0, 6]]
"""The first dominates the second, neither does the other, the second dominates the first."""
THREE = ([[7, 4, 1], [6, 3, 2], [0, 1, 1]], [[1, 1, 1], [0, 5, 0], [7, 7, 6]])
RUNS = 20


@pytest.mark.parametrize(
    ("nodes", "node", "other"), [(3, 0, OPPOSED), (3, 2, REVERSED), (4, 1, REVERSED)]
)
def test_a_node_sees_nothing(nodes: int, node: int, other: list[list[int]]) -> None:
    """Neither how the objectives go together, nor what the coordinator is told."""
    p, told = p_of_same_view((AGREEING, other), Asked("order", (node,), nodes), runs=RUNS)
    assert len(told) == (1 if other is OPPOSED else 2)
    assert p > CHANCE


def test_a_node_sees_nothing_of_three_objectives() -> None:
    p, told = p_of_same_view(THREE, Asked("order", (1,)), runs=RUNS)
    assert len(told) == 2
    assert p > CHANCE


@three_and_four
def test_the_coordinator_and_a_node_see_the_labels(nodes: int) -> None:
    """The best is disclosed, and not whether it dominates the other."""
    ask = Asked("top:1", (COORDINATOR, nodes - 1), nodes)
    p, told = p_of_same_view((AGREEING, OPPOSED), ask, runs=RUNS)
    assert told == {(1, 0)}
    assert p > CHANCE


def test_the_coordinator_alone_sees_the_labels() -> None:
    assert (
        p_of_same_view((AGREEING, OPPOSED), Asked("top:1", (COORDINATOR,)), runs=RUNS)[0] > CHANCE
    )


def test_other_labels_are_seen() -> None:
    """The measure does notice what is disclosed."""
    ask = Asked("top:1", (COORDINATOR, 0))
    assert p_of_same_view((AGREEING, REVERSED), ask, runs=RUNS)[0] < SURE


def _one_order_for_all(
    session: Session, blocks: int, children: int, *, label: str
) -> SecretPermutation:
    order = draw_block_order(session, 1, children, label=label)
    first = np.arange(blocks)[:, None] * children
    return SecretPermutation({c: (first + p[None, :]).reshape(-1) for c, p in order.known.items()})


@three_and_four
def test_one_order_for_all_objectives_is_noticed(
    nodes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pareto_score, "draw_block_order", _one_order_for_all)
    ask = Asked("order", (1,), nodes)
    assert p_of_same_view((AGREEING, OPPOSED), ask, runs=RUNS)[0] < SURE


def _no_first_order(
    session: Session, blocks: int, children: int, *, label: str
) -> SecretPermutation:
    order = draw_block_order(session, blocks, children, label=label)
    known = {c: p.copy() for c, p in order.known.items()}
    for permutation in known.values():
        permutation[:children] = np.arange(children)
    return SecretPermutation(known)


@three_and_four
def test_opening_the_ranks_of_the_first_objective_is_noticed(
    nodes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pareto_score, "draw_block_order", _no_first_order)
    ask = Asked("order", (1,), nodes)
    assert p_of_same_view((AGREEING, REVERSED), ask, runs=RUNS)[0] < SURE


class Reused(RememberedMasks):
    """A weakened source: one mask for all rows of a shuffle."""

    def words(self, label: str, component: int, count: int) -> Words:
        found = super().words(label, component, count)
        return np.repeat(found[:1], count) if label.startswith("pareto.shuffle") else found


@three_and_four
def test_masks_that_are_used_twice_are_noticed(nodes: int) -> None:
    ask = Asked("order", (1,), nodes, Reused)
    assert p_of_same_view((AGREEING, REVERSED), ask, runs=RUNS)[0] < SURE
