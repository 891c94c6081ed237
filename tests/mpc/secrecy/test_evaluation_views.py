"""A whole evaluation shows the coordinator, also with one node, what is disclosed and no more.

Two populations of which the same is disclosed must give the same view, whatever else differs:
values, gaps, who of a group is the best, the best so far, and how secrets are split.
"""

from __future__ import annotations

import pytest

from tacit.mpc import COORDINATOR, NODES, Best
from tacit.mpc.masks import KeyedMasks
from tacit.mpc.ring import Words
from tests.mpc.secrecy.evaluation_views import Question, Secret, p_of_same_view
from tests.mpc.secrecy.sealed_views import CHANCE
from tests.mpc.secrecy.weakened import SURE, Reused, Unshuffled

pytestmark = pytest.mark.slow

POPULATIONS: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "order": ((7, 5, 3, 0), (7, 4, 2, 1)),
    "quantiles:2": ((7, 4, 1, 0), (5, 7, 0, 2)),
    "top:2": ((7, 4, 1, 0), (6, 7, 0, 2)),
    "buckets:2": ((7, 5, 0, 2), (6, 7, 1, 0)),
    "above:50": ((7, 6, 5, 4, 0, 1), (4, 7, 6, 5, 1, 0)),
}
"""The same is disclosed of both, and the largest value is the same."""

# How the best is disclosed, by how much the second population is smaller, and the best so far.
MODES: dict[str, tuple[Best, int, tuple[int | None, int | None]]] = {
    "value": ("value", 0, (None, None)),
    "nothing": ("nothing", 1, (None, None)),
    "first": ("improvement", 1, (None, None)),
    "improved": ("improvement", 1, (5, 2)),
    "not improved": ("improvement", 1, (7, 7)),
}


def pair_of(text: str, mode: str) -> tuple[Secret, Secret]:
    _, less, old = MODES[mode]
    first, second = POPULATIONS[text]
    return Secret(first, old[0], split=1), Secret([f - less for f in second], old[1], split=3)


def check_same_view(pair: tuple[Secret, Secret], ask: Question, *, runs: int) -> None:
    p, told = p_of_same_view(pair, ask, runs=runs)
    assert len(told) == 1  # or the two would have to look different
    assert p > CHANCE


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("text", POPULATIONS)
def test_the_coordinator_sees_what_is_disclosed(text: str, mode: str) -> None:
    ask = Question(text, MODES[mode][0], (COORDINATOR,))
    check_same_view(pair_of(text, mode), ask, runs=20)


SPLIT_IN_TWO_WAYS = Secret((3, 7, 0, 5), split=1), Secret((3, 7, 0, 5), split=3)


def test_the_coordinator_sees_values_and_not_how_they_are_split() -> None:
    check_same_view(SPLIT_IN_TWO_WAYS, Question("none", "value", (COORDINATOR,)), runs=20)


@pytest.mark.parametrize("node", NODES)
@pytest.mark.parametrize(
    ("text", "mode"),
    [*(("top:2", mode) for mode in MODES if mode != "first"), ("above:50", "improved")],
)
def test_the_coordinator_and_a_node_see_what_is_disclosed(text: str, mode: str, node: int) -> None:
    ask = Question(text, MODES[mode][0], (COORDINATOR, node))
    check_same_view(pair_of(text, mode), ask, runs=30)


@pytest.mark.parametrize("node", NODES)
@pytest.mark.parametrize("text", ["order", "above:50"])
def test_a_node_sees_nothing(text: str, node: int) -> None:
    """Not even what is disclosed to the coordinator, or whether it was an improvement."""
    pair = Secret((4, 7, 5, 6), old=3), Secret((6, 1, 2, 5), old=7)
    p, told = p_of_same_view(pair, Question(text, "improvement", (node,)), runs=30)
    assert len(told) == 2
    assert p > CHANCE


@pytest.mark.parametrize("node", NODES)
def test_a_node_that_is_told_the_answer_does_not_see_whether_it_improved(node: int) -> None:
    pair = Secret((7, 4, 1, 0), old=5), Secret((6, 7, 0, 2), old=7)
    p, told = p_of_same_view(pair, Question("top:2", "improvement", (node,), told=True), runs=30)
    assert {improved for _, _, improved in told} == {False, True}
    assert p > CHANCE


class NoLastMask(KeyedMasks):
    """A weakened source: what goes to the coordinator is not masked."""

    def words(self, label: str, component: int, count: int) -> Words:
        words = super().words(label, component, count)
        return words * 0 if label.endswith(".z") else words


def test_values_without_their_mask_are_caught() -> None:
    ask = Question("none", "value", (COORDINATOR,), NoLastMask)
    assert p_of_same_view(SPLIT_IN_TWO_WAYS, ask, runs=20)[0] < SURE


@pytest.mark.parametrize("node", NODES)
@pytest.mark.parametrize("masks", [Unshuffled, Reused])
def test_weakened_evaluations_are_caught(masks: type[KeyedMasks], node: int) -> None:
    ask = Question("top:2", "improvement", (COORDINATOR, node), masks)
    assert p_of_same_view(pair_of("top:2", "improved"), ask, runs=30)[0] < SURE
