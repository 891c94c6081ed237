"""A state of those left becomes one of all nodes: value, cost, and what the one back sees."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tacit.errors import MismatchError
from tacit.mpc.local import deal_integers, reveal, run_parties
from tacit.mpc.protocols.loss import (
    Size,
    cost,
    hand_over,
    left_without,
    share_without,
)
from tacit.mpc.session import Session
from tacit.mpc.shares import COORDINATOR, ArithmeticShare, total
from tests.mpc.both import NUMBERS, check_cost, three_and_four
from tests.mpc.secrecy.enumeration import Array, Protocol, Setting, check_masks, spread

WORD, SHORT = np.dtype(np.uint64), np.dtype(np.uint32)
SIZES: list[Size] = [((3,), WORD), ((2, 5), SHORT)]


def shares_of(values: Array, *, nodes: int, lost: int, dtype: np.dtype) -> list[ArithmeticShare]:
    whole = deal_integers(values, nodes=nodes)
    shares = [x.map(lambda part: part.astype(dtype)) for x in whole]
    return [share_without(shares[me], me=me, lost=lost) for me in left_without(nodes, lost)]


@pytest.mark.parametrize(("nodes", "lost"), [(n, lost) for n in NUMBERS for lost in range(n)])
def test_all_nodes_hold_what_those_left_held(nodes: int, lost: int) -> None:
    left = left_without(nodes, lost)
    values = [np.array([5, -7, 0]), np.arange(10).reshape(2, 5)]
    held = [
        shares_of(each, nodes=nodes, lost=lost, dtype=dtype)
        for each, (_, dtype) in zip(values, SIZES, strict=True)
    ]

    async def node(s: Session) -> list[ArithmeticShare]:
        mine = [each[left.index(s.me)] for each in held] if s.me != lost else []
        return await hand_over(s, mine, SIZES, lost=lost, label="return")

    run = run_parties(node, nodes=nodes)
    assert reveal([first for first, _ in run.results]).tolist() == values[0].tolist()
    second = [share.map(lambda part: part.astype(WORD)) for _, share in run.results]
    assert ((reveal(second) - values[1]) % (1 << 32) == 0).all()
    assert run.results[lost][1].dtype == SHORT
    check_cost(run, cost(nodes, SIZES, lost=lost))


def test_the_one_back_notices_that_those_left_do_not_agree() -> None:
    held = shares_of(np.array([5, 6]), nodes=4, lost=2, dtype=WORD)
    parts = dict(held[0].parts)
    parts[1] = parts[1] + np.uint64(1)
    held[0] = ArithmeticShare(parts)

    async def node(s: Session) -> None:
        mine = [held[left_without(4, 2).index(s.me)]] if s.me != 2 else []
        await hand_over(s, mine, [((2,), WORD)], lost=2, label="return")

    with pytest.raises(MismatchError, match="node 0"):
        run_parties(node, nodes=4)


def dealt(secret: Array, nodes: int, lost: int, seed: int) -> list[ArithmeticShare]:
    """Shares of those left that are the same whatever the secret is, but for one component."""
    left = left_without(nodes, lost)
    rng = np.random.default_rng(seed)
    parts = {p: rng.integers(0, 4, secret.shape).astype(np.uint64) for p in range(len(left))}
    last = seed % len(left)
    parts[last] = secret - total([part for p, part in parts.items() if p != last], np.add)
    return [
        ArithmeticShare({p: part for p, part in parts.items() if p != mine})
        for mine in range(len(left))
    ]


@pytest.mark.parametrize("joined", [(), (COORDINATOR,)], ids=["alone", "with the coordinator"])
@three_and_four
def test_the_one_back_sees_uniform_words(nodes: int, joined: tuple[int, ...]) -> None:
    """Whatever those left held; without one of the masks it would see a component of theirs."""
    for lost in range(nodes):

        def build(secret: Array, seed: int, lost: int = lost) -> Callable[[int], Protocol]:
            def make(instances: int) -> Protocol:
                wide = spread(dealt(secret, nodes, lost, seed), instances)

                async def node(s: Session) -> None:
                    mine = [wide[left_without(nodes, lost).index(s.me)]] if s.me != lost else []
                    await hand_over(s, mine, [((1, instances), WORD)], lost=lost, label="return")

                return node, None

            return make

        secrets = [np.array([value], dtype=np.uint64) for value in range(4)]
        assert not check_masks(build, secrets, Setting(nodes, bits=2), lost, joined=joined)
