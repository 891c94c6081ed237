"""A whole evaluation shows the coordinator, also with one node, what is disclosed and no more.

Two populations of which the same is disclosed must give the same view, whatever else differs:
values, gaps, who of a group is the best, the best so far, and how secrets are split.
"""

from __future__ import annotations

import pytest

from tacit.mpc import COORDINATOR, Best
from tests.mpc.both import three_and_four
from tests.mpc.secrecy.evaluation_views import Question, Secret, p_of_same_view
from tests.mpc.secrecy.sealed_views import CHANCE
from tests.mpc.secrecy.weakened import SURE, Unshuffled

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
    return Secret(first, old[0]), Secret([f - less for f in second], old[1])


def check_same_view(pair: tuple[Secret, Secret], ask: Question, *, runs: int) -> None:
    p, told = p_of_same_view(pair, ask, runs=runs)
    assert len(told) == 1  # or the two would have to look different
    assert p > CHANCE


@pytest.mark.parametrize(
    ("text", "mode", "nodes"),
    [
        ("order", "value", 3),
        ("order", "improved", 4),
        ("quantiles:2", "nothing", 4),
        ("top:2", "first", 3),
        ("buckets:2", "improved", 3),
        ("above:50", "value", 4),
    ],
)
def test_the_coordinator_sees_what_is_disclosed(text: str, mode: str, nodes: int) -> None:
    ask = Question(text, MODES[mode][0], (COORDINATOR,), nodes=nodes)
    check_same_view(pair_of(text, mode), ask, runs=20)


TOGETHER = [
    ("top:2", "value", 3, 0),
    ("top:2", "improved", 3, 1),
    ("above:50", "nothing", 3, 2),
    ("top:2", "improved", 4, 0),
    ("top:2", "not improved", 4, 2),
    ("above:50", "improved", 4, 3),
]


@pytest.mark.parametrize(("text", "mode", "nodes", "node"), TOGETHER)
def test_the_coordinator_and_a_node_see_what_is_disclosed(
    text: str, mode: str, nodes: int, node: int
) -> None:
    ask = Question(text, MODES[mode][0], (COORDINATOR, node), nodes=nodes)
    check_same_view(pair_of(text, mode), ask, runs=20)


@pytest.mark.parametrize(("text", "nodes", "node"), [("above:50", 3, 1), ("order", 4, 3)])
def test_a_node_sees_nothing(text: str, nodes: int, node: int) -> None:
    """Not even what is disclosed to the coordinator, or whether it was an improvement."""
    pair = Secret((4, 7, 5, 6), old=3), Secret((6, 1, 2, 5), old=7)
    p, told = p_of_same_view(pair, Question(text, "improvement", (node,), nodes=nodes), runs=20)
    assert len(told) == 2
    assert p > CHANCE


@three_and_four
def test_a_node_that_is_told_the_answer_does_not_see_whether_it_improved(nodes: int) -> None:
    pair = Secret((7, 4, 1, 0), old=5), Secret((6, 7, 0, 2), old=7)
    ask = Question("top:2", "improvement", (1,), nodes=nodes, told=True)
    p, told = p_of_same_view(pair, ask, runs=20)
    assert {improved for _, _, improved in told} == {False, True}
    assert p > CHANCE


@pytest.mark.parametrize(("nodes", "node"), [(3, 0), (4, 3)])
def test_weakened_evaluations_are_caught(nodes: int, node: int) -> None:
    ask = Question("top:2", "improvement", (COORDINATOR, node), Unshuffled, nodes)
    assert p_of_same_view(pair_of("top:2", "improved"), ask, runs=30)[0] < SURE
