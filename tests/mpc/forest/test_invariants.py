"""Bounds and invariants of the forest, in the clear: what widths and secrecy rest on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tacit.errors import ParameterError
from tacit.mpc.forest import ClearForest, Coins, ForestShape, Phase, checked, clear, plain, scaled
from tacit.mpc.forest.clear import ClearState
from tacit.mpc.forest.minima import LineMinima
from tacit.mpc.forest.paths import Paths
from tacit.mpc.forest.potentials import raise_prices, sort_columns
from tacit.mpc.forest.trees import closure_rounds, grow_trees
from tacit.mpc.handover import Handover
from tacit.mpc.local import run_parties
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, BitShare, deal, deal_bits, reconstruct
from tests.mpc.forest.families import FAMILIES
from tests.mpc.forest.problems import in_ring
from tests.mpc.forest.test_forest import problem

Numbers = NDArray[np.int64]


def check_state(state: ClearState, costs: Numbers, shape: ForestShape, phase: Phase) -> None:
    reduced = costs - state.prices - state.profits[:, None]
    assert (reduced >= 0).all()
    assert (reduced.min(axis=0) == 0).all()  # every column has a row that is tight
    assert np.ptp(state.prices) <= shape.bound
    assert reduced.max() <= 2 * shape.bound
    rows = np.flatnonzero(state.column_of >= 0)
    assert (reduced[rows, state.column_of[rows]] <= phase.epsilon).all()
    assert len(set(state.column_of[rows])) == len(rows)
    if len(rows) == shape.size:
        assert not state.kept.any()


@settings(max_examples=40, deadline=None)
@given(
    name=st.sampled_from(FAMILIES),
    seed=st.integers(0, 10**6),
    size=st.integers(1, 9),
    scaling=st.booleans(),
)
def test_duals_stay_feasible_and_keys_within_their_bits(
    name: str, seed: int, size: int, scaling: bool
) -> None:
    asked = problem(name, seed, size, count=5, scaling=scaling)
    shape, costs = asked.shape, asked.clear_costs(0)
    least = clear._least

    def checked_least(values: Numbers, ties: NDArray[np.intp]) -> tuple[Numbers, NDArray[np.intp]]:
        apart = values.max(axis=1) - values.min(axis=1)
        assert ((apart + 1) << shape.tie_bits).max() <= 1 << shape.key_bits - 1
        assert ties.max() < 1 << shape.tie_bits
        return least(values, ties)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clear, "_least", checked_least)
        forest = ClearForest(costs, shape, Coins(seed))
        state = forest.start()
        for phase in asked.schedule:
            before = state
            state = forest.advance(state, [phase])
            check_state(state, costs, shape, phase)
            if (before.column_of >= 0).all() and not phase.falls:
                assert np.array_equal(before.column_of, state.column_of)
                assert np.ptp(state.prices - before.prices) == 0


def test_phases_after_the_first_have_two_steps_and_epsilons_fit() -> None:
    with pytest.raises(ParameterError, match="at least 2"):
        checked([1, 1], [1, 1], size=4)
    with pytest.raises(ParameterError, match="factor in common"):
        checked([1, 2], [10, 1], size=4)
    with pytest.raises(ParameterError, match="must not rise"):
        checked([1, 2], [1, 2], size=4)
    for schedule in (plain(100, 12), scaled(100, 1000, 4), scaled(104, 10**6, 1)):
        assert schedule[-1].epsilon == 1


def test_key_bits_are_as_proved() -> None:
    assert ForestShape(100, 1000).key_bits == 1 + 7 + 19
    assert ForestShape(100, 100 * 1000 + 1).key_bits == 34
    with pytest.raises(ParameterError, match="the ring has 64"):
        ForestShape(1000, 10**15)


@dataclass
class Marked:
    """Marks that are already shared."""

    bits: list[BitShare]

    async def marks(self, session: Session, *, label: str) -> BitShare:  # noqa: ARG002
        return self.bits[session.me]


@pytest.mark.parametrize("size", [3, 129, 300])
def test_a_tree_as_deep_as_there_are_columns(size: int) -> None:
    """Each column hangs from the one before, and the first from row 2."""
    parents = np.zeros((1, size, size + 1), dtype=np.uint8)
    parents[0, np.arange(1, size), np.arange(size - 1)] = 1
    parents[0, 0, size] = 1
    rows = np.zeros((1, size, size), dtype=np.uint8)
    rows[0, :, 2] = 1
    shape, phase = ForestShape(size, 9), Phase(1, 2, 1)
    roots, edges = (Marked(deal_bits(bits)) for bits in (rows, parents))
    matched = deal_bits(np.zeros((1, size, size), dtype=np.uint8))

    async def node(s: Session) -> BitShare:
        paths = Paths(None, None, roots, edges)  # type: ignore[arg-type]
        state = type("State", (), {"matched": matched[s.me]})()
        grown = await grow_trees(s, s.substreams(2), paths, state, phase, shape)
        return grown.roots

    found = reconstruct(run_parties(node, timeout=60.0).results)
    assert (found[0] & 1).argmax(axis=1).tolist() == [2] * size
    assert ((found[0] & 1).sum(axis=1) == 1).all()
    assert 1 << max(1, closure_rounds(size)) >= size


@pytest.mark.parametrize("size", [2, 129, 300])
def test_prices_rise_up_to_the_first_distance_that_fell(size: int) -> None:
    """Also where more than 256 columns changed before one."""
    distances = np.arange(size)[None, ::-1].copy() * 3 + 7
    before = distances.copy()
    before[0, : size - 1] += 1  # all changed but for the nearest
    shape, phase = ForestShape(size, 9), Phase(1, 2, 1)
    dealt = [deal(in_ring(x, shape)) for x in (distances, before)]

    async def node(s: Session) -> ArithmeticShare:
        now, old = (x[s.me] for x in dealt)
        nobody: LineMinima | None = None
        paths = Paths(now, old, nobody, nobody)  # type: ignore[arg-type]
        columns = await sort_columns(s, paths, phase, shape, Coins(1))
        none = now.map(np.zeros_like)
        return await raise_prices(s, columns, none, Handover(), phase, shape)

    rise = reconstruct(run_parties(node, timeout=60.0).results)
    assert rise[0].tolist() == np.minimum(distances[0], 10).tolist()
