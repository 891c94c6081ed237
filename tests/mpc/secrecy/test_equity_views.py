"""A node's view of equity does not depend on costs, plans or balances; weakened ones are caught.

The observer's own shares and keys are the same in every run, and the key that it lacks is new. What
arrives and what is opened is compared for two secrets, step by step, so that a mask that is left
out meets numbers that the observer knows everything else of. The letters of minima without their
masks are in `test_minimum_views`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2

from tacit.equity import (
    EquityRule,
    EquityShape,
    RunEntry,
    Telling,
    account_of,
    balance_spread,
    empty_book,
    protocol,
)
from tacit.equity import account as account_module
from tacit.mpc.local import parties
from tacit.mpc.protocols.minimum import with_ties
from tacit.mpc.ring import Words
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare
from tests.mpc.both import three_and_four
from tests.mpc.mask_checks import RememberedMasks
from tests.mpc.secrecy.letters_seen import Arrived, letters_seen
from tests.mpc.secrecy.sealed_views import CHANCE, arrived_bits, corrected_p, opened_signs
from tests.mpc.secrecy.weakened import SURE, fixed_for, split_alike

OBSERVER = 1
"""The node to which operands of comparisons go again, of three nodes and of four."""
SHAPE = EquityShape([0, 1, 2], columns=3, bound=3)
RULE = EquityRule(levels=2)
Numbers = NDArray[np.int64]
Shares = Sequence[ArithmeticShare]


@dataclass(frozen=True)
class Step:
    """A step of the protocol, two secrets that it must not tell apart, and weakened masks."""

    run: Callable[[Session, Shares], Awaitable[Any]]
    secrets: tuple[Sequence[Any], Sequence[Any]]
    masks: Sequence[str]
    """Parts of labels whose masks are left out, each of which is noticed."""
    orders: Sequence[str] = ()
    """Labels of permutations that are left out, too."""


def narrow(share: ArithmeticShare) -> ArithmeticShare:
    return share.map(lambda part: part.astype(SHAPE.word))


async def least(s: Session, x: Shares) -> Any:
    return await protocol.least_costs(s, narrow(x[0]), SHAPE, label="e")


async def plan(s: Session, x: Shares) -> Any:
    return await protocol.secret_plan_costs(s, narrow(x[0]), narrow(x[1]), SHAPE, label="e")


async def saved(s: Session, x: Shares) -> Any:
    a, b, m = map(narrow, x)
    return await protocol.saved_from_costs(s, a, b, m, SHAPE, label="e")


async def factors(s: Session, x: Shares) -> Any:
    return await protocol.factors(s, x[0], RULE, label="e")


async def weights(s: Session, x: Shares) -> Any:
    return await protocol.multiplied(s, x[0], x[1], SHAPE.owners, label="e")


async def apart(s: Session, x: Shares) -> Any:
    return await balance_spread(s, x[0], label="e")


async def told(s: Session, x: Shares) -> Any:
    return await account_module._told(s, x)


async def account(s: Session, x: Shares) -> Any:
    """A whole run of a series: factors from what was counted before, then what it adds to that."""
    weights, before, plan = x
    names = ("amber", "birch", "cobalt")
    book = empty_book(s.me, s.nodes, names).prepare(RunEntry(1, "", names, before)).count(1, "")
    factors = await protocol.factors(s, book.balances(names, RULE), RULE, label="f")
    return await account_of(
        s,
        RunEntry(2, "", names),
        weights,
        np.arange(3),
        narrow(plan),
        factors,
        SHAPE,
        book=book,
        rule=RULE,
        telling=Telling(level=True, balance=True, mean=True, spread=True),
    )


CELLS = [[0, 3, 1], [1, 2, 2], [3, 3, 3]]
OTHERS = [[2, 1, 0], [3, 3, 1], [0, 1, 2]]
FAR = 1 << 33
STEPS = {
    "least": Step(least, ([CELLS], [OTHERS]), [], ["e.order.p"]),
    "plan": Step(plan, ([CELLS, [0, 1, 0]], [OTHERS, [2, 0, 1]]), ["columns.bits", "terms"]),
    "saved": Step(
        saved, ([[3, 2, 3], [0, 3, 3], [0, 1, 3]], [[2, 3, 1], [2, 3, 0], [1, 3, 0]]), ["bits"]
    ),
    "factors": Step(factors, ([[FAR, 5, -FAR]], [[-FAR, -5, FAR]]), ["thresholds.bits"]),
    "weights": Step(weights, ([CELLS, [12, 16, 20]], [OTHERS, [20, 16, 12]]), ["e.01"]),
    "told": Step(told, ([[5, 7, -12]], [[-9, 0, 9]]), ["account.told.01"]),
    "spread": Step(apart, ([[-FAR, 0, FAR]], [[FAR, -FAR, 0]]), [], ["e.order.p"]),
}


def without(masks: str | None = None, order: str | None = None) -> type[RememberedMasks]:
    """A weakened source: masks with such labels are zero, or an order does not mix."""

    class Weakened(RememberedMasks):
        def words(self, label: str, component: int, count: int) -> Words:
            if label == order:
                return np.arange(count, dtype=np.uint64)
            words = super().words(label, component, count)
            return words * np.uint64(0) if masks is not None and masks in label else words

    return Weakened


def seen_bits(arrived: Arrived) -> NDArray[np.uint8]:
    """The first and the last bytes of every letter that arrives at the observer."""
    letters = [each.tobytes() for each in arrived[OBSERVER]]
    ends = [each[:24] + each[24:][-24:] for each in letters]
    return np.unpackbits(np.frombuffer(b"".join(ends), dtype=np.uint8))


async def views(
    step: Step, secret: int, numbers: range, masks: Any, nodes: int
) -> tuple[Numbers, NDArray[np.uint8]]:
    """A line per run: many bits, and a few of which pairs are looked at, too."""
    dealt = [split_alike(np.array(x), OBSERVER, nodes=nodes) for x in step.secrets[secret]]

    async def node(s: Session) -> Any:
        return await step.run(s, [x[s.me] for x in dealt])

    lines, few = [], []
    with opened_signs(nodes) as opened:
        for number in numbers:
            with letters_seen() as arrived:
                source = fixed_for(OBSERVER, number, masks, nodes=nodes)
                await parties(node, nodes=nodes, masks=source)
            lines.append(seen_bits(arrived))
            few.append(arrived_bits(arrived, OBSERVER) + opened())
    return np.array(lines, dtype=np.int64), np.array(few, dtype=np.uint8)


def p_value(
    step: Step, nodes: int, masks: type[RememberedMasks] = RememberedMasks, runs: int = 24
) -> float:
    """The smallest p-value over bits and pairs of bits that are seen, times their number."""

    async def two() -> list[tuple[Numbers, NDArray[np.uint8]]]:
        return [await views(step, k, range(k * runs, (k + 1) * runs), masks, nodes) for k in (0, 1)]

    (first, few), (second, others) = asyncio.run(two())
    ones = first.sum(axis=0), second.sum(axis=0)
    every, none = ones[0] + ones[1], 2 * runs - ones[0] - ones[1]
    apart = (ones[0] - ones[1]) ** 2
    statistic = apart / np.maximum(every, 1) + apart / np.maximum(none, 1)
    single = float(chi2.sf(statistic.max(), 1) * first.shape[1])
    return 2 * min(single, corrected_p(few, others))


@three_and_four
@pytest.mark.parametrize("name", STEPS)
def test_a_step_shows_a_node_nothing(name: str, nodes: int) -> None:
    assert p_value(STEPS[name], nodes, runs=12) > CHANCE


def test_a_run_of_a_series_shows_a_node_nothing_and_the_platform_no_message() -> None:
    """Factors, steps and what is told in one session: labels and masks of one serve no other."""
    secrets = ([CELLS, [9999, 0, -9999], [0, 1, 2]], [OTHERS, [-9999, 9999, 0], [2, 0, 1]])
    step = Step(account, secrets, [])
    assert p_value(step, 3, runs=6) > CHANCE
    dealt = [split_alike(np.array(x), OBSERVER, nodes=3) for x in secrets[0]]
    with letters_seen() as arrived:
        asyncio.run(parties(lambda s: account(s, [x[s.me] for x in dealt]), nodes=3))
    assert set(arrived) <= {0, 1, 2}


WEAKENED = [
    *((name, without(end), end) for name, step in STEPS.items() for end in step.masks),
    *((name, without(order=order), order) for name, step in STEPS.items() for order in step.orders),
]


@pytest.mark.parametrize(
    ("name", "masks"), [each[:2] for each in WEAKENED], ids=[f"{n}-{w}" for n, _, w in WEAKENED]
)
def test_weakened_steps_are_caught(name: str, masks: type[RememberedMasks]) -> None:
    assert p_value(STEPS[name], 3, masks) < SURE


def test_equal_cells_would_show_without_ties(monkeypatch: pytest.MonkeyPatch) -> None:
    step = Step(least, ([[[1] * 3, [2] * 3, [3] * 3]], [OTHERS]), [])
    assert p_value(step, 3, runs=36) > CHANCE

    def none(values: ArithmeticShare, ties: Any, *, tie_bits: int) -> ArithmeticShare:
        return with_ties(values, 0 * ties, tie_bits=tie_bits)

    monkeypatch.setattr(protocol, "with_ties", none)
    assert p_value(step, 3, runs=36) < SURE
