"""The least key of every group on shares: the clear one, at the declared cost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import AbortError
from tacit.mpc.local import deal_integers, reveal, run_parties
from tacit.mpc.protocols import minimum
from tacit.mpc.protocols.minimum import (
    find_least,
    least_in_the_clear,
    levels_for,
    tournament,
    with_ties,
)
from tacit.mpc.ring import from_ring
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, BitShare, deal, reconstruct
from tests.mpc.both import check_cost, three_and_four

WORD = np.dtype(np.uint32)
Result = tuple[ArithmeticShare, BitShare, ArithmeticShare, BitShare]


@three_and_four
@settings(max_examples=15, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 14), min_size=1, max_size=5),
    levels=st.sampled_from([None, 1, 2, 3]),
    largest=st.booleans(),
    kept=st.integers(0, 3),
    seed=st.integers(0, 9),
)
def test_the_least_of_groups_is_the_clear_one_at_the_declared_cost(
    sizes: list[int], levels: int | None, largest: bool, kept: int, seed: int, nodes: int
) -> None:
    rng = np.random.default_rng(seed)
    count = sum(sizes)
    values = rng.integers(-3, 4, count)
    ties = np.concatenate([rng.permutation(size) for size in sizes])
    shares = [s.map(lambda p: p.astype(WORD)) for s in deal_integers(values, nodes=nodes)]
    signs = rng.integers(-40, 40, kept)
    others = deal_integers(signs, nodes=nodes)

    async def node(s: Session) -> Result:
        lines = with_ties(shares[s.me], ties, tie_bits=4)
        found = await find_least(
            s,
            lines,
            sizes,
            bits=8,
            label="m",
            kept=others[s.me],
            levels=levels,
            largest=largest,
        )
        marks = await found.marks(s, WORD, label="marks")
        return found.lines, found.kept, marks, await found.bit_marks(s, label="bits")

    run = run_parties(node, nodes=nodes)
    lines, less, marks, bits = zip(*run.results, strict=True)
    places = least_in_the_clear(values * 16 + ties, sizes, largest=largest)
    assert reveal(lines)[:, 1].tolist() == values[places].tolist()
    wanted = np.zeros(count, dtype=np.int64)
    wanted[places] = 1
    assert reveal(marks).tolist() == wanted.tolist() == reconstruct(bits).tolist()
    assert reconstruct(less).tolist() == (signs < 0).tolist()
    declared = minimum.cost(nodes, sizes, bits=8, dtype=WORD, columns=2, kept=kept, levels=levels)
    for dtype in (WORD, np.dtype(np.uint8)):
        declared = declared.then(minimum.cost_of_marks(nodes, sizes, dtype))
    check_cost(run, declared)


@given(
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=6),
    levels=st.integers(1, 3),
    seed=st.integers(0, 99),
)
def test_a_tournament_is_won_by_the_least_and_the_largest(
    sizes: list[int], levels: int, seed: int
) -> None:
    keys = np.random.default_rng(seed).permutation(sum(sizes)).astype(np.uint16)
    for largest in (False, True):
        places = np.arange(len(keys))
        for level in tournament(tuple(sizes), levels):
            differences = level.differences(keys[places])
            assert len(differences) == level.pairs
            less = (from_ring(differences) < 0).astype(np.uint8)
            places = places[level.winners(less, largest=largest)]
        clear = least_in_the_clear(keys, sizes, largest=largest)
        assert places.tolist() == clear.tolist()


@pytest.mark.parametrize(
    ("size", "levels", "pairs"),
    [(101, 2, 386), (299, 2, 1729), (300, 3, 681), (300, 1, 44_850), (3200, 3, 11_266)],
)
def test_how_many_comparisons(size: int, levels: int, pairs: int) -> None:
    assert sum(level.pairs for level in tournament((size,), levels)) == pairs
    assert levels == 1 or levels_for(size) == levels


@three_and_four
def test_the_least_of_100_groups_takes_14_rounds(nodes: int) -> None:
    declared = minimum.cost(nodes, [101] * 100, bits=27, dtype=WORD, columns=2)
    assert declared.rounds == {3: 14, 4: 15}[nodes]
    assert declared.bytes_per_node < {3: 670_000, 4: 1_000_000}[nodes]


def test_keys_that_form_no_order_abort() -> None:
    # In 6 bits each is below the next, and the last below the first.
    shares = deal(np.array([0, 22, 43], dtype=np.uint64))

    async def node(s: Session) -> Any:
        return await find_least(s, shares[s.me], [3], bits=6, label="m", levels=1)

    with pytest.raises(AbortError, match="form no order"):
        run_parties(node)
