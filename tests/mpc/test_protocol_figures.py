"""Rounds and bytes in docs/protocols are those of the protocols."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tacit.equity import EquityRule, EquityShape, account, protocol
from tacit.mpc import FitnessBound, ParetoWidths, Spec, epoch
from tacit.mpc.assignment import Layout, descent, iterations, ladder, proof, state
from tacit.mpc.cost import Cost
from tacit.mpc.disclose import front, pareto_score
from tacit.mpc.protocols import halves, less_than, minimum, opening, pairwise, range_check, shuffle
from tacit.mpc.protocols.minimum import tournament
from tacit.mpc.shares import CLUSTER_SIZES
from tacit.search.moves import BlockDescent

DOCS = Path(__file__).parents[2] / "docs" / "protocols"
BYTE, LABEL = np.dtype(np.uint8), np.dtype(np.uint32)


def labels(nodes: int, *, told: bool) -> Cost:
    return shuffle.cost_to_coordinator(nodes, (300,), LABEL, public=True, told=told)


LINES: dict[tuple[str, str], Callable[[int], Cost]] = {
    ("sharing.md", "product"): lambda nodes: pairwise.cost(nodes, 300),
    ("sharing.md", "bits to numbers"): lambda nodes: halves.cost_of_conversion(nodes, 300),
    ("sharing.md", "choice of a number by a bit"): lambda nodes: halves.cost_of_choice(nodes, 300),
    ("sharing.md", "opening to the nodes"): lambda nodes: opening.cost_to_nodes(nodes, 300),
    ("sharing.md", "opening to the coordinator"): lambda nodes: opening.cost_to_coordinator(
        nodes, 300
    ),
    ("sharing.md", "range check of 10,000 weights of one participant"): lambda nodes: (
        range_check.cost(nodes, [10_000])
    ),
    ("sharing.md", "keys of an epoch"): epoch.cost,
    ("shuffle.md", "shuffle of key and fitness, 64 bits each"): lambda nodes: shuffle.cost(
        nodes, (300, 2)
    ),
    ("shuffle.md", "rows of a byte to the coordinator"): lambda nodes: shuffle.cost_to_coordinator(
        nodes, (300, 1), BYTE, public=False, told=False
    ),
    ("shuffle.md", "labels of 32 bits to the coordinator"): lambda nodes: labels(nodes, told=False),
    ("shuffle.md", "the same, and the nodes are told"): lambda nodes: labels(nodes, told=True),
    ("shuffle.md", "labels of 64 bits to shares"): lambda nodes: shuffle.cost_to_shares(nodes, 300),
}


SHARED_SLOTS = EquityShape([row % 4 for row in range(40)], 60, 100_000)
LINES |= {
    ("equity.md", "after a run, public plan"): lambda nodes: protocol.cost_after(
        nodes, SHARED_SLOTS, secret=False
    ),
    ("equity.md", "after a run, secret plan"): lambda nodes: protocol.cost_after(
        nodes, SHARED_SLOTS, secret=True
    ),
    ("equity.md", "before a run"): lambda nodes: protocol.cost_before(
        nodes, EquityRule(), 4, rows=40, columns=60
    ),
    ("equity.md", "spread"): lambda nodes: account.cost_of_spread(nodes, 4),
}


def pareto(objectives: int) -> Callable[[int], Cost]:
    widths = ParetoWidths([FitnessBound(-100_000, 0)] * objectives, 300)
    shown = Spec.parse("quantiles:20")
    return lambda nodes: pareto_score.cost(nodes, spec=shown, widths=widths, told=True)


LINES |= {("pareto.md", name): pareto(k) for k, name in enumerate(("two", "three", "four"), 2)}


def revealed(*, values: bool) -> Callable[[int], Cost]:
    widths = ParetoWidths([FitnessBound(-100_000, 0)] * 2, 60)
    return lambda nodes: front.cost(nodes, widths, values=values)


LINES |= {
    ("pareto.md", "which plans"): revealed(values=False),
    ("pareto.md", "and their values"): revealed(values=True),
}


@pytest.mark.parametrize(("page", "name"), LINES)
def test_rounds_and_bytes(page: str, name: str) -> None:
    costs = [LINES[page, name](nodes) for nodes in (3, 4)]
    cells = [f"{cost.rounds} | {cost.bytes_per_node:,}" for cost in costs]
    assert f"| {name} | {' | '.join(cells)} |" in (DOCS / page).read_text()


@pytest.mark.parametrize(("nodes", "name"), [(3, "three nodes"), (4, "four nodes")])
def test_a_comparison(nodes: int, name: str) -> None:
    cost = less_than.cost(nodes, 44_850, 0, bits=28)
    line = f"| {name} | {cost.rounds} | {cost.bytes_per_node:,} |"
    assert line in (DOCS / "comparison.md").read_text()


@pytest.mark.parametrize(
    ("name", "sizes", "columns", "levels"),
    [
        ("100 groups of 101, with values", (101,) * 100, 2, 2),
        ("14 groups of 92", (92,) * 14, None, 2),
        ("one of 300, all pairs", (300,), None, 1),
        ("one of 300", (300,), None, 2),
        ("one of 3,200", (3200,), None, 3),
    ],
)
def test_the_least_of_groups(
    name: str, sizes: tuple[int, ...], columns: int | None, levels: int
) -> None:
    costs = [
        minimum.cost(nodes, sizes, bits=27, dtype=LABEL, columns=columns, levels=levels)
        for nodes in (3, 4)
    ]
    pairs = sum(level.pairs for level in tournament(sizes, levels))
    cells = [f"{cost.rounds} | {cost.bytes_per_node:,}" for cost in costs]
    line = f"| {name} | {levels} | {pairs:,} | {' | '.join(cells)} |"
    assert line in (DOCS / "minimum.md").read_text()


ASSIGNED = Layout(100, range(100), 1000)
DESCENT = BlockDescent(100, 100, 1000, seed=1)
SHAPE = ASSIGNED.shape(descent_bits=DESCENT.key_bits)


def one_more(cost: Callable[[int], Cost]) -> tuple[int, int]:
    """Rounds and bytes of one more step."""
    fewer, more = cost(2), cost(3)
    return more.rounds - fewer.rounds, more.bytes_per_node - fewer.bytes_per_node


def whole(cost: Cost) -> tuple[int, int]:
    return cost.rounds, cost.bytes_per_node


def generations_of_descent(nodes: int, count: int) -> Cost:
    return descent.cost_of_generations(
        nodes, SHAPE, DESCENT.generation(1),
        bits=DESCENT.key_bits, count=count, levels=DESCENT.levels,
    )  # fmt: skip


PARTS: dict[str, Callable[[int], tuple[int, int]]] = {
    "drawn plan": lambda nodes: whole(state.cost_of_drawing(nodes, SHAPE)),
    "first prices": lambda nodes: whole(iterations.cost_of_start(nodes, SHAPE)),
    "a generation of descent": lambda nodes: one_more(
        lambda count: generations_of_descent(nodes, count)
    ),
    "an iteration, lag 0": lambda nodes: one_more(
        lambda count: iterations.cost_of_iterations(nodes, SHAPE, count=count, lag=0)
    ),
    "an iteration, lag 1": lambda nodes: one_more(
        lambda count: iterations.cost_of_iterations(nodes, SHAPE, count=count, lag=1)
    ),
    "end of a batch with a proof": lambda nodes: whole(proof.cost_of_end(nodes, SHAPE)),
    "the same with a gap": lambda nodes: whole(
        proof.cost_of_end(nodes, SHAPE, steps=ladder(10, 100_000))
    ),
    "end of a batch without a proof": lambda nodes: whole(proof.cost_unproved(nodes, SHAPE)),
    "a checkpoint": lambda nodes: whole(proof.cost_of_checkpoint(nodes, 1)),
    "a checkpoint of 13 weightings": lambda nodes: whole(proof.cost_of_checkpoint(nodes, 13)),
}


@pytest.mark.parametrize("name", PARTS)
def test_parts_of_an_assignment(name: str) -> None:
    page = (DOCS / "prices-and-cycles.md").read_text()
    cells = ["{} | {:,}".format(*PARTS[name](nodes)) for nodes in (3, 4)]
    assert f"| {name} | {' | '.join(cells)} |" in page


def test_an_iteration_takes_28_rounds_and_15_with_lag() -> None:
    lags = [PARTS[f"an iteration, lag {lag}"](min(CLUSTER_SIZES)) for lag in (0, 1)]
    assert [rounds for rounds, _ in lags] == [28, 15]
    assert all(sent <= 500_000 for _, sent in lags)


@pytest.mark.parametrize("levels", [1, 2, 3])
def test_minima_of_300_columns(levels: int) -> None:
    shape = Layout(300, range(300), 1000).shape()
    costs = [
        minimum.cost(
            nodes,
            shape.groups(own=True),
            bits=shape.key_bits,
            dtype=shape.word,
            columns=2,
            levels=levels,
        )
        for nodes in (3, 4)
    ]
    cells = [f"{cost.rounds} | {cost.bytes_per_node:,}" for cost in costs]
    line = f"| minimum of 300 columns, levels: {levels} | {' | '.join(cells)} |"
    assert line in (DOCS / "prices-and-cycles.md").read_text()
